import assert from 'node:assert/strict'
import { test } from 'node:test'
import { counterpartyIn } from './counterparty.ts'

const screened = (more: object) => ({
  address: 'TAddress',
  labels: [],
  in_force: null,
  holdings: [],
  ...more,
})
const kindOf = (facts: object) => counterpartyIn(JSON.stringify(facts))?.kind
const lists = [{ list: 'operator' }]
const sends = { holdings: [{ transfers_out: '0' }, { transfers_out: '2' }] }

test('a labelled service is one, by the name of the label in force', () => {
  const labels = [
    { category: 'scam', entity: 'Other' },
    { category: 'exchange_licensed', entity: 'Some Exchange' },
  ]
  const in_force = { category: 'exchange_licensed', terminal: true }
  assert.deepEqual(
    counterpartyIn(JSON.stringify({ lists, screened: screened({ labels, in_force }) })),
    {
      address: 'TAddress',
      kind: 'service',
      name: 'Some Exchange',
      category: 'exchange_licensed',
    },
  )
})

test('a hub is a service without a name; a thief is none', () => {
  const hub = { category: 'unidentified_service', terminal: false }
  assert.equal(kindOf({ lists, screened: screened({ in_force: hub }) }), 'service')
  const thief = { category: 'stolen_coins', terminal: true }
  assert.equal(kindOf({ lists, screened: screened({ in_force: thief, ...sends }) }), 'unknown')
})

test('who sends and is on no list holds its own keys, where there is a list', () => {
  assert.equal(kindOf({ lists, screened: screened(sends) }), 'self_hosted')
  assert.equal(kindOf({ lists: [], screened: screened(sends) }), 'unknown')
  const receives = { holdings: [{ transfers_out: '0' }] }
  assert.equal(kindOf({ lists, screened: screened(receives) }), 'unknown')
})

test('beside providers it is what our own engine found, if it was asked', () => {
  const embedded = { name: 'embedded', facts: { lists, screened: screened(sends) } }
  assert.equal(kindOf({ answers: [{ name: 'other', facts: {} }, embedded] }), 'self_hosted')
  assert.equal(kindOf({ answers: [{ name: 'other', facts: {} }] }), undefined)
})
