import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FLOW_BOX, flowOf, type Hop } from './flow.ts'

let transfers = 0
const hop = (from: string, to: string, amount = '5', asset = 'TRX'): Hop => ({
  tx_id: `t${transfers++}`,
  from,
  to,
  asset,
  amount,
})

test('ways that end alike are one from there on, and each origin has a row of its own', () => {
  const last = hop('middle', 'end', '12')
  const ways = [
    { path: [last, hop('mixer', 'middle')] },
    { path: [last, hop('exchange', 'middle')] },
    { path: [hop('scam', 'end')] },
  ]
  const { boxes, arrows } = flowOf(ways)
  const names = boxes.map(({ address }) => address).sort()
  assert.deepEqual(names, ['end', 'exchange', 'middle', 'mixer', 'scam'])
  assert.equal(arrows.length, 4)
  const at = new Map(boxes.map((box) => [box.address, box]))
  const { mixer, exchange, middle, scam, end } = Object.fromEntries(at)
  assert.deepEqual([mixer!.way, exchange!.way, scam!.way], [0, 1, 2])
  assert.deepEqual([middle!.way, end!.way, end!.is_end], [undefined, undefined, true])
  assert.ok(mixer!.x === exchange!.x && mixer!.x < middle!.x && middle!.x === scam!.x)
  assert.ok(middle!.x < end!.x)
  assert.ok(exchange!.y >= mixer!.y + FLOW_BOX.height && scam!.y >= exchange!.y + FLOW_BOX.height)
  // A transfer that two ways have in common counts once.
  assert.ok(arrows.some(({ sums }) => JSON.stringify(sums) === '[["TRX","12"]]'))
})

test('transfers between the same two are summed, each asset by itself', () => {
  const { arrows } = flowOf([
    { path: [hop('a', 'end', '5')] },
    { path: [hop('a', 'end', '7'), hop('b', 'a')] },
    { path: [hop('a', 'end', '9', 'USDT'), hop('c', 'a')] },
  ])
  const sums = arrows.map((one) => one.sums).find((one) => one.length === 2)
  assert.deepEqual(sums, [
    ['TRX', '12'],
    ['USDT', '9'],
  ])
})

test('an address that the money passed twice stands twice, and nothing turns in a circle', () => {
  const { boxes } = flowOf([{ path: [hop('a', 'end'), hop('b', 'a'), hop('a', 'b')] }])
  assert.equal(boxes.filter(({ address }) => address === 'a').length, 2)
  assert.equal(new Set(boxes.map(({ x }) => x)).size, 4)
})

test('all of it lies inside of the drawing; of no way there is none', () => {
  const flow = flowOf([{ path: [hop('a', 'end'), hop('b', 'a')] }, { path: [hop('c', 'end')] }])
  for (const { x, y } of flow.boxes) {
    assert.ok(x >= 0 && x + FLOW_BOX.width <= flow.width)
    assert.ok(y >= 0 && y + FLOW_BOX.height <= flow.height)
  }
  assert.deepEqual(flowOf([]), { width: 0, height: 0, boxes: [], arrows: [] })
  assert.deepEqual(flowOf([{ path: [] }]).boxes, [])
})
