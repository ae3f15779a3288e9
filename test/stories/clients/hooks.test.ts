// The programs of docs/clients.md: those whose language is on this machine call the service, and
// are refused with a wrong secret.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { ROOT } from '../../../tools/source.ts'
import { makeWorld } from '../../harness/world.ts'

const run = promisify(execFile)
const page = await readFile(`${ROOT}docs/clients.md`, 'utf8')

const LANGUAGES: Record<string, { file: string; command: string[]; version: string }> = {
  python: { file: 'call.py', command: ['python3'], version: '--version' },
  java: { file: 'Call.java', command: ['java'], version: '-version' },
  go: { file: 'call.go', command: ['go', 'run'], version: 'version' },
  php: { file: 'call.php', command: ['php'], version: '--version' },
  ruby: { file: 'call.rb', command: ['ruby'], version: '--version' },
}

test('the programs whose language is here are answered, and refused for a secret', async (t) => {
  const world = await makeWorld(t)
  const { token, secret } = await world.customer({ trx: 100 })
  const API = await world.api.listen({ port: 0, host: '127.0.0.1' })
  const folder = await mkdtemp(join(tmpdir(), 'penstock-hooks-'))
  t.after(() => rm(folder, { recursive: true }))
  for (const [language, { file, command, version }] of Object.entries(LANGUAGES)) {
    const [, program] = new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 's').exec(page)!
    const [name, ...args] = command as [string, ...string[]]
    const here = await run(name, [version]).catch(() => undefined)
    if (!here) continue
    await writeFile(join(folder, file), program!)
    const printed = async (SECRET: string) => {
      const env = { ...process.env, API, TOKEN: token, SECRET }
      const how = run(name, [...args, join(folder, file)], { env })
      return how.then(
        ({ stdout }) => stdout,
        ({ stdout, stderr }: { stdout: string; stderr: string }) => stdout + stderr,
      )
    }
    assert.match(await printed(secret), /\b100\b/, language)
    assert.match(await printed('pss_wrong'), /Incorrect token or signature/, language)
  }
})
