// The receivers of docs/customers/events.md are whole programs: those whose language is on this
// machine are run, and told apart what is from the service and what is not.

import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import {
  newWebhookSecret,
  signingKey,
  webhookHeaders,
} from 'penstock-service/events/webhooks/signing.ts'
import { systemRandom } from 'penstock-service/lib/ids.ts'
import { ROOT } from '../../../tools/source.ts'
import { freePort } from '../../runtimes/runtimes.ts'

const page = await readFile(`${ROOT}docs/customers/events.md`, 'utf8')

/** How a program in each language is started, and how to see whether it can be. */
const LANGUAGES: Record<string, { file: string; command: string[]; version: string }> = {
  js: { file: 'receiver.mjs', command: [process.execPath], version: '--version' },
  python: { file: 'receiver.py', command: ['python3'], version: '--version' },
  go: { file: 'receiver.go', command: ['go', 'run'], version: 'version' },
  php: { file: 'receiver.php', command: ['php', '-S'], version: '--version' },
  java: { file: 'Receiver.java', command: ['java'], version: '-version' },
}

function isHere([program]: readonly string[], version: string): boolean {
  try {
    execFileSync(program!, [version], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Starts the program of the page and returns where it listens. */
async function start(t: TestContext, language: string, secrets: string): Promise<string> {
  const { file, command } = LANGUAGES[language]!
  const [, program] = new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 's').exec(page)!
  // Inside of the project, so that the SDK is found.
  const folder = await mkdtemp(join(language === 'js' ? `${ROOT}test/` : tmpdir(), 'receiver-'))
  await writeFile(join(folder, file), program!)
  const port = await freePort()
  const place = language === 'php' ? [`127.0.0.1:${port}`] : []
  const child = spawn(command[0]!, [...command.slice(1), ...place, join(folder, file)], {
    env: { ...process.env, WEBHOOK_SECRETS: secrets, PORT: String(port) },
    stdio: 'ignore',
  })
  t.after(async () => {
    child.kill('SIGKILL')
    await rm(folder, { recursive: true, force: true })
  })
  const url = `http://127.0.0.1:${port}/`
  for (let waited_ms = 0; waited_ms < 60_000; waited_ms += 100) {
    const answered = await fetch(url, { method: 'POST', body: '{}' }).catch(() => undefined)
    if (answered) return url
    assert.equal(child.exitCode, null, `the receiver in ${language} has ended`)
    await delay(100)
  }
  throw new Error(`the receiver in ${language} does not listen`)
}

/** JavaScript is always here. */
const here = Object.entries(LANGUAGES).filter(([, { command, version }]) =>
  isHere(command, version),
)

for (const [language] of here) {
  test(`the receiver in ${language} takes what is from the service`, async (t) => {
    const [old, fresh] = [newWebhookSecret(systemRandom), newWebhookSecret(systemRandom)]
    const url = await start(t, language, `${old} ${fresh}`)
    const body = '{"type":"order.succeeded","number":7,"data":{"external_id":"заказ 😀"}}'
    const told = async (
      secrets: readonly string[],
      { sent = body, seconds_ago = 0, more = {} } = {},
    ) => {
      const at = new Date(Date.now() - seconds_ago * 1_000)
      const headers = webhookHeaders(secrets.map(signingKey), { id: 'e1', body }, at)
      const response = await fetch(url, {
        method: 'POST',
        body: sent,
        headers: { ...headers, ...more },
      })
      return response.status
    }
    const stranger = newWebhookSecret(systemRandom)
    assert.equal(await told([old]), 204)
    assert.equal(await told([fresh]), 204)
    assert.equal(await told([stranger, fresh]), 204)
    assert.equal(await told([stranger]), 400)
    assert.equal(await told([old], { sent: body.replace('7', '8') }), 400)
    assert.equal(await told([old], { more: { 'webhook-id': 'e2' } }), 400)
    assert.equal(await told([old], { seconds_ago: 600 }), 400)
    assert.equal(await told([old], { more: { 'webhook-timestamp': 'now' } }), 400)
    assert.equal(await told([old], { more: { 'webhook-signature': 'v1,' } }), 400)
  })
}
