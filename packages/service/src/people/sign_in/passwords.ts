// Passwords, by scrypt of Node itself. A hash names its parameters, so that they can grow: a
// password whose hash is older is hashed anew when it is used. Each takes 128 MiB for a while, so
// few are worked on at once, and those who would wait too long are sent away.

import { scrypt, timingSafeEqual } from 'node:crypto'
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
const AT_ONCE_MAX = 2
const WAITING_MAX = 32
export const PASSWORD_LENGTH = { minLength: 12, maxLength: 256 }

const derive = promisify<string, Uint8Array, number, object, Buffer>(scrypt)

export type Passwords = {
  /** Throws TooManyRequests. */
  hash(password: string): Promise<string>
  /** Whether it is the password of the hash; undefined: of nobody, which takes as long. */
  check(password: string, hash: string | undefined): Promise<boolean>
  /** Whether a hash was made with other parameters than now. */
  isOld(hash: string): boolean
  /** How many were worked out. */
  readonly count: number
}

export function passwordHasher(random: Random, cost = PARAMETERS.cost): Passwords {
  const parameters = { ...PARAMETERS, cost }
  const lane = 'scrypt'
  const turns = new Turns({
    running_max: AT_ONCE_MAX,
    lane_waiting_max: WAITING_MAX,
    waiting_max: WAITING_MAX,
  })
  let count = 0

  async function work(password: string, salt: Uint8Array, by: Parameters): Promise<Buffer> {
    const turn = turns.begin(lane, AT_ONCE_MAX)
    if (typeof turn === 'string') throw new TooManyRequests(2)
    if (turn) await turn
    count += 1
    const options = { N: 2 ** by.cost, r: by.block, p: by.parallel, maxmem: 256 * 1024 * 1024 }
    // One text, however it was typed.
    return derive(password.normalize('NFKC'), salt, HASH_BYTES, options).finally(() =>
      turns.end(lane),
    )
  }

  const print = ({ cost, block, parallel }: Parameters, salt: Uint8Array, made: Uint8Array) =>
    ['scrypt', cost, block, parallel, encode(salt), encode(made)].join('$')
  const nobodys = print(parameters, new Uint8Array(SALT_BYTES), new Uint8Array(HASH_BYTES))

  return {
    async hash(password) {
      const salt = random.bytes(SALT_BYTES)
      return print(parameters, salt, await work(password, salt, parameters))
    },
    async check(password, hash = nobodys) {
      const [, cost, block, parallel, salt = '', made = ''] = hash.split('$')
      const by = { cost: Number(cost), block: Number(block), parallel: Number(parallel) }
      const found = await work(password, Buffer.from(salt, 'base64url'), by)
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
