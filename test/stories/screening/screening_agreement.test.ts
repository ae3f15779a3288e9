// The engine beside a second implementation of the formulas, which shares no code with it: the same
// blocks, read once by the service and once over the node's JSON, must give the same shares, scores
// and levels.

import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { selectorOf, wordOfAddress, wordOfInteger } from 'penstock-devchain/calls/abi.ts'
import { USDT } from 'penstock-devchain/devchain.ts'
import { addressToHex } from 'penstock-tron/address.ts'
import { addressOf } from 'penstock-tron/keys.ts'
import { worldOperator } from '../../harness/operator.ts'
import {
  CATEGORY_NAMES,
  eventsOf,
  judgeAddress,
  judgeTransaction,
  Ledger,
  type ReferenceLabel,
  type Verdict,
} from '../../harness/screening_reference.ts'
import { makeWorld, repeatable, TRX, type World } from '../../harness/world.ts'

type Person = ReturnType<World['person']>

/** Draws from a seed. */
function dice(seed: string) {
  const { bytes } = repeatable(seed)
  const below = (n: number) => Buffer.from(bytes(4)).readUInt32LE() % n
  const pick = <T>(all: readonly T[]): T => all[below(all.length)]!
  return { below, pick, often: (percent: number) => below(100) < percent }
}
type Dice = ReturnType<typeof dice>

const OWN_NAME_RULES = new Set(['issuer_frozen'])

/** One thing that happens on the chain, in the pool of the next block. */
function act(world: World, { below, pick, often }: Dice, people: readonly Person[]): void {
  const [from, to] = [pick(people), pick(people)]
  const units = BigInt(1 + below(10 ** (1 + below(9))))
  const key = world.scene.devchain.usdt_owner_key
  const owner = { key, address: addressOf(key), hex: addressToHex(addressOf(key)) }
  const call = (who: Person, data: string, call_value = 0n) =>
    world.scene.send(
      who,
      'TriggerSmartContract',
      { contract_address: addressToHex(USDT), data, ...(call_value > 0n && { call_value }) },
      { fee_limit: 1_000n * TRX },
    )
  const kind = below(20)
  if (kind < 9) world.scene.send(from, 'TransferContract', { to_address: to.hex, amount: units })
  else if (kind < 18) {
    const amount = often(5) ? 0n : often(5) ? 10n ** 15n : units
    call(
      from,
      selectorOf('transfer(address,uint256)') + wordOfAddress(to.hex) + wordOfInteger(amount),
    )
  } else if (kind === 18) {
    call(
      owner,
      selectorOf(pick(['addBlackList(address)', 'removeBlackList(address)'])) +
        wordOfAddress(to.hex),
    )
  } else
    call(
      from,
      selectorOf('transfer(address,uint256)') + wordOfAddress(to.hex) + wordOfInteger(1n),
      units,
    )
}

/** Labels of any category and confidence, some of them for a time only. */
function drawLabels(
  draw: Dice,
  people: readonly Person[],
  times: readonly number[],
): ReferenceLabel[] {
  return Array.from({ length: 7 }, () => {
    const [from, to] = [draw.pick(times), draw.pick(times)].sort()
    const timed = draw.often(40) && from! < to!
    return {
      address: draw.pick(people).address,
      category: draw.pick(CATEGORY_NAMES.filter((name) => !OWN_NAME_RULES.has(name))),
      confidence: draw.pick([0, 1, 10, 20, 33, 49, 50, 59, 60, 90, 100]),
      ...(timed && { from, to }),
    }
  })
}

const csvOf = (labels: readonly ReferenceLabel[]) => {
  const instant = (ms: number | undefined) => (ms === undefined ? '' : new Date(ms).toISOString())
  const rows = labels.map((one) =>
    [one.address, one.category, one.confidence, instant(one.from), instant(one.to)].join(),
  )
  return ['address,category,confidence,valid_from,valid_to', ...rows].join('\n')
}

/** The blocks from a number up to the solid one, as a node tells them, through the reference. */
function referenceOf(world: World, labels: readonly ReferenceLabel[], first: number): Ledger {
  const supply = BigInt(`0x${supplyOf(world)}`)
  const ledger = new Ledger(labels, USDT, supply)
  const newest = world.scene.post('/walletsolidity/getnowblock') as {
    block_header: { raw_data: { number: number } }
  }
  const solid = newest.block_header.raw_data.number
  for (let num = first; num <= solid; num++) {
    const block = world.scene.post('/walletsolidity/getblockbynum', { num })
    const receipts = world.scene.post('/walletsolidity/gettransactioninfobyblocknum', { num })
    const { time, events } = eventsOf(block, receipts, USDT)
    ledger.block(time, events)
  }
  return ledger
}

function supplyOf(world: World): string {
  const { constant_result } = world.scene.post('/wallet/triggerconstantcontract', {
    owner_address: addressToHex(USDT),
    contract_address: addressToHex(USDT),
    function_selector: 'totalSupply()',
    parameter: '',
  }) as { constant_result: string[] }
  return constant_result[0]!
}

type CheckReply = {
  status: string
  risk_score: string
  risk_level: string
  blacklist: boolean
  risk_factors: { name: string; score: number }[]
}

const verdictOf = ({ risk_factors, risk_score, risk_level, blacklist }: CheckReply): Verdict => ({
  factors: risk_factors.map(({ name, score }) => [name, score.toFixed(4)]),
  blacklist,
  score: risk_score,
  level: risk_level,
})

async function compare(
  t: TestContext,
  seed: string,
): Promise<{ addresses: number; transactions: number }> {
  const draw = dice(seed)
  const world = await makeWorld(t, { tokens: [USDT], seed })
  const anna = await world.customer({ trx: 10_000 })
  const people = Array.from({ length: 9 }, (_, i) => world.person(`${seed}-${i}`, 100_000))
  world.scene.devchain.fund(addressOf(world.scene.devchain.usdt_owner_key), 1_000_000n * TRX)
  for (const { address } of people)
    world.scene.post('/devchain/mint', { address, amount: 10n ** 12n })
  await world.solidify()
  const times: number[] = []
  for (let i = 0; i < 40; i++) {
    for (let n = draw.below(6); n >= 0; n--) act(world, draw, people)
    world.mine()
    times.push(world.scene.devchain.head.header.timestamp)
  }
  const labels = drawLabels(draw, people, times)
  const folder = await mkdtemp(join(tmpdir(), 'penstock-agreement-'))
  t.after(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, 'labels.csv'), csvOf(labels))
  const operator = await worldOperator(world)
  await operator.json('lists', 'import', 'operator', join(folder, 'labels.csv'))
  await world.solidify()

  const ask = async (body: Record<string, unknown>) => {
    const { id } = await anna.get<{ id: string }>('/v1/aml-checks/new', { network: 'TRX', ...body })
    return id
  }
  const read = (id: string) => anna.get<CheckReply>('/v1/aml-checks/check', { id })
  const { first_block } = await operator.json<{ first_block: number }>('aml', 'show')
  const ledger = referenceOf(world, labels, first_block)
  const ids = await Promise.all(people.map(({ address }) => ask({ type: 'address', address })))
  await world.drain()
  for (const [i, id] of ids.entries()) {
    const { address } = people[i]!
    assert.deepEqual(verdictOf(await read(id)), judgeAddress(ledger, address), `${seed} ${address}`)
  }
  const hashes = [...new Set(ledger.moved.map(({ tx }) => tx))]
  const asked = hashes.map((hash) => {
    const touched = ledger.moved.find(({ tx }) => tx === hash)!
    return { hash, address: draw.pick([touched.to, touched.to, touched.from, people[0]!.address]) }
  })
  for (const direction of ['deposit', 'withdrawal']) {
    const made = await Promise.all(asked.map((one) => ask({ type: 'hash', direction, ...one })))
    await world.drain()
    for (const [i, id] of made.entries()) {
      const { hash, address } = asked[i]!
      const wanted = judgeTransaction(ledger, hash, address, direction)
      assert.deepEqual(verdictOf(await read(id)), wanted, `${seed} ${direction} ${hash} ${address}`)
    }
  }
  return { addresses: ids.length, transactions: hashes.length }
}

for (const seed of ['a', 'b', 'c']) {
  test(`history ${seed}: shares, scores and levels equal the reference's`, async (t) => {
    const { addresses, transactions } = await compare(t, seed)
    assert.ok(addresses >= 9 && transactions >= 60, `${transactions} transactions`)
  })
}
