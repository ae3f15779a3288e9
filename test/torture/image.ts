// `npm run torture -- image`: deploy/image/build.sh makes the image twice, with equal digests and
// not too large; then a container of it, without any right and with a root that cannot be written,
// sells on a development chain beside it. Where a program is missing it is said to be not run.

import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { readArguments } from '../../tools/arguments.ts'
import { ROOT } from '../../tools/source.ts'
import { without } from '../harness/programs.ts'
import { Buyers } from './buyers.ts'
import { Rig } from './rig.ts'

const say = (line: string) => process.stdout.write(`${line}\n`)
const run_program = promisify(execFile)

const TAG = 'localhost/penstock:torture'
const MEGABYTES_MAX = 70
/** Of the user in the image. */
const UID = '65532'
const PEOPLE = 2
const PAUSE_MS = 200
const BLOCK_MS = 200
const SELLING_MS = 10_000

/** What the image says of itself from inside: its user, and whether its root can be written. */
const INSIDE = `
  let error = 'none'
  try { require('node:fs').writeFileSync('/app/x', '') } catch (thrown) { error = thrown.code }
  console.log(process.getuid(), error, require('node:fs').existsSync('/bin/sh'))`

type Build = { digest: string; megabytes: number }

async function build(folder: string): Promise<Build> {
  const script = join(ROOT, 'deploy/image/build.sh')
  await run_program(script, ['--tag', TAG, '--to', folder], { maxBuffer: 2 ** 26 })
  type Index = { manifests: { digest: string }[] }
  const index = JSON.parse(await readFile(join(folder, 'index.json'), 'utf8')) as Index
  const blobs = join(folder, 'blobs/sha256')
  const sizes = await Promise.all(
    (await readdir(blobs)).map(async (name) => (await stat(join(blobs, name))).size),
  )
  const bytes = sizes.reduce((sum, size) => sum + size, 0)
  return { digest: index.manifests[0]!.digest, megabytes: Math.ceil(bytes / 1e6) }
}

async function lookInside(): Promise<string> {
  const entry = JSON.stringify(['/usr/bin/node', '-e', INSIDE])
  const global = ['--runtime=runc', '--cgroup-manager=cgroupfs']
  const rights = ['--read-only', '--cap-drop=all', '--network=none']
  const limits = ['--ulimit=nofile=1024:1024', '--ulimit=nproc=1024:1024']
  const args = [...global, 'run', '--rm', ...rights, ...limits, `--entrypoint=${entry}`, TAG]
  return (await run_program('podman', args)).stdout.trim()
}

/** Orders that a container has sold and delivered, and findings. */
async function sell(): Promise<{ orders: number; lost: number; findings: string[] }> {
  const rig = await Rig.open()
  try {
    await run_program('chown', ['-R', `${UID}:${UID}`, rig.folder])
    const member = await rig.start('all', [], { image: TAG })
    await rig.fund()
    rig.keepMining(BLOCK_MS)
    const buyers = new Buyers(rig)
    buyers.begin(PEOPLE, PAUSE_MS)
    await delay(SELLING_MS)
    await buyers.endWhenSoldTo()
    const found = [...(await rig.lookAtRest()), ...buyers.contradictions]
    const lost = await buyers.lostAtRest()
    const code = await member.kill('SIGTERM')
    if (code !== 0) found.push(`it ended with ${code}: ${member.said.slice(-300)}`)
    return { orders: buyers.accepted.size, lost, findings: found }
  } finally {
    await rig.close()
  }
}

export async function run(args: string[]): Promise<boolean> {
  const { json } = readArguments(args, { numbers: {}, texts: [] })
  process.env.STORAGE_DRIVER ??= 'vfs'
  const why = without(['buildah', 'podman', 'runc', 'apt-get', 'dpkg-deb'], 'packages of Debian')
  if (why !== false) {
    say(json ? JSON.stringify({ not_run: why }) : why)
    return true
  }
  const folder = await mkdtemp(join(tmpdir(), 'penstock-image-'))
  try {
    const first = await build(join(folder, 'first'))
    const second = await build(join(folder, 'second'))
    const inside = await lookInside()
    const sold = await sell()
    const result = { ...first, second_digest: second.digest, inside, ...sold }
    say(JSON.stringify(result, null, json ? 0 : 2))
    return (
      first.digest === second.digest &&
      first.megabytes <= MEGABYTES_MAX &&
      inside === `${UID} EROFS false` &&
      sold.orders > 0 &&
      sold.lost + sold.findings.length === 0
    )
  } finally {
    await rm(folder, { recursive: true })
  }
}
