// The alerts: each with what was found, the rows behind it, and a way to say
// that one looks after it.

import { Shape } from '../../shared/parts/state.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/console.ts'
import { named, say } from '../../shared/words/words.ts'
import type { Alert } from '../calls/figures.ts'
import { ReasonButton } from '../calls/reason_button.tsx'

/** The pages with the rows behind an alert, by how its name begins. */
const ROWS_BEHIND = {
  order: path.open_orders,
  deposit: path.money,
  attempt: path.chain,
  chain: path.chain,
  solid: path.chain,
  reader: path.chain,
  delegation: path.pool,
  wallet: path.pool,
  pool: path.pool,
  books: path.books,
  list: path.screening,
  lists: path.screening,
  review: path.screening,
  provider: path.screening,
  webhooks: path.events,
} as const

type AlertsProps = { alerts: readonly Alert[]; again: () => void }

export const Alerts = ({ alerts, again }: AlertsProps) => (
  <section class="panel">
    <h2>{say('alerts')}</h2>
    <ul class="matters">
      {alerts.map((one) => (
        <OneAlert key={one.alert} {...one} again={again} />
      ))}
    </ul>
  </section>
)

function OneAlert({
  alert,
  what,
  since,
  raised_at,
  seen_by,
  again,
}: Alert & { again: () => void }) {
  const href = ROWS_BEHIND[alert.split('_', 1)[0] as keyof typeof ROWS_BEHIND]
  return (
    <li>
      <Shape mark={seen_by === null ? 'look' : 'busy'} />
      <div>
        <p>
          <strong>{named('alert', alert)}</strong> <Time at={since ?? raised_at} relative />
        </p>
        {/* What exactly was found comes from the service, which speaks English. */}
        <p class="quiet" lang="en">
          {what}
        </p>
        <p class="quiet">
          <code>{alert}</code> {seen_by !== null && say('alert.seen', { name: seen_by })}
        </p>
      </div>
      <span class="actions">
        {href && (
          <a class="button small" href={href} aria-label={`${say('alert.rows')} ${alert}`}>
            {say('alert.rows')}
          </a>
        )}
        {seen_by === null && (
          <ReasonButton
            text={say('seen')}
            about={alert}
            words="alerts seen"
            body={{ alert }}
            onDone={again}
          >
            <p>{named('alert', alert)}</p>
          </ReasonButton>
        )}
      </span>
    </li>
  )
}
