// The money on deposit addresses, and collecting it: a file of transfers that is signed where the
// words of the deposit wallet are, by wallets sign, and sent by wallets broadcast.

import type { Address } from 'penstock-tron/address.ts'
import { Type } from 'typebox'
import { type Clock, wireTime } from '../../lib/clock.ts'
import { refusal } from '../../lib/fault.ts'
import { trxText } from '../../lib/json.ts'
import {
  address,
  Count,
  Flag,
  flag,
  ListOf,
  Moment,
  OrNull,
  optional,
  Sun,
  sun,
  Text,
  text,
  Whole,
  whole,
} from '../../platform/wire/schemas.ts'
import {
  type Batch,
  batchOf,
  batchWords,
  digestOf,
  expiryOf,
  readBatch,
  requireReceivers,
} from '../../treasury/collecting/batch.ts'
import {
  type Collection,
  findCollection,
  insertCollection,
  listCollections,
  type NewTransfer,
  transfersWithBytes,
} from '../../treasury/collecting/collections.ts'
import { networkOf, prepareCollection } from '../../treasury/collecting/making.ts'
import {
  collectedSums,
  leftOtherwise,
  type Place,
  type TokenPlace,
  tokenPlaces,
  trxPlaces,
} from '../../treasury/collecting/places.ts'
import { asBatch, batchText, CarriedBatch } from '../chain/batches.ts'
import {
  type Answer,
  LIMIT,
  look,
  paging,
  type Terminal,
  type TerminalAnswer,
  undertaking,
} from '../table/operation.ts'

const HOURS = 23
const MIN_SUN = 1_000_000
const MIN_TOKEN = 1_000_000

const COLLECTION = {
  id: Text,
  receiver: Text,
  digest: Text,
  expires_at: Moment,
  transfers: Count,
  says: Type.Array(Text),
}
const OUT = Type.Object({
  file: text('FILE', 'where the batch is written to, to be carried'),
})

/** Writes the file that is carried, and says where to. */
async function carry(
  answer: Answer,
  { file }: { file: string },
  terminal: Terminal,
): Promise<TerminalAnswer> {
  await terminal.writeFile(file, answer.documents!.batch!())
  const next =
    `Take ${file} to the machine with the words of the deposit wallet: wallets sign ${file}. ` +
    'Compare the digest and the lines with what is printed there.'
  return { ...answer, note: [answer.note, next].filter(Boolean).join('\n') }
}

/** The sum of what is carried. */
const sumOf = <Item>(items: readonly Item[], of: (item: Item) => bigint) =>
  items.reduce((sum, item) => sum + of(item), 0n)

/** Each token with what lies of it on all addresses. */
function tokenTotals(places: readonly TokenPlace[]) {
  return [...Map.groupBy(places, ({ token }) => token)].map(([token, of]) => ({
    token,
    amount: sumOf(of, ({ amount }) => amount),
    under_way: sumOf(of, ({ under_way }) => under_way),
    addresses: of.length,
  }))
}

/** TRX on all deposit addresses, dust apart. */
function trxTotals(places: readonly Place[], dust_sun: bigint) {
  const there = places.filter(({ trx_sun }) => trx_sun > 0n)
  const dust = there.filter(({ trx_sun }) => trx_sun < dust_sun)
  return {
    addresses: there.length - dust.length,
    trx_sun: sumOf(there, ({ trx_sun }) => trx_sun) - sumOf(dust, ({ trx_sun }) => trx_sun),
    dust_addresses: dust.length,
    dust_sun: sumOf(dust, ({ trx_sun }) => trx_sun),
    under_way_sun: sumOf(places, ({ under_way_sun }) => under_way_sun),
    blocked_sun: sumOf(places, ({ blocked_sun }) => blocked_sun),
  }
}

/** A collection in words, for those who compare. */
const described = (collection: Collection, transfers: readonly NewTransfer[]) => ({
  id: collection.id,
  receiver: collection.receiver,
  digest: collection.digest,
  expires_at: collection.expires_at,
  transfers: transfers.length,
  says: batchWords(transfers),
})

/** The transfers with what the file has of each. */
const carried = (transfers: readonly NewTransfer[]) =>
  transfers.map(({ index, raw, energy, tx_id }) => ({
    index,
    raw_data: Buffer.from(raw).toString('hex'),
    ...(energy !== undefined && { energy }),
    tx_id,
  }))

/** A file that is still of use. Throws Refused. */
function requireUnexpired(expires_at: Date, clock: Clock): void {
  if (expires_at > clock.now()) return
  throw refusal(`It could be sent until ${wireTime(expires_at)}: make another.`)
}

export const collectingOperations = [
  look({
    path: '/operator/treasury/show',
    summary: 'what lies on deposit addresses: TRX and tokens, by whom and since when',
    description:
      'As confirmed blocks have it, the most first. `under_way_sun` is in files that may still ' +
      'be sent; `blocked_sun` came from blacklisted senders and stays until you decide. `dust` ' +
      'is what lies on addresses with less than --min. `collected_sun` is all that ever arrived.',
    body: Type.Object({
      min_sun: optional(sun('TRX', `less than this on an address is dust (${MIN_SUN / 1e6})`)),
      limit: paging.limit,
    }),
    reply: Type.Object({
      addresses: Count,
      trx_sun: Sun,
      dust_addresses: Count,
      dust_sun: Sun,
      under_way_sun: Sun,
      blocked_sun: Sun,
      collected_sun: Sun,
      fees_sun: Sun,
      left_otherwise_sun: Sun,
      tokens: ListOf({ token: Text, amount: Whole, under_way: Whole, addresses: Count }),
      places: ListOf({
        address: Text,
        customer_id: Text,
        trx_sun: Sun,
        under_way_sun: Sun,
        blocked_sun: Sun,
        since: OrNull(Moment),
      }),
    }),
    async handle({ sql, body: { min_sun = MIN_SUN, limit = LIMIT } }) {
      const places = await trxPlaces(sql)
      const value = {
        ...trxTotals(places, BigInt(min_sun)),
        ...(await collectedSums(sql)),
        left_otherwise_sun: await leftOtherwise(sql),
        tokens: tokenTotals(await tokenPlaces(sql)),
        places: places.slice(0, limit).map(({ deposit_index: _, ...one }) => one),
      }
      return { value }
    },
  }),
  undertaking({
    path: '/operator/treasury/collect',
    role: 'admin',
    careful: true,
    summary: 'prepare the transfers of what lies on deposit addresses to an address of yours',
    description:
      'Nothing is sent. TO must be in collect_to of the file that PENSTOCK_WALLETS names. Each ' +
      'transfer pays with the free bandwidth of its address, or burns what it needs from what it ' +
      'sends. Tokens need energy: without --burn they wait until their addresses have it. An ' +
      'address in a file is in no other until the file has expired. It is signed by wallets sign.',
    body: Type.Object({
      to: address('who gets it'),
      min_sun: optional(sun('TRX', `only from addresses with this much (${MIN_SUN / 1e6})`)),
      token: optional(Type.Array(address('also this token'))),
      min_token: optional(
        whole('N', `of a token, in its smallest unit, at least (${MIN_TOKEN})`, { min: 1 }),
      ),
      burn: flag('burn TRX of the address for the energy that a token needs'),
      hours: optional(whole('HOURS', `for how long it may be sent (${HOURS})`, { max: HOURS })),
    }),
    reply: Type.Object({
      ...COLLECTION,
      fees_max_sun: Sun,
      energy_needed: Whole,
      left_out: Type.Object({
        dust: Count,
        blocked: Count,
        under_way: Count,
        without_trx: Count,
      }),
    }),
    cli: {
      extras: OUT,
      node: 'solid',
      after: (answer, extras, terminal) => carry(answer, extras, terminal),
    },
    async handle({ sql, body, record, by, new_id, progress, ...needs }) {
      const { to, min_sun = MIN_SUN, token = [], min_token = MIN_TOKEN } = body
      const receiver = to as Address
      const { collect_to = [] } = await needs.wallets()
      requireReceivers([{ to: receiver }], collect_to)
      const found = await prepareCollection(
        {
          sql,
          node: needs.node(),
          tell: (done, whole) => progress({ done, whole, unit: 'addresses' }),
        },
        {
          to: receiver,
          min_sun: BigInt(Math.max(min_sun, 1)),
          tokens: token as Address[],
          min_token: BigInt(min_token),
          hours: body.hours ?? HOURS,
          burn: body.burn ?? false,
        },
      ).finally(() => progress())
      const { transfers, network, ...facts } = found
      const digest = digestOf(transfers)
      const expires_at = expiryOf(transfers)
      const collection = await record(async (tx, made_at) => {
        const made = { id: new_id(), receiver, digest, expires_at, made_at, made_by: by }
        await insertCollection(tx, made, transfers)
        const after = { receiver, digest, expires_at, transfers: transfers.length }
        return {
          result: made,
          actions: [{ subject: `collection:${made.id}`, before: null, after }],
        }
      })
      const { left_out, energy_needed, fees_max_sun } = facts
      const batch = batchOf({ collection: collection.id, network }, carried(transfers))
      return {
        value: { ...described(collection, transfers), fees_max_sun, energy_needed, left_out },
        note:
          `It costs ${trxText(fees_max_sun)} TRX of bandwidth and energy at most` +
          (energy_needed > 0n && !body.burn
            ? `, and needs ${energy_needed} energy at its addresses.`
            : '.'),
        documents: { batch: batchText(batch) },
      }
    },
  }),
  look({
    path: '/operator/treasury/list',
    summary: 'collections and what became of their transfers, newest first',
    description:
      '`made` may still be sent; `failed` were in a block and moved nothing; `dead` have expired ' +
      'and are in no block. What lies there is collected by the next one.',
    body: Type.Object(paging),
    reply: ListOf({
      id: Text,
      receiver: Text,
      digest: Text,
      expires_at: Moment,
      made_at: Moment,
      made_by: Text,
      transfers: Whole,
      made: Whole,
      collected: Whole,
      failed: Whole,
      dead: Whole,
      amount_sun: Sun,
      collected_sun: Sun,
      fees_sun: Sun,
    }),
    handle: async ({ sql, body: { limit = LIMIT, before } }) => ({
      value: await listCollections(sql, { limit, before }),
    }),
  }),
  look({
    path: '/operator/treasury/file',
    summary: 'write the unsigned batch of a collection again, when its file was lost',
    description: 'The same bytes: a file that was signed before stays good, and counts once.',
    body: Type.Object({ id: text('COLLECTION', 'its id') }),
    reply: Type.Object(COLLECTION),
    cli: {
      operands: ['id'],
      extras: OUT,
      node: 'solid',
      after: (answer, extras, terminal) => carry(answer, extras, terminal),
    },
    async handle({ sql, clock, body: { id }, ...needs }) {
      const collection = await findCollection(sql, id)
      requireUnexpired(collection.expires_at, clock)
      const rows = await transfersWithBytes(sql, id)
      const transfers = rows.map(({ raw_data, deposit_index, energy, tx_id }) => ({
        index: deposit_index,
        raw_data: raw_data.toString('hex'),
        ...(energy !== null && { energy: Number(energy) }),
        tx_id,
      }))
      const network = await networkOf(needs.node())
      const batch = batchOf({ collection: id, network }, transfers)
      return {
        value: described(collection, readBatch(batch)),
        documents: { batch: batchText(batch) },
      }
    },
  }),
  undertaking({
    path: '/operator/treasury/adopt',
    role: 'admin',
    careful: true,
    summary: 'note the transfers of a batch that a restored database does not know',
    description:
      'After a restore to a moment before the batch was made: what was or will be sent of it is ' +
      'booked then, and its addresses are in no other batch until it has expired.',
    body: Type.Object({ batch: CarriedBatch }),
    reply: Type.Object({ id: Text, transfers: Count, is_new: Flag }),
    cli: {
      operands: ['file'],
      extras: Type.Object({ file: text('FILE', 'the batch, signed or not') }),
      filled: ['batch'],
      async before({ file }, { readFile }) {
        const text = await readFile(file)
        const batch = asBatch(jsonOf(text, file), file)
        if (!batch) throw refusal(`${file} is not a batch of treasury collect.`)
        return { batch }
      },
    },
    async handle({ body, record, by }) {
      const batch = body.batch as Batch
      const transfers = readBatch(batch)
      const receivers = new Set(transfers.map(({ to }) => to))
      const [receiver] = receivers
      if (receivers.size > 1)
        throw refusal('A collection has one receiver, and this file has more.')
      const { collection: id, digest } = batch
      const expires_at = expiryOf(transfers)
      return record(async (tx, made_at) => {
        const made = { id, receiver: receiver!, digest, expires_at, made_at, made_by: by }
        const added = await insertCollection(tx, made, transfers)
        const after = { receiver: receiver!, digest, transfers: added }
        const actions = added === 0 ? [] : [{ subject: `collection:${id}`, before: null, after }]
        return {
          result: { value: { id, transfers: transfers.length, is_new: added > 0 } },
          actions,
        }
      })
    },
  }),
]

function jsonOf(given: string, name: string): unknown {
  try {
    return JSON.parse(given)
  } catch {
    throw refusal(`${name} is not a batch of treasury collect: it is not JSON.`)
  }
}
