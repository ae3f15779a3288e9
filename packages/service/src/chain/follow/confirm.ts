// A solid block counts when a second node says the same of it: the whole block, so that what was
// left out is found too.
//
//   stored -> confirmed          another node than the one that gave it has it in the same words
//   stored -> taken back         the majority of three or more has another: it is read again, from
//                                one of these
//
// With two nodes that disagree nobody knows who is right: nothing more is confirmed, and nothing is
// sold, until they agree or the operator has removed one. What contracts sent is in no block: a
// node shows it or not, as it is set. One that shows nothing of a transaction says nothing about
// it, and is no liar; whose showing is believed is decided by balances, where it is money of ours.
//
// Anyone who verifies headers, producers' signatures and the trees of transactions needs no second
// node for what these cover: such a check would be one more witness here.

import { type Clock, later } from '../../lib/clock.ts'
import { Outage } from '../../lib/fault.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'
import type { Block, Node } from '../node/node.ts'
import { makeAttemptsSolid } from './attempts.ts'
import { noteHiding, takeBack } from './blocks.ts'
import {
  type Contents,
  contentsOf,
  type Move,
  outcomesSum,
  type PackedContents,
  pack,
  unpack,
} from './contents.ts'
import type { Needs } from './follower.ts'
import { chainState } from './progress.ts'

/** Blocks of one run, and of one answer of a node. */
const PORTION = 20
const AT_ONCE = 5
/** For so long a node that the majority was against is read from only when no other answers. */
const AVOIDED_MS = 86_400_000

/** What a node says that a block is, as far as it is compared. */
type Claim = {
  id: string
  parent_id: string
  time: Date
  outcomes_sha256: string
  contents: Contents
}
type StoredClaim = Claim & { number: number; read_from: string[]; version: string }

export function confirmStep(needs: Needs): Step {
  return {
    name: 'confirm',
    rest_ms: 3_000,
    due: (sql) => sql`
      select from chain where confirmed_number <> solid_number
        or unconfirmed_since is not null or disputed_number is not null`,
    duty: 'chain',
    after: ['follow'],
    before: ['follow'],
    run: () => confirm(needs),
  }
}

/** True when blocks were confirmed or taken back. */
async function confirm(needs: Needs): Promise<boolean> {
  const { sql, clock, node } = needs
  const chain = await chainState(sql)
  if (!chain) return false
  const after = chain.confirmed_number
  if (after === chain.solid_number) {
    if (chain.unconfirmed_since !== null || chain.disputed_number !== null) await clearDoubts(sql)
    return false
  }
  const avoided = await outvoted(sql, clock)
  node.avoid(avoided)
  const stored = await storedBlocks(sql, after, chain.solid_number)
  const [first] = stored
  if (!first) return false
  const givers = first.read_from.join()
  const alike = leading(stored, ({ read_from }) => read_from.join() === givers)
  const said = await compare(needs, alike, witnessesOf(node, first, avoided))
  const agreed = alike.slice(0, said.agreed)
  const moved = agreed.length > 0 && (await settle(needs, after, agreed, said))
  if (said.differing) return (await judge(needs, said.differing)) || moved
  if (!moved)
    await sql`update chain set unconfirmed_since = ${clock.now()} where unconfirmed_since is null`
  return moved
}

/** The items before the first that is otherwise. */
function leading<Item>(items: readonly Item[], is: (item: Item, i: number) => boolean): Item[] {
  const end = items.findIndex((item, i) => !is(item, i))
  return end < 0 ? [...items] : items.slice(0, end)
}

async function clearDoubts(sql: Sql): Promise<void> {
  await sql`
    update chain set unconfirmed_since = null, disputed_number = null
      where confirmed_number = solid_number`
}

/** Nodes that the majority was against lately: they are read from, and asked for their word,
 *  last. */
async function outvoted(sql: Sql, clock: Clock): Promise<Set<string>> {
  const rows = await sql<{ dissenting: string[] }>`
    select dissenting from node_dispute
    where cardinality(against) > 0 and last_at > ${later(clock, -AVOIDED_MS)}`
  return new Set(rows.flatMap(({ dissenting }) => dissenting))
}

/** Who can confirm it, and how many must: two nodes at least, of which the one that gave it may be
 *  one. */
function witnessesOf(
  { names }: Node,
  { read_from }: StoredClaim,
  avoided: ReadonlySet<string>,
): Witnesses {
  const needed = Math.min(2, names.length)
  const in_order = names.toSorted((a, b) => Number(avoided.has(a)) - Number(avoided.has(b)))
  const [only, ...more] = read_from
  if (only === undefined || more.length > 0 || !names.includes(only))
    return { candidates: in_order, needed }
  return { candidates: in_order.filter((name) => name !== only), needed: needed - 1 }
}

type Witnesses = { candidates: string[]; needed: number }

async function storedBlocks(sql: Sql | Tx, after: number, last: number): Promise<StoredClaim[]> {
  const rows = await sql<
    Omit<StoredClaim, 'number' | 'contents'> & { number: bigint; contents: PackedContents }
  >`
    select number, id, parent_id, time, contents, read_from, outcomes_sha256, xmin::text as version
      from block
    where number > ${after} and number <= ${last} order by number limit ${PORTION}`
  return rows.map((row) => ({ ...row, number: Number(row.number), contents: unpack(row.contents) }))
}

/** What a node by itself says of solid blocks, as far as it has them. */
async function claimsOf(needs: Needs, name: string, first: number, last: number): Promise<Claim[]> {
  const node = needs.node.only(name)
  const blocks: Block[] = []
  for (let from = first; from <= last && blocks.length === from - first; from += AT_ONCE) {
    blocks.push(...(await node.blocks(from, Math.min(last, from + AT_ONCE - 1), 'solid')))
  }
  return Promise.all(
    leading(blocks, ({ number }, i) => number === first + i).map(async (block) => {
      const { contents } = contentsOf(needs.tokens, block, await node.receipts(block, 'solid'))
      const { id, parent_id, time } = block
      return { id, parent_id, time, outcomes_sha256: outcomesSum(block), contents }
    }),
  )
}

type WitnessFindings = {
  /** So many of the blocks, from the first on, enough witnesses confirm. */
  agreed: number
  /** The first of which one of them says otherwise. */
  differing: StoredClaim | undefined
  /** Fuller contents of blocks of which the giver did not show what contracts sent, by number. */
  shown: Map<number, { contents: Contents; name: string }>
  /** Nodes that did not show it, with the last such transaction. */
  hiding: Map<string, { number: number; tx_id: string; time: Date }>
}

async function compare(
  needs: Needs,
  blocks: readonly StoredClaim[],
  { candidates, needed }: Witnesses,
): Promise<WitnessFindings> {
  const shown: WitnessFindings['shown'] = new Map()
  const hiding: WitnessFindings['hiding'] = new Map()
  const reached: number[] = []
  for (const name of candidates) {
    if (reached.length === needed) break
    const claims = await claimsOf(needs, name, blocks[0]!.number, blocks.at(-1)!.number).catch(
      (thrown: unknown) => {
        if (thrown instanceof Outage) return []
        throw thrown
      },
    )
    let agreed = 0
    for (const [i, claim] of claims.entries()) {
      const ours = blocks[i]!
      if (difference(ours, claim) !== undefined)
        return { agreed: needed > 1 ? 0 : i, differing: ours, shown, hiding }
      const [more, less] = [onlyShownBy(claim, ours), onlyShownBy(ours, claim)]
      const place = { number: ours.number, time: ours.time }
      if (more !== undefined || ours.outcomes_sha256 === '')
        shown.set(ours.number, { contents: claim.contents, name })
      if (more !== undefined)
        for (const giver of ours.read_from) hiding.set(giver, { ...place, tx_id: more })
      if (less !== undefined) hiding.set(name, { ...place, tx_id: less })
      agreed += 1
    }
    // One that is silent or behind says nothing: another is asked.
    if (agreed > 0) reached.push(agreed)
  }
  return {
    agreed: reached.length < needed ? 0 : Math.min(blocks.length, ...reached),
    differing: undefined,
    shown,
    hiding,
  }
}

/** What two claims about a block differ in; undefined when they can both be true. */
function difference(a: Claim, b: Claim): string | undefined {
  if (a.id !== b.id || a.parent_id !== b.parent_id) return 'the block'
  if (a.time.getTime() !== b.time.getTime()) return 'its time'
  // Blocks that were stored before the sum was kept have none, and what contracts sent was read
  // otherwise then.
  const summed = a.outcomes_sha256 !== '' && b.outcomes_sha256 !== ''
  if (summed && a.outcomes_sha256 !== b.outcomes_sha256) return 'its transactions'
  if (pack(withoutInternal(a.contents)) !== pack(withoutInternal(b.contents)))
    return 'what it moved'
  if (!summed) return undefined
  const [ours, theirs] = [internalByTransaction(a.contents), internalByTransaction(b.contents)]
  for (const [tx_id, moves] of ours) {
    const others = theirs.get(tx_id)
    if (others !== undefined && others !== moves) return 'what contracts sent'
  }
  return undefined
}

const isInternal = ({ kind }: Move) => kind === 'internal'

const withoutInternal = (contents: Contents): Contents => ({
  ...contents,
  moves: contents.moves.filter((one) => !isInternal(one)),
  unfollowed: contents.unfollowed.filter((one) => !isInternal(one)),
  unknown: [],
  // Blocks that were stored before fees were kept have none; what they come to is asked for again.
  fees: [],
})

function internalByTransaction({ moves, unfollowed }: Contents): Map<string, string> {
  const found = new Map<string, string>()
  for (const { tx_id, asset, from, to, amount } of [...moves, ...unfollowed].filter(isInternal)) {
    found.set(tx_id, `${found.get(tx_id) ?? ''} ${asset} ${from} ${to} ${amount}`)
  }
  return found
}

/** A transaction of which the first shows what contracts sent, and the second nothing. */
function onlyShownBy(first: Claim, second: Claim): string | undefined {
  const known = internalByTransaction(second.contents)
  return [...internalByTransaction(first.contents).keys()].find((tx_id) => !known.has(tx_id))
}

/** Writes down that blocks are confirmed, unless they are others now. */
async function settle(
  needs: Needs,
  after: number,
  blocks: readonly StoredClaim[],
  said: WitnessFindings,
): Promise<boolean> {
  const { sql, clock } = needs
  const { shown, hiding } = said
  const last = blocks.at(-1)!.number
  return sql.begin(async (tx) => {
    const [same] = await tx`select 1 from chain where confirmed_number = ${after} for update`
    const now_stored = await tx<{ number: bigint }>`
      select number from block
      join unnest(${blocks.map(({ number }) => number)}::bigint[],
                  ${blocks.map(({ version }) => version)}::text[])
        as seen (seen_number, version) on number = seen_number and xmin::text = version`
    if (!same || now_stored.length < blocks.length) return true
    for (const { number } of blocks) {
      const fuller = shown.get(number)
      if (fuller) {
        tx.send`
          update block set contents = ${pack(fuller.contents)}, read_from = ${[fuller.name]}::text[]
          where number = ${number}`
      }
    }
    for (const [node, seen] of hiding) noteHiding(tx, { node, ...seen })
    tx.send`
      update chain set confirmed_number = ${last},
        unconfirmed_since = case
          when solid_number > ${last}::bigint then ${clock.now()}::timestamptz end,
        disputed_number = case when disputed_number > ${last}::bigint then disputed_number end`
    makeAttemptsSolid(tx)
    return true
  })
}

type Opinion = { claim: Claim; names: string[] }

/** What all nodes say of a block, those together that say the same. */
async function opinionsOf(needs: Needs, number: number): Promise<Opinion[]> {
  const opinions: Opinion[] = []
  const asked = needs.node.names.map(async (name) => {
    const [claim] = await claimsOf(needs, name, number, number)
    return { name, claim }
  })
  for (const answer of await Promise.allSettled(asked)) {
    if (answer.status === 'rejected' || !answer.value.claim) continue
    const { name, claim } = answer.value
    const same = opinions.find((one) => difference(one.claim, claim) === undefined)
    if (same) same.names.push(name)
    else opinions.push({ claim, names: [name] })
  }
  return opinions
}

/** Decides about a block of which some node says otherwise than it is stored. */
async function judge(needs: Needs, ours: StoredClaim): Promise<boolean> {
  const { sql, clock, node } = needs
  const { number, read_from, version } = ours
  const opinions = await opinionsOf(needs, number)
  const differing = opinions
    .map(({ claim }) => difference(ours, claim))
    .filter((one) => one !== undefined)
  const [what] = differing
  // A node that differed has come round meanwhile, or says nothing more.
  if (what === undefined) return false
  const majority = opinions.find(({ names }) => 2 * names.length > node.names.length)
  const refuted = majority !== undefined && difference(ours, majority.claim) !== undefined
  const against = majority?.names ?? []
  const named = [
    ...opinions.flatMap(({ names }) => names),
    ...(refuted || !majority ? read_from : []),
  ]
  const dissenting = [...new Set(named)].filter((name) => !against.includes(name)).sort()
  return sql.begin(async (tx) => {
    const [chain] =
      await tx`select 1 from chain where confirmed_number < ${number}::bigint for update`
    const [same] =
      await tx`select 1 from block where number = ${number} and xmin::text = ${version}`
    if (!chain || !same) return true
    if (dissenting.length > 0)
      await noteDispute(tx, clock.now(), { dissenting, against, number, what })
    if (refuted) await takeBack(tx, number - 1)
    if (!majority) {
      await tx`
        update chain set disputed_number = ${number},
          unconfirmed_since = coalesce(unconfirmed_since, ${clock.now()}::timestamptz)`
    }
    return majority !== undefined
  })
}

type Dispute = { dissenting: string[]; against: string[]; number: number; what: string }

async function noteDispute(
  tx: Tx,
  now: Date,
  { dissenting, against, number, what }: Dispute,
): Promise<void> {
  await tx`
    insert into node_dispute (dissenting, against, number, what, times, first_at, last_at)
    values (${dissenting}::text[], ${against.toSorted()}::text[], ${number}, ${what},
      1, ${now}, ${now})
    on conflict (dissenting, against) do update
      set number = excluded.number, what = excluded.what, times = node_dispute.times + 1,
        last_at = excluded.last_at`
}
