// Who calls: profiles, and how a key gets into one.

import { NotSupported, Penstock } from 'penstock-sdk'
import { type Command, field } from '../line/command.ts'
import { Misuse, Refusal } from '../line/errors.ts'
import type { Io } from '../line/io.ts'
import { isProfileName, type Profile } from '../line/profiles.ts'
import { readSandbox } from '../sandbox/sandbox.ts'

const URL_USUAL = 'http://127.0.0.1:8080'

const login: Command = {
  words: 'login',
  summary: 'Keep a key in a profile, and use it',
  own: [
    field('url', `of the service; ${URL_USUAL} when left out`),
    field('with_key', 'read the token and the secret: asked, or two lines of standard input', {
      type: 'yes',
    }),
    field('sandbox', 'take the key of the `npm start` whose data folder this is'),
  ],
  async run({ own, io, profiles }) {
    const { url, with_key, sandbox, profile } = own as Record<string, string | undefined>
    const name = profile ?? (sandbox === undefined ? 'default' : 'sandbox')
    if (!isProfileName(name)) throw new Misuse('A profile is 1 to 64 of A-Z a-z 0-9 . _ -')
    if ((sandbox === undefined) === (with_key === undefined))
      throw new Misuse('login --with-key, or login --sandbox DIR.')
    const kept = sandbox === undefined ? await withKey(url, io) : await ofSandbox(sandbox)
    const whose = await ownerOf(kept, io.signal)
    await profiles.change((all) => {
      all.profiles[name] = kept
      all.current = name
    })
    const value = { profile: name, url: kept.url, ...whose }
    return { value }
  },
}

async function ofSandbox(folder: string): Promise<Profile> {
  const { api_url, customer } = await readSandbox(folder)
  return { url: api_url, token: customer.token, secret: customer.secret, sandbox: folder }
}

async function withKey(url = URL_USUAL, { ask, input }: Io): Promise<Profile> {
  const typed = ask
    ? [await ask('Token: ', true), await ask('Secret: ', true)]
    : (await input()).split(/\r?\n/)
  const [token = '', secret = ''] = typed.map((one) => one.trim())
  if (token === '' || secret === '') throw new Misuse('The token and the secret are two lines.')
  if (!/^https?:\/\/[^/]/.test(url)) throw new Misuse(`--url ${url} is no address.`)
  return { url, token, secret }
}

/** Whose key it is. Throws when it is nobody's. */
async function ownerOf({ url, token, secret }: Profile, signal: AbortSignal) {
  const penstock = new Penstock({ url, token, secret })
  try {
    const { customer, key } = await penstock.whoami({ signal })
    return { customer: customer.name, key: key.name, scopes: key.scopes }
  } catch (thrown) {
    if (!(thrown instanceof NotSupported)) throw thrown
    // Another server of this wire.
    await penstock.balance.get({ signal })
    return {}
  }
}

const NAME = field('name', 'of the profile', { needed: true })

export const ACCOUNT: readonly Command[] = [
  login,
  {
    words: 'logout',
    summary: 'Forget the profile in use, or --profile; its key stays valid until it is revoked',
    async run({ own, profiles }) {
      const name = (own.profile as string | undefined) ?? (await profiles.read()).current
      return { value: { removed: await remove(name, (edit) => profiles.change(edit)) } }
    },
  },
  {
    words: 'profiles list',
    summary: 'The profiles there are',
    async run({ profiles }) {
      const { current, profiles: all } = await profiles.read()
      const rows = Object.entries(all).map(([name, { url, sandbox = null }]) => ({
        name,
        url,
        in_use: name === current,
        sandbox,
      }))
      return { rows }
    },
  },
  {
    words: 'profiles use',
    summary: 'Use a profile from now on',
    operands: ['name'],
    own: [NAME],
    async run({ own, profiles }) {
      const name = String(own.name)
      await profiles.change((all) => {
        requireProfile(all.profiles, name)
        all.current = name
      })
      return { value: { in_use: name } }
    },
  },
  {
    words: 'profiles remove',
    summary: 'Forget a profile',
    operands: ['name'],
    own: [NAME],
    async run({ own, profiles }) {
      return { value: { removed: await remove(String(own.name), (edit) => profiles.change(edit)) } }
    },
  },
]

type ProfileFile = { current: string | null; profiles: Record<string, Profile> }

async function remove(
  name: string | null,
  change: (edit: (all: ProfileFile) => void) => Promise<void>,
): Promise<string> {
  if (name === null) throw new Refusal('There is no profile in use.')
  await change((all) => {
    requireProfile(all.profiles, name)
    delete all.profiles[name]
    if (all.current === name) all.current = null
  })
  return name
}

function requireProfile(all: ProfileFile['profiles'], name: string): void {
  if (!Object.hasOwn(all, name)) throw new Refusal(`There is no profile ${name}.`)
}
