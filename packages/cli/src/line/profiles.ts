// Where keys are kept: a file that only its owner can read. Whose key signs: that of the profile
// that is named, of the environment, or of the profile in use.

import { chmod, mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { NotSignedIn, Refusal } from './errors.ts'
import type { Io } from './io.ts'

export type Access = {
  url: string
  token: string
  secret: string
  /** Where it is from, for people. */
  from: string
  /** The folder of the `npm start` that it belongs to. */
  sandbox?: string | undefined
}

export type Profile = Pick<Access, 'url' | 'token' | 'secret' | 'sandbox'>
type ProfileFile = { current: string | null; profiles: Record<string, Profile> }

// Not what objects have of themselves, as __proto__.
const NAME = /^(?!__)[A-Za-z0-9._-]{1,64}$/
const OTHERS = 0o077

export class Profiles {
  readonly #env: Io['env']
  readonly file: string

  constructor(env: Io['env']) {
    this.#env = env
    const config = env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config')
    this.file = join(config, 'penstock', 'profiles.json')
  }

  /** All that is kept. Throws NotSignedIn when others can read it, Refusal when it is broken. */
  async read(): Promise<ProfileFile> {
    const about = await stat(this.file).catch(({ code }: NodeJS.ErrnoException) => {
      // What only cannot be read now must not be written anew.
      if (code !== 'ENOENT') throw new Refusal(`${this.file} cannot be read: ${code}.`)
    })
    if (!about) return { current: null, profiles: {} }
    if (process.platform !== 'win32' && (about.mode & OTHERS) !== 0)
      throw new NotSignedIn(
        `Others can read ${this.file}, which has your secrets: chmod 600 it, and rotate the keys.`,
      )
    try {
      const { current, profiles } = JSON.parse(await readFile(this.file, 'utf8')) as ProfileFile
      if (typeof profiles === 'object' && profiles !== null) return { current, profiles }
    } catch {
      // Said below.
    }
    throw new Refusal(`${this.file} is broken: remove it, and log in again.`)
  }

  /** Changes what is kept, in one step. Throws as `read` does. */
  async change(edit: (kept: ProfileFile) => void): Promise<void> {
    const kept = await this.read()
    edit(kept)
    await mkdir(dirname(this.file), { recursive: true, mode: 0o700 })
    const beside = `${this.file}.${process.pid}`
    await writeFile(beside, `${JSON.stringify(kept, null, 2)}\n`, { mode: 0o600 })
    await chmod(beside, 0o600)
    await rename(beside, this.file)
  }

  /** What signs. Throws NotSignedIn when there is nothing. */
  async access(named: string | undefined): Promise<Access> {
    const { PENSTOCK_PROFILE, PENSTOCK_URL, PENSTOCK_TOKEN, PENSTOCK_SECRET } = this.#env
    const name = named ?? (PENSTOCK_PROFILE || undefined)
    if (name === undefined && PENSTOCK_URL && PENSTOCK_TOKEN && PENSTOCK_SECRET) {
      const given = { url: PENSTOCK_URL, token: PENSTOCK_TOKEN, secret: PENSTOCK_SECRET }
      return { ...given, from: 'the environment' }
    }
    // Who has set one of them does not mean the profile in use, which may pay with other money.
    if (name === undefined && (PENSTOCK_URL || PENSTOCK_TOKEN || PENSTOCK_SECRET))
      throw new NotSignedIn(
        'PENSTOCK_URL, PENSTOCK_TOKEN and PENSTOCK_SECRET belong together: set all, or none.',
      )
    const { current, profiles } = await this.read()
    const meant = name ?? current
    if (meant === null) throw new NotSignedIn('You are not signed in: penstock login.')
    const profile = Object.hasOwn(profiles, meant) ? profiles[meant] : undefined
    if (!profile) throw new NotSignedIn(`There is no profile ${meant}: penstock profiles list.`)
    return { ...profile, from: `the profile ${meant}` }
  }
}

export const isProfileName = (name: string): boolean => NAME.test(name)
