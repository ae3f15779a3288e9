// A copy of a whole running server, as the server itself sends it over a connection for
// replication: no program but the server is needed, nor a way to its folder. What comes is what
// pg_basebackup writes: a tar of the data folder with the log that makes it consistent, and a
// manifest with the sum of every file. The copy is as of its end.

import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import pg from 'pg'
import { Misuse, refusal } from '../../lib/fault.ts'
import { cutOff, Hosts, openClient, socketOf } from '../../platform/database/hosts.ts'

export const ARCHIVE = 'base.tar.gz'
export const MANIFEST = 'backup_manifest'

export type BaseBackup = {
  /** As of when it is, by the server's clock: its end. */
  made_at: Date
  user: string
  database: string
  server_version: string
  system_identifier: string
  timeline: number
  /** Of what the server sent, in bytes. */
  data_bytes: number
  archive_bytes: number
  archive_sha256: string
  manifest_sha256: string
}

/** A manifest is a line for each file: far more than a server has. */
const MANIFEST_BYTES_MAX = 1 << 28
/** The archive is written once and read seldom; what is sent must not wait for it. */
const GZIP_LEVEL = 1

/** Copies the server that the address leads to into the folder. `tell`: how many bytes have come,
 *  of about how many. Throws Misuse when the role may not, or the server has tablespaces. */
export async function takeBaseBackup(
  url: string,
  folder: string,
  tell: (done: number, whole: number) => void,
): Promise<BaseBackup> {
  const client = await openReplication(url)
  try {
    const about = await describeServer(client)
    await requireOneFolder(client)
    const copied = await copyServer(client, { folder, whole: about.bytes, tell })
    const { bytes: _, ...server } = about
    const { rows } = await client.query<{ made_at: Date }>('select clock_timestamp() as made_at')
    return { made_at: rows[0]!.made_at, ...server, ...copied }
  } finally {
    cutOff(client)
  }
}

/** A connection that takes both SQL and the commands of replication. */
async function openReplication(url: string): Promise<pg.Client> {
  const config = { replication: 'database', options: '-c statement_timeout=0' }
  return openClient(Hosts.of(url), config as pg.ClientConfig).catch((thrown: Error) => {
    if (thrown instanceof pg.DatabaseError && thrown.code === '42501')
      throw new Misuse(
        'A backup needs a role with the attribute REPLICATION: alter role NAME replication.',
      )
    throw thrown
  })
}

type Server = Pick<
  BaseBackup,
  'user' | 'database' | 'server_version' | 'system_identifier' | 'timeline'
> & { bytes: number }

async function describeServer(client: pg.Client): Promise<Server> {
  const { rows } = await client.query<Server>(
    `select current_user::text as user, current_database()::text as database,
       current_setting('server_version') as server_version,
       (select system_identifier::text from pg_control_system()) as system_identifier,
       (select timeline_id from pg_control_checkpoint()) as timeline,
       (select sum(pg_database_size(oid))::float8 from pg_database) as bytes`,
  )
  return rows[0]!
}

async function requireOneFolder(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ spcname: string }>(
    `select spcname from pg_tablespace where spcname not in ('pg_default', 'pg_global')`,
  )
  if (rows[0])
    throw new Misuse(
      `The server has the tablespace ${rows[0].spcname}, which is not copied: use pgBackRest.`,
    )
}

type CopyInput = {
  folder: string
  whole: number
  tell: (done: number, whole: number) => void
}

type CopySums = Pick<
  BaseBackup,
  'data_bytes' | 'archive_bytes' | 'archive_sha256' | 'manifest_sha256'
>

async function copyServer(
  client: pg.Client,
  { folder, whole, tell }: CopyInput,
): Promise<CopySums> {
  const manifest: Buffer[] = []
  let manifest_bytes = 0
  let data_bytes = 0
  let into: 'archive' | 'manifest' = 'archive'
  const socket = socketOf(client)
  const archive = archiveIn(join(folder, ARCHIVE), () => socket.resume())
  const take = (message: Buffer) => {
    const kind = String.fromCharCode(message[0]!)
    if (kind === 'm') into = 'manifest'
    if (kind !== 'd') return
    // The driver uses the memory of a message again.
    const bytes = Buffer.from(message.subarray(1))
    if (into === 'archive') {
      data_bytes += bytes.length
      tell(data_bytes, whole)
      if (!archive.write(bytes)) socket.pause()
      return
    }
    manifest_bytes += bytes.length
    if (manifest_bytes > MANIFEST_BYTES_MAX) throw new Error('the manifest does not end')
    manifest.push(bytes)
  }
  await Promise.race([ask(client, take), archive.failed])
  const { bytes: archive_bytes, sha256: archive_sha256 } = await archive.end()
  const text = Buffer.concat(manifest)
  if (text.length === 0) throw refusal('The server has sent no manifest: the copy is not whole.')
  await writeFile(join(folder, MANIFEST), text, { mode: 0o600, flush: true })
  const manifest_sha256 = createHash('sha256').update(text).digest('hex')
  return { data_bytes, archive_bytes, archive_sha256, manifest_sha256 }
}

const COMMAND =
  `BASE_BACKUP (LABEL 'penstock', CHECKPOINT 'fast', WAL true, MANIFEST 'yes', ` +
  `MANIFEST_CHECKSUMS 'SHA256')`

/** Sends the command, and hands on what comes. Resolves when the server has sent all of it. */
function ask(client: pg.Client, take: (message: Buffer) => void): Promise<void> {
  class CopyQuery extends pg.Query {
    /** Called by the driver. */
    handleCopyData({ chunk }: { chunk: Buffer }): void {
      take(chunk)
    }
  }
  return new Promise((resolve, reject) => {
    const query = client.query(new CopyQuery(COMMAND))
    query.once('end', () => resolve())
    query.once('error', reject)
    client.once('end', () => reject(refusal('The connection ended before the copy was whole.')))
  })
}

type Archive = {
  /** False: no more until `drained` is called. */
  write(bytes: Buffer): boolean
  /** Rejects when the file cannot be written. */
  failed: Promise<never>
  /** On disk when it resolves. */
  end(): Promise<{ bytes: number; sha256: string }>
}

function archiveIn(file: string, drained: () => void): Archive {
  const zip = createGzip({ level: GZIP_LEVEL }).on('drain', drained)
  const sum = createHash('sha256')
  let bytes = 0
  const written = pipeline(
    zip,
    async function* (packed: AsyncIterable<Buffer>) {
      for await (const chunk of packed) {
        sum.update(chunk)
        bytes += chunk.length
        yield chunk
      }
    },
    createWriteStream(file, { mode: 0o600, flags: 'wx' }),
  )
  const failed = new Promise<never>((_, reject) => {
    written.catch((thrown: NodeJS.ErrnoException) =>
      reject(refusal(`${file} cannot be written: ${thrown.code ?? thrown.message}.`)),
    )
  })
  failed.catch(() => {})
  return {
    write: (chunk) => zip.write(chunk),
    failed,
    async end() {
      zip.end()
      await Promise.race([written, failed])
      const handle = await open(file)
      await handle.sync()
      await handle.close()
      return { bytes, sha256: sum.digest('hex') }
    },
  }
}
