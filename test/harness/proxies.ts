// `npx node test/harness/proxies.ts --with nginx|caddy [--seconds 20]`: tries the file in deploy/
// with the program that is installed here, on loopback, in front of two API processes under signed
// load. One is killed, then each is restarted in turn; what went wrong is printed as JSON. A
// process that ends may take with it the calls that are on the wire to it, and no others.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { Agent, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { signature } from 'penstock-service/platform/wire/signature.ts'
import { ROOT } from '../../tools/source.ts'
import { type Access, type Member, Rig } from '../torture/rig.ts'

const FRONT = 18_443
const BACKS = [18_081, 18_082] as const
const CALLERS = 16

/** The configuration of deploy/ with ports of ours in the place of its own. */
async function configured(
  program: string,
  folder: string,
): Promise<{ file: string; args: string[] }> {
  const certificate = [
    '-keyout',
    join(folder, 'key.pem'),
    '-out',
    join(folder, 'cert.pem'),
    '-subj',
    '/CN=localhost',
  ]
  execFileSync(
    'openssl',
    ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', ...certificate],
    {
      stdio: 'ignore',
    },
  )
  const name = program === 'nginx' ? 'nginx.conf' : 'Caddyfile'
  const file = join(folder, name)
  const given = await readFile(`${ROOT}deploy/${name}`, 'utf8')
  const ported = given
    .replaceAll('127.0.0.1:8081', `127.0.0.1:${BACKS[0]}`)
    .replaceAll('127.0.0.1:8082', `127.0.0.1:${BACKS[1]}`)
  if (program === 'nginx') {
    const own = ported
      .replace('listen 80;', `listen 127.0.0.1:${FRONT + 1};`)
      .replace('listen 443 ssl', `listen 127.0.0.1:${FRONT} ssl`)
      .replace('/etc/ssl/penstock/fullchain.pem', join(folder, 'cert.pem'))
      .replace('/etc/ssl/penstock/privkey.pem', join(folder, 'key.pem'))
    await writeFile(
      file,
      `pid ${folder}/nginx.pid;\nerror_log ${folder}/error.log;\ndaemon off;\n${own}`,
    )
    return { file, args: ['-c', file, '-p', folder] }
  }
  const tls = `tls ${join(folder, 'cert.pem')} ${join(folder, 'key.pem')}`
  const own = ported
    .replace('admin off', 'admin off\n\tauto_https disable_redirects')
    .replace('api.example.com {', `https://localhost:${FRONT} {\n\tbind 127.0.0.1\n\t${tls}`)
  await writeFile(file, own)
  return { file, args: ['run', '--config', file, '--adapter', 'caddyfile'] }
}

/** One signed call through the proxy: what came back, or why nothing did. */
function call(agent: Agent, { token, secret }: Access): Promise<string> {
  const body = '{}'
  const signed = {
    authorization: `Bearer ${token}`,
    'x-signature': signature(Buffer.from(body), secret),
  }
  const headers = { ...signed, host: `localhost:${FRONT}` }
  const options = {
    host: '127.0.0.1',
    servername: 'localhost',
    port: FRONT,
    path: '/v1/balance',
    method: 'POST',
    agent,
    headers,
  }
  return new Promise((resolve) => {
    const sent = request({ ...options, rejectUnauthorized: false }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part
      })
      response.on('end', () =>
        resolve(response.statusCode === 200 ? codeOf(text) : `HTTP ${response.statusCode}`),
      )
    })
    sent.on('error', (thrown: NodeJS.ErrnoException) => resolve(thrown.code ?? thrown.message))
    sent.end(body)
  })
}

const codeOf = (text: string) => (text.includes('"code":0') ? 'ok' : `answer ${text.slice(0, 60)}`)

/** Calls all the time; says what came back since it was last asked. */
function load(access: Access) {
  const agent = new Agent({ keepAlive: true, maxSockets: CALLERS })
  let counts: Record<string, number> = {}
  let going = true
  const callers = Array.from({ length: CALLERS }, async () => {
    while (going) {
      const outcome = await call(agent, access)
      counts[outcome] = (counts[outcome] ?? 0) + 1
    }
  })
  return {
    take() {
      const taken = counts
      counts = {}
      return taken
    },
    async stop() {
      going = false
      await Promise.all(callers)
      agent.destroy()
    },
  }
}

async function phases(rig: Rig, members: Member[], seconds: number) {
  const calls = load(rig.customers[0]!)
  const start = (i: number) => rig.start('api', ['--port', String(BACKS[i])])
  await delay(1_000)
  const quiet = calls.take()
  members[0]!.child.kill('SIGKILL')
  await members[0]!.ended
  await delay(seconds * 250)
  const killed = calls.take()
  members[0] = await start(0)
  await delay(6_000)
  calls.take()
  for (const i of [0, 1]) {
    members[i]!.child.kill('SIGTERM')
    await members[i]!.ended
    members[i] = await start(i)
    await delay(6_000)
  }
  const restarted = calls.take()
  await calls.stop()
  return { quiet, killed, restarted }
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { with: { type: 'string' }, seconds: { type: 'string', default: '20' } },
  })
  const program = values.with
  if (program !== 'nginx' && program !== 'caddy') throw new Error('--with nginx or --with caddy')
  const folder = await mkdtemp(join(tmpdir(), 'penstock-proxy-'))
  let proxy: ChildProcess | undefined
  const rig = await Rig.open()
  try {
    const members = []
    for (const port of BACKS) members.push(await rig.start('api', ['--port', String(port)]))
    const { args } = await configured(program, folder)
    proxy = spawn(program, args, {
      stdio: 'ignore',
      env: { ...process.env, HOME: folder, XDG_DATA_HOME: folder },
    })
    await delay(1_500)
    const result = await phases(rig, members, Number(values.seconds))
    const failed = ({ ok: _, ...others }: Record<string, number>) =>
      Object.values(others).reduce((sum, n) => sum + n, 0)
    // A process that ends can take with it what is on the wire to it, and no more.
    const ok =
      (result.quiet.ok ?? 0) > 0 &&
      failed(result.quiet) === 0 &&
      failed(result.killed) <= CALLERS &&
      failed(result.restarted) <= CALLERS
    process.stdout.write(`${JSON.stringify({ ok, with: program, callers: CALLERS, ...result })}\n`)
    process.exitCode = ok ? 0 : 1
  } finally {
    proxy?.kill('SIGTERM')
    await rig.close()
    await rm(folder, { recursive: true, force: true })
  }
}

await main()
