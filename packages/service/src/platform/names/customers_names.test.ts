import assert from 'node:assert/strict'
import type { LookupAddress } from 'node:dns'
import { test } from 'node:test'
import { customersNames, LOOKS_MAX, LOOKS_OF_CUSTOMER } from './customers_names.ts'

/** Look-ups that are answered by hand, in turn. */
function byHand() {
  const open: { name: string; tell(found: boolean): void }[] = []
  const look = (name: string) =>
    new Promise<LookupAddress[]>((resolve, reject) => {
      const tell = (found: boolean) =>
        found ? resolve([{ address: '192.0.2.1', family: 4 }]) : reject(new Error('none'))
      open.push({ name, tell })
    })
  return { open, look }
}

const settled = () => new Promise(setImmediate)

test('one customer has a few look-ups under way, and all together so many', async () => {
  const { open, look } = byHand()
  const resolve = customersNames(look)
  const results: Promise<unknown>[] = []
  for (let i = 0; i < 20; i++) results.push(resolve(`${i}.example`, 'anna'))
  await settled()
  assert.equal(open.length, LOOKS_OF_CUSTOMER)
  results.push(resolve('bert.example', 'bert'))
  await settled()
  assert.equal(open.at(-1)!.name, 'bert.example', 'another is not held up')
  for (let i = 0; i < 100; i++)
    for (let j = 0; j < LOOKS_OF_CUSTOMER; j++) results.push(resolve(`${i}-${j}.example`, `c${i}`))
  await settled()
  assert.equal(open.length, LOOKS_MAX)
  for (let i = 0; i < results.length; i++) {
    open[i]!.tell(true)
    await settled()
  }
  await Promise.all(results)
})

test('too many that wait are refused at once', async () => {
  const { open, look } = byHand()
  const resolve = customersNames(look)
  const waiting = Array.from({ length: LOOKS_OF_CUSTOMER + 64 }, (_, i) =>
    resolve(`${i}.example`, 'anna'),
  )
  await assert.rejects(resolve('more.example', 'anna'), /too many/)
  for (let i = 0; i < waiting.length; i++) {
    await settled()
    open[i]!.tell(true)
  }
  await Promise.all(waiting)
})

test('a name that is not found is not looked up again for a minute, whoever asks', async () => {
  let now_ms = 0
  let looks = 0
  const look = async () => {
    looks += 1
    throw new Error('none')
  }
  const resolve = customersNames(look, () => now_ms)
  await assert.rejects(resolve('gone.example', 'anna'))
  await assert.rejects(resolve('gone.example', 'bert'))
  now_ms = 59_000
  await assert.rejects(resolve('gone.example', 'anna'))
  assert.equal(looks, 1)
  now_ms = 60_001
  await assert.rejects(resolve('gone.example', 'anna'))
  assert.equal(looks, 2)
  // What is remembered is bounded: the oldest is forgotten.
  for (let i = 0; i < 10_000; i++) await assert.rejects(resolve(`${i}.example`, 'anna'))
  await assert.rejects(resolve('gone.example', 'anna'))
  assert.equal(looks, 10_003)
})
