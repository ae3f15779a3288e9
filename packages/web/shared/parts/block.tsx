// A part of a page: its title, one line that says why it is there, and what can be done with it.

import type { ComponentChildren } from 'preact'

export type BlockProps = {
  title: string
  why?: string
  /** At the right of the title. */
  action?: ComponentChildren
  children: ComponentChildren
}

export const Block = ({ title, why, action, children }: BlockProps) => (
  <section class="panel">
    <header class="panel-head">
      <div>
        <h2>{title}</h2>
        {why !== undefined && <p class="quiet">{why}</p>}
      </div>
      {action && <div class="actions">{action}</div>}
    </header>
    {children}
  </section>
)
