import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { readSecretFile } from './files.ts'

const folder = mkdtempSync(join(tmpdir(), 'penstock-files-'))
test.after(() => rmSync(folder, { recursive: true }))
chmodSync(folder, 0o755)
const file = join(folder, 'secret')
writeFileSync(file, 'hush')

test('a secret that others can read is refused', async () => {
  for (const mode of [0o600, 0o400]) {
    chmodSync(file, mode)
    assert.equal(await readSecretFile(file, 'a secret'), 'hush')
  }
  for (const mode of [0o640, 0o604]) {
    chmodSync(file, mode)
    await assert.rejects(readSecretFile(file, 'a secret'), /can be read by others: chmod 600 it/)
  }
  assert.equal(await readSecretFile(join(folder, 'none'), 'a secret'), undefined)
})

const GROUP = 65_532
const MODULE = pathToFileURL(join(import.meta.dirname, 'files.ts'))
const NOT_ROOT = process.getuid?.() !== 0 && 'not run: only root hands files over'

test('one that root hands over by the group is taken, as long as it cannot be written', {
  skip: NOT_ROOT,
}, () => {
  chownSync(file, 0, GROUP)
  const program = `
    import { readSecretFile } from ${JSON.stringify(MODULE)}
    console.log(await readSecretFile(${JSON.stringify(file)}, 'a secret').catch((one) => one.name))`
  const readBySomebody = (mode: number) => {
    chmodSync(file, mode)
    const args = ['--input-type=module', '-e', program]
    const who = { uid: GROUP, gid: GROUP, encoding: 'utf8' } as const
    return spawnSync(process.execPath, args, who).stdout.trim()
  }
  assert.equal(readBySomebody(0o440), 'hush')
  assert.equal(readBySomebody(0o460), 'Misuse')
  assert.equal(readBySomebody(0o444), 'Misuse')
})
