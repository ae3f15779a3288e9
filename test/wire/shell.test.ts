// The lines for a shell that the portal shows work as they stand, in each shell that is here, with
// a key of each kind: token and secret filled in, or in the environment.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { systemClock } from 'penstock-service/lib/clock.ts'
import { systemRandom } from 'penstock-service/lib/ids.ts'
import { silentLog } from 'penstock-service/lib/log.ts'
import { buildServer } from 'penstock-service/platform/http/server.ts'
import { envText, type KeyAccess, shellLines } from '../../packages/web/shared/calls/shell.ts'
import { makeWorld } from '../harness/world.ts'

const run = promisify(execFile)
const SHELLS = ['bash', 'sh']

test('a call as lines for the shell is answered, with either kind of key', async (t) => {
  const world = await makeWorld(t)
  world.wait(Date.now() / 1_000 - world.now.getTime() / 1_000)
  const { app, sql } = world
  const { authenticate, endpoints } = app
  const needs = { sql, clock: systemClock, random: systemRandom, log: silentLog, authenticate }
  const server = await buildServer(needs, { endpoints })
  const origin = await server.listen({ port: 0, host: '127.0.0.1' })
  t.after(() => server.close())
  const [either, strict] = [await world.customer(), await world.customer({ require_v2: true })]
  const body = { note: "it's 50 % \\ €" }
  const call = { origin, path: '/v1/whoami', body }
  const answer = async (shell: string, lines: string, env: Record<string, string> = {}) => {
    const { PATH = '' } = process.env
    const { stdout } = await run(shell, ['-c', lines], { env: { PATH, ...env } })
    const { code, key } = JSON.parse(stdout) as { code: number; key?: string }
    return key ?? code
  }
  const environment = ({ token, secret }: KeyAccess) => ({
    PENSTOCK_TOKEN: token,
    PENSTOCK_SECRET: secret,
  })
  for (const shell of SHELLS) {
    const lines = (access: KeyAccess | undefined, second_signature: boolean) =>
      shellLines({ ...call, access, second_signature })
    assert.equal(await answer(shell, lines(either, false)), 0, shell)
    assert.equal(await answer(shell, lines(either, true)), 0, shell)
    assert.equal(await answer(shell, lines(strict, true)), 0, shell)
    assert.equal(await answer(shell, lines(strict, false)), 'auth.second_signature', shell)
    assert.equal(await answer(shell, lines(undefined, true), environment(strict)), 0, shell)
    await assert.rejects(answer(shell, lines(undefined, true)), /PENSTOCK_TOKEN: is not set/)
  }
  const folder = mkdtempSync(join(tmpdir(), 'penstock-env-'))
  t.after(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, '.env'), envText(origin, strict))
  const lines = shellLines({ ...call, second_signature: true })
  assert.equal(await answer('sh', `set -a; . ${folder}/.env; set +a\n${lines}`), 0)
  assert.match(readFileSync(join(folder, '.env'), 'utf8'), /^PENSTOCK_URL=http/)
})
