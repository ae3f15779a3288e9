// A process is killed at exactly its n-th write, or the database's at exactly its n-th flush to
// disk, for n = 1, 2, 3, …: a sweep that goes through the crash points of a purchase in order,
// where killing at random leaves gaps. strace does the killing, attached to the process that runs
// already.

import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { Buyers } from './buyers.ts'
import { Rig, type Role } from './rig.ts'

const SWEEP: Record<'api' | 'worker', number> = { api: 24, worker: 60 }
const SERVER_SWEEP = 24
const POINT_MS_MAX = 2_500
/** So many people, and their pause: what makes many flushes. */
const BUSY = [8, 10] as const
/** Every process of the database counts its own flushes, so the later ones take a while. */
const SERVER_POINT_MS_MAX = 6_000
const BLOCK_MS = 150

type Result = { note: string; findings: string[] }

/** Attaches to the processes, so that the first of them, or of their later children, that makes its
 *  n-th call dies at it. Resolves when it is attached to all. */
async function killAt(
  pids: readonly number[],
  calls: string,
  n: number,
): Promise<{ stop(): Promise<void>; killed(): boolean }> {
  const inject = `inject=${calls}:signal=KILL:when=${n}`
  const those = pids.flatMap((pid) => ['-p', String(pid)])
  // It tells of a process that ends, whatever calls are left out.
  const tracer = spawn('strace', ['-f', ...those, '-e', `trace=${calls}`, '-e', inject], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  const ended = new Promise<void>((resolve) => tracer.once('close', () => resolve()))
  await new Promise<void>((resolve) => {
    tracer.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString('utf8')
      // One may have ended meanwhile.
      if ((said.match(/ attached|attach: /g)?.length ?? 0) >= pids.length) resolve()
    })
    tracer.once('exit', () => resolve())
  })
  // Not before it has let go of all: until then it may still kill.
  const stop = () => {
    tracer.kill('SIGINT')
    return ended
  }
  return { stop, killed: () => said.includes('killed by SIGKILL') }
}

/** What the server's process has started. Not itself: nobody would start that one again. */
async function childrenOf(pid: number): Promise<number[]> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return children.trim().split(' ').map(Number)
}

/** The n-th write of an API process, then of a worker, in the middle of purchases. */
export async function crashPoints(): Promise<Result> {
  return sweep(async (rig) => {
    let reached = 0
    for (const [role, points] of Object.entries(SWEEP) as [Role, number][]) {
      for (let n = 1; n <= points; n++) {
        const member = rig.members.find((one) => one.role === role)
        const pid = member?.child.pid
        if (!member || pid === undefined) throw new Error(`no ${role} is running`)
        const tracer = await killAt([pid], 'write,writev,sendto,sendmsg', n)
        const died = await Promise.race([member.ended.then(() => true), delay(POINT_MS_MAX, false)])
        await tracer.stop()
        if (!died) continue
        reached += 1
        await rig.start(role)
      }
    }
    return enough(reached, SWEEP.api + SWEEP.worker)
  })
}

/** Waits until every connection of ours that was cut off has been noticed, and the server answers.
 *  One whose recovery is killed ends for good. */
async function recovered({ sql }: Rig): Promise<void> {
  let answered = 0
  for (let tries = 0; tries < 200 && answered < 20; tries++) {
    await sql`select 1`.then(
      () => {
        answered += 1
      },
      () => delay(100),
    )
  }
}

/** The n-th flush of the database's log or data, by whichever of its processes it is; the server
 *  then recovers. */
export async function serverCrashPoints(): Promise<Result> {
  return sweep(
    async (rig) => {
      const [row] = await rig.sql<{
        file: string
      }>`select current_setting('data_directory') || '/postmaster.pid' as file`
      const pid = Number.parseInt(await readFile(row!.file, 'utf8'), 10)
      let reached = 0
      for (let n = 1; n <= SERVER_SWEEP; n++) {
        const tracer = await killAt(await childrenOf(pid), 'fdatasync,fsync', n)
        for (
          let waited_ms = 0;
          waited_ms < SERVER_POINT_MS_MAX && !tracer.killed();
          waited_ms += 20
        )
          await delay(20)
        await tracer.stop()
        if (tracer.killed()) reached += 1
        // The service finds it again.
        await delay(300)
        await recovered(rig)
      }
      return enough(reached, SERVER_SWEEP)
    },
    ...BUSY,
  )
}

/** How far a sweep came: what is traced is slow, and on a busy machine the later points are not
 *  reached in time. One that killed nothing has shown nothing. */
function enough(reached: number, points: number): string {
  if (reached === 0) throw new Error(`none of ${points} points was reached`)
  return `${reached} of ${points} points reached`
}

async function sweep(
  work: (rig: Rig) => Promise<string>,
  people = 2,
  pause_ms = 100,
): Promise<Result> {
  const rig = await Rig.open()
  try {
    await Promise.all((['api', 'worker'] as const).map((role) => rig.start(role)))
    await rig.fund()
    const buyers = new Buyers(rig)
    buyers.begin(people, pause_ms)
    rig.keepMining(BLOCK_MS)
    const note = await work(rig)
    const findings = await buyers.findingsAtRest()
    return { note: `${note}; ${buyers.accepted.size} orders`, findings }
  } finally {
    await rig.close()
  }
}
