// What we sent to the chain, how far it has been followed, and what the pool can deliver.

import { ATTEMPT_STATES, listAttempts, showAttempt } from '../chain/attempt_lookup.ts'
import { showChain } from '../chain/progress.ts'
import { refusal } from '../lib/fault.ts'
import { poolForecast, poolRows, poolWallets } from '../pool/figures.ts'
import { command, flag, LIMIT, needed, oneOf, paging, text } from './command.ts'

export const chainCommands = [
  command({
    words: 'attempts list',
    summary: 'transactions of ours on the chain, newest first',
    options: {
      state: oneOf(ATTEMPT_STATES, 'only in this state'),
      open: flag('only those that are neither in a block nor dead'),
      subject: text(
        'SUBJECT',
        'only for this: delegate, reclaim, activate, or one of them with a colon and an id',
      ),
      ...paging,
    },
    run: async ({ sql }, wanted) => ({
      value: await listAttempts(sql, { ...wanted, limit: wanted.limit ?? LIMIT }),
    }),
  }),
  command({
    words: 'attempts show',
    summary: 'one transaction: what it does, what nodes said, its signed bytes',
    operands: { attempt: needed(text('ATTEMPT', "its id, or the transaction's")) },
    run: async ({ sql }, { attempt }) => ({ value: await showAttempt(sql, attempt) }),
  }),
  command({
    words: 'pool show',
    summary: 'what can be delivered, and what each wallet has out',
    run: async ({ sql }) => ({
      value: { resources: await poolRows(sql), wallets: await poolWallets(sql) },
    }),
  }),
  command({
    words: 'pool forecast',
    summary: 'what will be free in the coming hour, as what is delegated comes back',
    details:
      '`free` is so if nothing of it was used, `free_if_used` if all was: on the chain, what was used recovers over a day after it has come back.',
    run: async ({ sql }) => ({ value: await poolForecast(sql) }),
  }),
  command({
    words: 'chain show',
    summary: 'how far the chain has been followed, and how far each reader of blocks is',
    async run({ sql, clock }) {
      const chain = await showChain(sql, clock.now())
      if (!chain) throw refusal('No block has been followed yet: is a worker running?')
      return { value: chain }
    },
  }),
]
