// The programs of docs/customers/clients.md: each changes something by both signatures, and is
// refused with a wrong secret, or is skipped where its language is missing. The part that signs is
// short in all of them.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { ROOT } from '../../../tools/source.ts'
import { atEndOfFile } from '../../harness/ends.ts'
import { type Sandbox, startSandbox } from '../../harness/sandbox.ts'

const run = promisify(execFile)
const page = await readFile(`${ROOT}docs/customers/clients.md`, 'utf8')

type Language = {
  file: string
  command: [string, ...string[]]
  /** Succeeds where the program can be run. */
  trial: string[]
  /** The first line of what signs; its last is the next one that is not further in. */
  hook: RegExp
}

const LANGUAGES: Record<string, Language> = {
  python: {
    file: 'call.py',
    command: ['python3'],
    trial: ['-c', 'import httpx'],
    hook: /^class Signed/,
  },
  go: { file: 'call.go', command: ['go', 'run'], trial: ['version'], hook: /^func sign/ },
  java: { file: 'Call.java', command: ['java'], trial: ['-version'], hook: /^ {2}static .* sign/ },
  php: { file: 'call.php', command: ['php'], trial: ['--version'], hook: /^function sign/ },
  ruby: { file: 'call.rb', command: ['ruby'], trial: ['--version'], hook: /^def sign/ },
}

const HOOK_LINES_MAX = 15

const programIn = (language: string) =>
  new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 's').exec(page)![1]!

/** How many lines sign, without empty ones. */
function hookLines(program: string, hook: RegExp): number {
  const lines = program.split('\n').filter((line) => line !== '')
  const first = lines.findIndex((line) => hook.test(line))
  assert.ok(first >= 0, `nothing is ${hook}`)
  const indent = /^ */.exec(lines[first]!)![0].length
  const length = lines.slice(first + 1).findIndex((line) => /\S/.test(line.slice(0, indent + 1)))
  // A closing bracket or `end` belongs to it.
  const closed = /^\s*(\}|end)/.test(lines[first + 1 + length]!)
  return length + (closed ? 2 : 1)
}

test('what signs takes at most 15 lines', () => {
  for (const [language, { hook }] of Object.entries(LANGUAGES)) {
    const lines = hookLines(programIn(language), hook)
    assert.ok(lines > 5 && lines <= HOOK_LINES_MAX, `${language} takes ${lines}`)
  }
})

let shared: Promise<Sandbox> | undefined
const sandbox = () => {
  shared ??= startSandbox()
  return shared
}
atEndOfFile(async () => (await shared)?.close())

for (const [language, { file, command, trial }] of Object.entries(LANGUAGES))
  test(`the program in ${language} is obeyed, and refused for a secret`, async (t) => {
    const [name, ...args] = command
    const missing = await run(name, trial).then(
      () => undefined,
      (thrown: Error) => thrown,
    )
    const tried = `${name} ${trial.join(' ')}`
    if (missing)
      return t.skip(`the ${language} of docs/customers/clients.md, because \`${tried}\` fails here`)
    const { api_url: API, customer } = await sandbox()
    const folder = await mkdtemp(join(tmpdir(), 'penstock-hooks-'))
    t.after(() => rm(folder, { recursive: true }))
    await writeFile(join(folder, file), programIn(language))
    const printed = async (SECRET: string) => {
      const env = { ...process.env, API, TOKEN: customer.token, SECRET }
      return (await run(name, [...args, join(folder, file)], { env })).stdout
    }
    const { code, result } = JSON.parse(await printed(customer.secret))
    assert.deepEqual([code, result.balance_low], [0, 5])
    const refused = JSON.parse(await printed('pss_wrong'))
    assert.deepEqual([refused.code, refused.key], [1, 'auth'])
  })
