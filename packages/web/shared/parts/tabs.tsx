// Parts of a page of which one is shown: each has an address of its own, so that back works and a
// link can be sent.

import type { ComponentChildren } from 'preact'
import { useLocation } from 'preact-iso/router'

export type Tab = {
  /** In the address; empty: the part that is shown first. */
  name: string
  title: string
  content: () => ComponentChildren
}

export type TabsProps = {
  /** Of the page, for those who hear it. */
  label: string
  path: string
  tabs: readonly [Tab, ...Tab[]]
}

export function Tabs({ label, path, tabs }: TabsProps) {
  const { part = '' } = useLocation().query
  const shown = tabs.find(({ name }) => name === part) ?? tabs[0]
  return (
    <>
      <nav class="tabs" aria-label={label}>
        {tabs.map((tab) => (
          <a
            key={tab.name}
            href={tab.name === '' ? path : `${path}?part=${tab.name}`}
            aria-current={tab === shown ? 'page' : undefined}
          >
            {tab.title}
          </a>
        ))}
      </nav>
      <div class="stack" key={shown.name}>
        {shown.content()}
      </div>
    </>
  )
}
