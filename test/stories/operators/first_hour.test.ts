// docs/operators/first_hour.md as it is printed, in one shell: from an empty folder to the first
// paid order, on a development chain, a database and ports of the test's own. Then, in the same
// shell, what the pages about collecting, and about staking and voting, print.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { buildPackage } from '../../../packages/cli/build.ts'
import { ROOT } from '../../../tools/source.ts'
import { createDatabase, dropDatabase } from '../../harness/database.ts'
import { freePort } from '../../runtimes/runtimes.ts'

const PAGES = ['first_hour', 'collecting', 'staking']
const pages = await Promise.all(
  PAGES.map((name) => readFile(join(ROOT, `docs/operators/${name}.md`), 'utf8')),
)

/** Waits for what people see in another terminal. */
const wait = (command: string) =>
  `for i in $(seq 600); do ${command} && break; test $i != 600; sleep 0.2; done`

/** The pages as one program. What a reader does by hand, and what would meet others on this host,
 *  is put in its place; each of that must stand in a page. */
async function programOf(folder: string, database_url: string): Promise<string> {
  const [chain_port, api_port, console_port] = await Promise.all([1, 2, 3].map(freePort))
  const main = `${process.execPath} ${ROOT}packages/service/src/main.ts`
  const chain = `${process.execPath} ${ROOT}packages/devchain/cli.ts`
  const api = `http://127.0.0.1:${api_port}`
  const nth = (n: number, field: number) => `$(sed -n ${n + 2}p chain.log | cut -d' ' -f${field})`
  const evaluate = (program: string) => `${process.execPath} -e '${program}'`
  const post = (path: string, body: string) =>
    `fetch(process.argv[1] + "${path}", { method: "POST", body: JSON.stringify(${body}) })`
  const mine = `${evaluate(post('/devchain/mine', '{ blocks: 25 }'))} $NODE\n`
  const witness = (rank: number) =>
    `$(${evaluate(
      `${post('/wallet/listwitnesses', '{ visible: true }')}.then((answer) => answer.json())` +
        `.then(({ witnesses }) => console.log(witnesses[${rank}].address))`,
    )} $NODE)`
  const serve =
    `${main} serve --node-url $NODE --data-dir keys/data --port ${api_port} ` +
    `--console-port ${console_port} >> serve.log 2>&1 & SERVE=$!\n`
  const accounts = ['POOL', 'ACTIVATION', 'REFUND', 'RECHARGE', 'RECEIVER']
  const replaced: [printed: string, run: string][] = [
    ['npm ci\n', ''],
    ['npm run -s admin -- "$@"', `${main} "$@"`],
    ['NODE=http://127.0.0.1:8090', `NODE=http://127.0.0.1:${chain_port}`],
    [
      'npx penstock-devchain --port 8090\n',
      `${chain} --port ${chain_port} > chain.log & trap 'kill $(jobs -p)' EXIT\n` +
        `${wait('grep -q "^block" chain.log')}\n`,
    ],
    [
      accounts.map((name) => `${name}=T…`).join(' '),
      accounts.map((name, i) => `${name}=${nth(i + 1, 1)}`).join(' '),
    ],
    [
      'cat > keys/pool.owner          # paste the key, Enter, Ctrl-D; and so for the other two\n',
      `echo ${nth(1, 2)} > keys/pool.owner\n`,
    ],
    ['cat > keys/activation.owner\n', `echo ${nth(2, 2)} > keys/activation.owner\n`],
    ['cat > keys/refund.owner\n', `echo ${nth(3, 2)} > keys/refund.owner\n`],
    ['createdb --encoding UTF8 --template template0 penstock\n', ''],
    ['postgres://localhost/penstock', `'${database_url}'`],
    [
      'npm run -s serve -- --node-url $NODE --data-dir keys/data\n',
      `${serve}${wait('grep -q "^Penstock serves" serve.log')}\n` +
        `${wait("penstock-admin pool show | grep -q '^  energy  *[1-9]'")}\n`,
    ],
    ['npm run -s build -w penstock-cli\n', ''],
    ['PENSTOCK_URL=http://127.0.0.1:8080', `PENSTOCK_URL=${api}`],
    ['penstock-admin deposits list\n', `${wait('penstock-admin deposits list | grep credited')}\n`],
    ['packages/cli/dist/', `${folder}/cli/`],
    ['SAFE=T…', `SAFE=${nth(6, 1)}`],
    [
      'penstock-admin treasury list\n',
      `${mine}${wait(`penstock-admin treasury list --json | grep -q '"made": *0'`)}\n` +
        'penstock-admin treasury list\n',
    ],
    ['WITNESS=T… OTHER=T…', `WITNESS=${witness(0)} OTHER=${witness(1)}`],
    [
      'penstock-admin votes show\n',
      // Restarted, as the page says, with the file that has the key.
      `kill $SERVE; wait $SERVE || true\n${serve}` +
        `${wait("penstock-admin attempts list | grep vote: | grep -q 'included\\|solid'")}\n` +
        mine +
        `${wait(`penstock-admin votes show --json | grep -q '"count"'`)}\n` +
        'penstock-admin votes show\n',
    ],
  ]
  const blocks = pages.flatMap((page) =>
    [...page.matchAll(/```sh\n(.*?)```/gs)].map(([, block]) => block!),
  )
  return replaced.reduce(
    (program, [printed, run]) => {
      assert.ok(program.includes(printed), `a page has ${printed}`)
      return program.replace(printed, () => run)
    },
    `set -eu\n${blocks.join('\n')}`,
  )
}

test('the first hour goes as it is printed, and then collecting, staking and voting', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-hour-'))
  const { url, name } = await createDatabase()
  t.after(async () => {
    await dropDatabase(name)
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  })
  await buildPackage(join(folder, 'cli'))
  await writeFile(join(folder, 'hour.sh'), await programOf(folder, url))
  const { PATH = '', NODE_COMPILE_CACHE = join(folder, 'compiled') } = process.env
  const env = { PATH, NODE_COMPILE_CACHE, HOME: folder }
  const shell = spawn('bash', ['hour.sh'], { cwd: folder, env })
  let output = ''
  for (const stream of [shell.stdout, shell.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const code = await new Promise((resolve) => shell.once('close', resolve))
  assert.equal(code, 0, output)
  assert.equal(output.match(/^permission id +3$/gm)?.length, 3, 'it is usually 3')
  assert.match(output, /^permission id +4$/m)
  assert.match(output, /gets \S+ TRX from 1 address/)
  assert.match(output, /^- \w+ stakes 1000 TRX for energy/m)
  assert.match(output, /^- \w+ begins to take 100 TRX back/m)
  assert.match(output, /Each key can do what it is for, and nothing else/)
  assert.match(output, /^status +success$/m)
  assert.match(output, /^C1 +holds/m)
  assert.doesNotMatch(output, /^C\d+ +broken/m)
  assert.doesNotMatch(output, /pool_low/)
  const log = await readFile(join(folder, 'serve.log'), 'utf8')
  assert.doesNotMatch(log, /node_outdated|pss_|crashed/)
})
