import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import { keptText } from './kept_text.ts'

const schema = Type.Object({
  service: Type.String(),
  params: Type.Object({ address: Type.String(), amount: Type.Integer() }),
  list: Type.Array(Type.Object({ id: Type.String() })),
})
const kept = (body: string) => keptText({ body: Buffer.from(body), kept: schema })

test('what an endpoint asks for is kept as it was sent', () => {
  const sent = '{"service":"energy","params":{"address":"T1","amount":1e400},"list":[{"id":"a"}]}'
  assert.equal(kept(sent), sent)
  assert.equal(kept('{"params":{"amount":65000.0}}'), '{"params":{"amount":65000.0}}')
  assert.equal(keptText({ body: Buffer.from(sent), kept: undefined }), null)
})

test('of what it does not ask for only names are kept', () => {
  for (const [sent, shown] of [
    ['{"passwrod":"hunter2","service":1}', '{"passwrod":"…","service":1}'],
    ['{"params":{"address":"T1","pin":[1,2]}}', '{"params":{"address":"T1","pin":"…"}}'],
    ['{"service":{"password":"hunter2"}}', '{"service":{"password":"…"}}'],
    [
      '{"service":["hunter2"],"list":["hunter2",{"x":1}]}',
      '{"service":["…"],"list":["…",{"x":"…"}]}',
    ],
    ['{"params":"hunter2"}', '{"params":"…"}'],
    ['"hunter2"', '"…"'],
    ['["hunter2"]', '["…"]'],
    ['{"toString":"hunter2"}', '{"toString":"…"}'],
  ] as const)
    assert.equal(kept(sent), shown, sent)
})

test('of text that is no JSON the outline is kept', () => {
  for (const [sent, shown] of [
    ['{"service": "energy", "password": "hunter2",}', '{"service": "…", "…": "…",}'],
    ['address=T1&password=hunter2', 'address=…&…=…'],
    ['hunter2', '…'],
    ['{"service":"hunter2\u0000"}', '{"service":"…"}'],
    ['{"a":"hunter2","a":1}', '{"…":"…","…":…}'],
  ] as const)
    assert.equal(kept(sent), shown, sent)
})

test('a long body is cut, and a secret of ours that is in it left out', () => {
  const long = kept(JSON.stringify({ service: `pss_abc= ${'ж'.repeat(5_000)}` }))!
  assert.ok(long.startsWith('{"service":"pss_… жж') && long.length === 1_024)
  assert.equal(kept('x'.repeat(5_000)), '…')
})
