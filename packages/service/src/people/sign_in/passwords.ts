// Passwords, by scrypt of Node itself. A hash names its parameters, so that they can grow: a
// password whose hash is older is hashed anew when it is used. Each takes 128 MiB for a while, so
// few are worked on at once, and those who would wait too long are sent away.
//
// Strangers share the places of what their provider may give them (a /16 or a /48); browsers and
// networks that have signed in before, and people who have a link or are signed in, have places of
// their own. A name that nobody has costs no hash: its answer waits for its turn and then as long
// as a hash took lately, so that no number of made-up names keeps anybody from signing in.
//
// What that leaves to see: hashes of names that exist are in each other's way, and waits are in
// nobody's. Who fills all places from several networks at once with one name sees by a try of
// another whether it waits; five such tries at a name are free in a day, and then it has to wait.

import { scrypt, timingSafeEqual } from 'node:crypto'
import { setTimeout as delay, setImmediate as turnOfLoop } from 'node:timers/promises'
import { promisify } from 'node:util'
import { TooManyRequests } from '../../lib/fault.ts'
import type { Random } from '../../lib/ids.ts'
import { Turns } from '../../platform/limits/turns.ts'
import { InvalidParams } from '../../platform/wire/endpoint.ts'
import { isSoonGuessed } from './guessing.ts'

/** N is 2 to the power of `cost`. */
type Parameters = { cost: number; block: number; parallel: number }

const PARAMETERS: Parameters = { cost: 17, block: 8, parallel: 1 }
const SALT_BYTES = 16
const HASH_BYTES = 32
/** Compared in the place of one that was not worked out. */
const NO_HASH = Buffer.alloc(HASH_BYTES)
/** Of strangers: worked on at once in all, and waiting; and of those who share places. */
const STRANGERS = { running_max: 2, lane_waiting_max: 4, waiting_max: 32 }
/** Of those who are known. */
const KNOWN = { running_max: 1, lane_waiting_max: 2, waiting_max: 32 }
const LANE_AT_ONCE_MAX = 1
/** How many of the last hashes say how long one takes, and for how long they say it. */
const TIMES_MAX = 8
const TIMES_FRESH_MS = 10_000
/** A timer may be late by that; what is left is waited out exactly. */
const TIMER_MS = 2
export const PASSWORD_LENGTH = { minLength: 12, maxLength: 256 }

const derive = promisify<string, Uint8Array, number, object, Buffer>(scrypt)

/** Who waits for a hash: those of one name do so one after another. */
export type Lane = { name: string; is_known: boolean }

export type Passwords = {
  /** Throws TooManyRequests. */
  hash(password: string, lane: Lane): Promise<string>
  /** Whether it is the password of the hash; undefined: of nobody, which takes as long. */
  check(password: string, hash: string | undefined, lane: Lane): Promise<boolean>
  /** Whether a hash was made with other parameters than now. */
  isOld(hash: string): boolean
  /** How many were worked out. */
  readonly count: number
}

type NowMs = () => number

/** How long the last hashes took. */
class HashTimes {
  private readonly times_ms: number[] = []
  private last_ms = Number.NEGATIVE_INFINITY
  private readonly nowMs: NowMs

  constructor(nowMs: NowMs) {
    this.nowMs = nowMs
  }

  add(took_ms: number): void {
    this.last_ms = this.nowMs()
    this.times_ms.push(took_ms)
    if (this.times_ms.length > TIMES_MAX) this.times_ms.shift()
  }

  /** Any of them; undefined when that is too long ago to say anything of now. */
  any(random: Random): number | undefined {
    if (this.nowMs() - this.last_ms > TIMES_FRESH_MS) return undefined
    return this.times_ms[random.bytes(1)[0]! % this.times_ms.length]
  }
}

async function waitExactly(ms: number): Promise<void> {
  const until_ms = performance.now() + ms
  if (ms > TIMER_MS) await delay(ms - TIMER_MS)
  while (performance.now() < until_ms) await turnOfLoop()
}

/** `nowMs`: of a clock that never goes back. */
export function passwordHasher(
  random: Random,
  cost = PARAMETERS.cost,
  nowMs: NowMs = () => performance.now(),
): Passwords {
  const parameters = { ...PARAMETERS, cost }
  const [strangers, known] = [new Turns(STRANGERS), new Turns(KNOWN)]
  const times = new HashTimes(nowMs)
  let count = 0

  /** Works when it is the turn of a lane. `room`: of that which all lanes share. */
  async function inTurn<T>({ name, is_known }: Lane, room: 0 | 1, work: () => Promise<T>) {
    const turns = is_known ? known : strangers
    const turn = turns.begin(name, LANE_AT_ONCE_MAX, room)
    if (typeof turn === 'string') throw new TooManyRequests(2)
    if (turn) await turn
    return work().finally(() => turns.end(name, room))
  }

  const work = (password: string, salt: Uint8Array, { by, lane }: { by: Parameters; lane: Lane }) =>
    inTurn(lane, 1, async () => {
      count += 1
      const began_ms = performance.now()
      const options = { N: 2 ** by.cost, r: by.block, p: by.parallel, maxmem: 256 * 1024 * 1024 }
      // One text, however it was typed.
      const made = await derive(password.normalize('NFKC'), salt, HASH_BYTES, options)
      times.add(performance.now() - began_ms)
      return made
    })

  const print = ({ cost, block, parallel }: Parameters, salt: Uint8Array, made: Uint8Array) =>
    ['scrypt', cost, block, parallel, encode(salt), encode(made)].join('$')
  const nobodys = print(parameters, new Uint8Array(SALT_BYTES), new Uint8Array(HASH_BYTES))

  return {
    async hash(password, lane) {
      const salt = random.bytes(SALT_BYTES)
      return print(parameters, salt, await work(password, salt, { by: parameters, lane }))
    },
    async check(password, hash = nobodys, lane) {
      const [, cost, block, parallel, salt = '', made = ''] = hash.split('$')
      const by = { cost: Number(cost), block: Number(block), parallel: Number(parallel) }
      const salt_bytes = Buffer.from(salt, 'base64url')
      const as_long_ms = hash === nobodys ? times.any(random) : undefined
      // All but the hash is done where there is none, too.
      const found =
        as_long_ms === undefined
          ? await work(password, salt_bytes, { by, lane })
          : await inTurn(lane, 0, () => waitExactly(as_long_ms).then(() => NO_HASH))
      return timingSafeEqual(found, Buffer.from(made, 'base64url')) && hash !== nobodys
    },
    isOld: (hash) =>
      !hash.startsWith(print(parameters, new Uint8Array(0), new Uint8Array(0)).slice(0, -1)),
    get count() {
      return count
    },
  }
}

const encode = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url')

/** A name that is shorter is in too many passwords. */
const PART_LENGTH_MIN = 3

/** Throws 2 for a password that says who its user is, or where it is for, or is soon guessed. */
export async function requireGoodPassword(
  password: string,
  { sign_in_name, brand }: { sign_in_name: string; brand: string },
): Promise<void> {
  const lower = password.toLowerCase()
  const part = [sign_in_name, brand, 'penstock']
    .filter(({ length }) => length >= PART_LENGTH_MIN)
    .find((one) => lower.includes(one.toLowerCase()))
  if (part !== undefined)
    throw InvalidParams('password', `The password must not contain ${part}`).because(
      'choose another',
      'password',
    )
  if (await isSoonGuessed(password, [sign_in_name, brand, 'penstock', 'tron', 'energy']))
    throw InvalidParams('password', 'The password is among the first that are guessed').because(
      'choose one that is neither common, nor repeats or runs on',
      'password',
    )
}
