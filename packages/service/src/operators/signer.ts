// The switch that stops signing, by the operator's hand.

import { setSigning, signingState } from '../signing/signing_switch.ts'
import { type Answer, change, command, flag } from './command.ts'

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
      const before = await setSigning(tx, { stopped, changed_by })
      const actions = [{ subject: 'signing', before: { stopped: before }, after: { stopped } }]
      // Stopped first and freed last, whatever becomes of the transaction.
      if (this_machine) await stopHere(stopped, changed_by)
      const value = { stopped, stopped_here: await stopHere() }
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
      const state = { ...(await signingState(sql)), stopped_here: await stopHere() }
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
