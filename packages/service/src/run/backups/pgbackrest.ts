// What pgBackRest says of its repository. It runs where the operator runs it; this program makes no
// backup with it and restores none, but knows whether there is one.

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { refusal } from '../../lib/fault.ts'

export type Repository = {
  /** The newest full backup; null: there is none. */
  newest: { id: string; made_at: Date; bytes: bigint } | null
  wrong: string[]
}

/** Asks pgBackRest. Throws Refused when it is not there or refuses. */
export async function askPgbackrest(stanza: string): Promise<Repository> {
  const args = ['info', '--output=json', `--stanza=${stanza}`]
  const { stdout } = await promisify(execFile)('pgbackrest', args).catch((thrown) => {
    if (thrown.code === 'ENOENT') throw refusal('pgbackrest is not installed on this machine.')
    throw refusal(`pgbackrest: ${String(thrown.stderr || thrown.stdout || thrown).trim()}`)
  })
  return readRepository(stdout, stanza)
}

type Info = {
  name?: string
  status?: { code?: number; message?: string }
  cipher?: string
  backup?: {
    label?: string
    type?: string
    error?: boolean | null
    timestamp?: { stop?: number }
    info?: { repository?: { size?: number } }
  }[]
}

/** Reads what `pgbackrest info --output=json` prints. Throws Refused. */
export function readRepository(json: string, stanza: string): Repository {
  const info = parsed(json).find(({ name }) => name === stanza)
  if (!info) throw refusal(`pgBackRest knows no stanza ${stanza}.`)
  const { status, cipher = 'none', backup = [] } = info
  const full = backup
    .filter(({ type }) => type === 'full')
    .sort((a, b) => (b.timestamp?.stop ?? 0) - (a.timestamp?.stop ?? 0))[0]
  const wrong = [
    ...(status?.code === 0 ? [] : [`the repository: ${status?.message ?? 'no status'}`]),
    ...(cipher === 'none' ? ['the repository is not encrypted'] : []),
    ...(full?.error ? [`${full.label} has errors`] : []),
  ]
  const newest = full && {
    id: full.label ?? '',
    made_at: new Date((full.timestamp?.stop ?? 0) * 1_000),
    bytes: BigInt(full.info?.repository?.size ?? 0),
  }
  return { newest: newest ?? null, wrong }
}

function parsed(json: string): Info[] {
  try {
    const value: unknown = JSON.parse(json)
    if (Array.isArray(value)) return value as Info[]
  } catch {}
  throw refusal('pgbackrest has printed what is no list.')
}
