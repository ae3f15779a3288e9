// The switch that stops signing. It is a row that every process reads with each batch, and its
// record: whoever changes the row back leaves signing stopped until a record says otherwise, which
// cannot be written unseen. A file on a signing machine stops that machine, whatever the database
// says.

import type { Sql, Tx } from '../database/sql.ts'
import type { Change } from '../ledger/actions.ts'
import { type Answer, change, command, flag } from './command.ts'

export type SigningState = {
  stopped: boolean
  /** The last record about it. */
  since: Date | null
  by: string | null
  reason: string | null
  /** Whether the row and the record say the same. */
  recorded: boolean
  /** Whether this machine has the file. */
  stopped_here: boolean
}

async function signingState(sql: Sql | Tx): Promise<Omit<SigningState, 'stopped_here'>> {
  const [[row], [last]] = await Promise.all([
    sql<{ stopped: boolean }>`select stopped from signing`,
    sql<{ stopped: boolean; made_at: Date; made_by: string; reason: string | null }>`
      select (after ->> 'stopped')::boolean as stopped, made_at, made_by, reason
        from operator_action
      where subject = 'signing' order by number desc limit 1`,
  ])
  const by_row = row?.stopped ?? true
  const by_record = last?.stopped ?? false
  return {
    stopped: by_row || by_record,
    since: last?.made_at ?? null,
    by: last?.made_by ?? null,
    reason: last?.reason ?? null,
    recorded: by_row === by_record,
  }
}

type Wanted = { stopped: boolean; changed_by: string }

async function setSigning(
  tx: Tx,
  { stopped, changed_by }: Wanted,
): Promise<Change<{ stopped: boolean }>> {
  const before = await signingState(tx)
  await tx`
    insert into signing (stopped, changed_by) values (${stopped}, ${changed_by})
    on conflict (one) do update set stopped = excluded.stopped, changed_by = excluded.changed_by`
  // Written also when the row was so already: the record decides as well.
  const actions = [{ subject: 'signing', before: { stopped: before.stopped }, after: { stopped } }]
  return { result: { stopped }, actions }
}

const this_machine = flag(
  'also by a file in --data-dir, which nobody with only the database can undo',
)

const switching = (word: 'stop' | 'go', summary: string, details: string) =>
  change({
    words: `signer ${word}`,
    summary,
    details,
    options: { this_machine },
    async run(tx, { stopHere }, { this_machine, changed_by }) {
      const stopped = word === 'stop'
      const { result, actions } = await setSigning(tx, { stopped, changed_by })
      // Stopped first and freed last, whatever becomes of the transaction.
      if (this_machine) await stopHere(stopped, changed_by)
      const value = { ...result, stopped_here: await stopHere() }
      const note = stopped
        ? 'Nothing more is signed, in any process.'
        : 'Signing goes on, in every process.'
      const held =
        value.stopped_here && !stopped
          ? ' Not on this machine: its file is there (--this-machine).'
          : ''
      return { result: { value, note: note + held } satisfies Answer, actions }
    },
  })

export const signerCommands = [
  switching(
    'stop',
    'sign nothing more, in every process, until signer go',
    'Orders wait, and are given back after 10 minutes; what is signed already is sent. Effective within a second.',
  ),
  switching('go', 'sign again', 'What waited is signed within seconds.'),
  command({
    words: 'signer status',
    summary: 'whether anything is signed, what waits for it, and what was refused',
    details: 'The exit code is 1 while signing is stopped.',
    async run({ sql, clock, stopHere }) {
      const state: SigningState = { ...(await signingState(sql)), stopped_here: await stopHere() }
      const [counts] = await sql<{ waiting: bigint; refused_today: bigint }>`
        select (select count(*) from attempt where state = 'new') as waiting,
               (select count(*) from attempt where refused_at > ${clock.now()}::timestamptz - interval '1 day') as refused_today`
      const refused = await sql`
        select refused_at, subject, answer as why from attempt where refused_at is not null
        order by refused_at desc limit 10`
      const wallets = await sql`
        select address, checked_at, stopped, array_to_string(complaints, ' ') as complaints
          from wallet_check
        order by address`
      return {
        value: { ...state, ...counts, wallets, refused },
        ok: !state.stopped && !state.stopped_here,
      }
    },
  }),
]
