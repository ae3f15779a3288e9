import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nameText } from './name.ts'
import { addWords, say } from './words.ts'

test('a name steers nothing of what stands around it, alone or in a sentence', () => {
  const names = {
    'bot\u202egnp.exe': 'bot·gnp.exe',
    'a\u0000b\u001b[2J\u2028c': 'a·b·[2J·c',
    'zero\u200bwidth\u2066': 'zero·width·',
    'Müller, 王伟, Анна': 'Müller, 王伟, Анна',
    שלום: 'שלום',
  }
  addWords({ 'user.change_title': 'Change {name} now' })
  for (const [name, shown] of Object.entries(names)) {
    assert.equal(nameText(name), shown)
    assert.equal(say('user.change_title', { name }), `Change ${shown} now`)
  }
})
