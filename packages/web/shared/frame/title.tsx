// The heading of a page, and the title of its window: `<thing> · <section> · <brand>`.

import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { startData } from '../calls/start_data.ts'
import { nameText } from '../words/name.ts'

export type TitleProps = {
  title: string
  section?: string
  /** Beside the heading: the one main button of the page. */
  children?: ComponentChildren
}

export function Title({ title: name, section, children }: TitleProps) {
  const title = nameText(name)
  useEffect(() => {
    const parts = [title, section, startData().brand].filter((one) => one !== undefined)
    const before = document.title
    document.title = parts.join(' · ')
    // A page that waits behind this one goes on with its own.
    return () => {
      document.title = before
    }
  }, [title, section])
  return (
    <header class="page-head">
      <h1 tabIndex={-1}>{title}</h1>
      {children}
    </header>
  )
}
