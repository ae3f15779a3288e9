// Charts are pure functions: what they draw is tested as text.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BOX, nearest, roundTicksAcross, scalesOf, ticksAcross, ticksUp } from './scales.ts'
import { bandPath, barsOf, crossingBelow, linePath } from './shapes.ts'

const at = (day: number) => new Date(Date.UTC(2026, 10, day))
const points = [10, 30, 20].map((value, i) => ({ at: at(i + 1), value }))
const scales = scalesOf(
  points.map((point) => point.at),
  points.map(({ value }) => value),
)

test('time goes from left to right, values from zero upwards', () => {
  assert.equal(scales.across(at(1)), BOX.left)
  assert.equal(scales.across(at(3)), BOX.width - BOX.right)
  assert.equal(scales.up(0), BOX.height - BOX.bottom)
  assert.equal(scales.up(30), BOX.top)
})

test('a line goes through its points, a line of steps along them', () => {
  assert.equal(linePath(scales, points), 'M48,101.3L228,12L408,56.7')
  assert.equal(
    linePath(scales, points, { steps: true }),
    'M48,101.3L228,101.3L228,12L408,12L408,56.7',
  )
  assert.equal(linePath(scales, []), '')
})

test('a band lies between the least and the most', () => {
  const spans = [1, 2].map((day) => ({ at: at(day), least: 0, most: 30 }))
  assert.equal(bandPath(scales, spans), 'M48,12L228,12L228,146L48,146Z')
})

test('where a line goes below a value is on the line', () => {
  const falling = [30, 20, 10].map((value, i) => ({ at: at(i + 1), value }))
  const noon = new Date(at(2).getTime() + 12 * 3_600_000)
  assert.deepEqual(crossingBelow(falling, 15), { at: noon, value: 15 })
  assert.deepEqual(crossingBelow(falling, 20), { at: at(2), value: 20 })
  assert.deepEqual(crossingBelow(falling, 40), falling[0])
  assert.equal(crossingBelow(falling, 10), undefined)
  assert.equal(crossingBelow([], 10), undefined)
})

test('bars stand side by side on zero, those below zero hang from it', () => {
  const bars = barsOf(scales, points)
  assert.deepEqual(bars[0], { x: 49, y: 101.3, width: 118, height: 44.7 })
  assert.ok(bars.every(({ y, height }) => Math.abs(y + height - scales.up(0)) < 0.2))
})

test('few ticks are drawn, at places within the box', () => {
  const many = Array.from({ length: 30 }, (_, i) => at(i + 1))
  const places = ticksAcross(scalesOf(many, [1])).map(({ place }) => place)
  assert.ok(places.length <= 5 && places.every((place) => place > BOX.left && place < BOX.width))
  assert.deepEqual(
    ticksUp(scales).map(({ value }) => value),
    [0, 10, 20, 30],
  )
})

test('times of day are told at round times, by the clock that they are read by', () => {
  const minute = (text: string) => new Date(`2026-11-22T${text}Z`)
  const told = (from: string, to: string, ahead_ms?: number) =>
    roundTicksAcross(scalesOf([minute(from), minute(to)], [1]), ahead_ms).map(({ value }) =>
      value.toISOString().slice(11, 16),
    )
  assert.deepEqual(told('18:07:13', '19:02:41'), ['18:15', '18:30', '18:45', '19:00'])
  assert.deepEqual(told('00:02:10', '23:57:00'), ['06:00', '12:00', '18:00'])
  // Half past five there is midnight here.
  assert.deepEqual(told('00:02:10', '23:57:00', 5.5 * 3_600_000), [
    '00:30',
    '06:30',
    '12:30',
    '18:30',
  ])
  assert.deepEqual(told('12:00:00', '12:00:00'), ['12:00'])
})

test('a pointer reads the time that is the nearest to it, and bars stand over their times', () => {
  assert.deepEqual(
    [-100, 49, 137, 139, 9_999].map((place) => nearest(scales, place)),
    [0, 0, 0, 1, 2],
  )
  assert.equal(nearest(scalesOf([], []), 100), undefined)
  const times = points.map((point) => point.at)
  const for_bars = scalesOf(times, [30], BOX, true)
  for (const [i, { x, width }] of barsOf(for_bars, points).entries())
    assert.equal(x + width / 2, for_bars.across(times[i]!))
})

test('an axis of few is marked by whole numbers, and one of nothing by zero alone', () => {
  const marksOf = (...values: number[]) =>
    ticksUp(scalesOf([at(1)], values)).map(({ value }) => value)
  assert.deepEqual(marksOf(1), [0, 1])
  assert.deepEqual(marksOf(2), [0, 1, 2])
  assert.deepEqual(marksOf(0, 0), [0])
  assert.deepEqual(marksOf(), [0])
  assert.deepEqual(marksOf(-1, 0), [-1, 0])
})
