// The archive of transfers: begun, looked at, checked, mended, ended.

import { isAddress } from 'penstock-tron/address.ts'
import { Type } from 'typebox'
import {
  type ArchiveCheck,
  archiveId,
  archiveState,
  beginArchive,
  checkArchive,
  endArchive,
  type Mender,
} from '../../chain/transfers/archiving.ts'
import type { TransferArchive } from '../../chain/transfers/transfer_archive.ts'
import { misuse, refusal } from '../../lib/fault.ts'
import { Count, ListOf, Moment, NOTHING, OrNull, Text } from '../../platform/wire/schemas.ts'
import { newBlockFromNode, readAssets, readFlowBasis } from '../../screening/tracing/flow_log.ts'
import { change, look, type Needs, undertaking } from '../table/operation.ts'
import { tellBlocks } from '../table/progress.ts'

const Shown = Type.Object({
  state: Text,
  begun_at: OrNull(Moment),
  begun_by: OrNull(Text),
  first_block: OrNull(Count),
  last_block: OrNull(Count),
  transfers: Count,
  released_blocks: Count,
})
const State = Type.Object({ state: Text })
const Checked = { blocks: Count, broken: Count, first_broken: ListOf({ block: Count }) }

function requireNamed({ archive }: Pick<Needs, 'archive'>): TransferArchive {
  const named = archive()
  if (named) return named
  throw refusal('No ClickHouse is named: set PENSTOCK_CLICKHOUSE_URL.')
}

const orNull = (number: bigint | null) => (number === null ? null : Number(number))

const checkedValue = ({ blocks, broken, first_broken }: ArchiveCheck) => ({
  blocks,
  broken,
  first_broken: first_broken.map((block) => ({ block })),
})

export const archiveOperations = [
  look({
    path: '/operator/archive/show',
    summary: 'which transfers have been moved to ClickHouse',
    description:
      'Of `released_blocks` transfers are there alone. The newest blocks stay in PostgreSQL.',
    body: NOTHING,
    reply: Shown,
    async handle({ sql }) {
      const state = await archiveState(sql)
      return {
        value: {
          state: state?.state ?? 'ended',
          begun_at: state?.begun_at ?? null,
          begun_by: state?.begun_by ?? null,
          first_block: orNull(state?.first_number ?? null),
          last_block: orNull(state?.last_number ?? null),
          transfers: Number(state?.transfers ?? 0n),
          released_blocks: Number(state?.released ?? 0n),
        },
      }
    },
  }),
  look({
    path: '/operator/archive/check',
    summary: 'read all transfers that ClickHouse alone has, and compare them with their hashes',
    description:
      'Some are looked for by their addresses, too. The exit code is 1 when something is missing ' +
      'or is not as it was.',
    body: NOTHING,
    reply: Type.Object(Checked),
    async handle({ sql, ...needs }) {
      const archive = requireNamed(needs)
      const found = await tellBlocks(needs, (tell) => checkArchive({ sql, archive }, tell))
      return { value: checkedValue(found), ok: found.broken === 0 }
    },
  }),
  undertaking({
    path: '/operator/archive/mend',
    role: 'admin',
    summary: 'read the blocks again that ClickHouse has lost, from a node, and put them there',
    description:
      'Looks at everything as `archive check` does. When a block of a portion (500) is broken, ' +
      'the whole portion is put there again: blocks that are whole there from ClickHouse itself, ' +
      'others from the node, when what it gives has the hash that PostgreSQL has. The exit code ' +
      'is 1 when something is still broken.',
    body: NOTHING,
    reply: Type.Object({ ...Checked, mended: Count }),
    cli: { node: 'solid' },
    async handle({ sql, chain, record, ...needs }) {
      const archive = requireNamed(needs)
      const node = chain()?.node
      if (!node) throw misuse('archive mend: --node-url is missing.')
      const contracts = (await readAssets(sql)).map(({ contract }) => contract)
      const tokens = new Set(contracts.filter(isAddress))
      const basis = await readFlowBasis({ sql, node, tokens })
      const mender: Mender = {
        read: (number) => newBlockFromNode({ node, tokens }, basis, number),
        async noteMended({ first_number, blocks }) {
          const after = { first_block: Number(first_number), mended: blocks }
          const actions = [{ subject: 'archive', before: null, after }]
          await record(async () => ({ result: undefined, actions }))
        },
      }
      const found = await tellBlocks(needs, (tell) => checkArchive({ sql, archive, mender }, tell))
      return { value: { ...checkedValue(found), mended: found.mended }, ok: found.broken === 0 }
    },
  }),
  undertaking({
    path: '/operator/archive/begin',
    role: 'admin',
    summary: 'move the transfers of older blocks to ClickHouse, from now on',
    description:
      'To the one that PENSTOCK_CLICKHOUSE_URL names: workers and this process need it. Its ' +
      'tables are made where there are none.',
    body: NOTHING,
    reply: State,
    async handle({ sql, by, record, ...needs }) {
      const archive = requireNamed(needs)
      await archive.prepare(await archiveId(sql))
      const before = await record(async (tx, at) => {
        const before = await beginArchive(tx, { at, by })
        const action = { subject: 'archive', before: { state: before }, after: { state: 'begun' } }
        return { result: before, actions: before === 'begun' ? [] : [action] }
      })
      const note = before === 'begun' ? 'It was begun already.' : 'The running service moves them.'
      return { value: { state: 'begun' }, note }
    },
  }),
  change({
    path: '/operator/archive/end',
    role: 'admin',
    summary: 'bring all transfers back from ClickHouse',
    description: 'ClickHouse is needed until `archive show` says that it has ended.',
    body: NOTHING,
    reply: State,
    async handle({ tx }) {
      const ended = await endArchive(tx)
      const state = (await archiveState(tx))?.state ?? 'ended'
      const actions = ended
        ? [{ subject: 'archive', before: { state: 'begun' }, after: { state } }]
        : []
      return { result: { value: { state } }, actions }
    },
  }),
]
