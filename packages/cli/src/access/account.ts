// Who calls: the profiles there are, and which is used.

import { type Command, field } from '../line/command.ts'
import { Refusal } from '../line/errors.ts'
import type { Profile } from '../line/profiles.ts'
import { LOGIN } from './login.ts'

const NAME = field('name', 'of the profile', { needed: true })

export const ACCOUNT: readonly Command[] = [
  LOGIN,
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
