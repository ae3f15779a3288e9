// All that a copy of a database has: its rows as a dump prints them, and the bytes of its files and
// of its log, as they lie in a backup. What is deleted or only updated is in those for a while.

import pg from 'pg'

type Copy = { files(): Promise<Map<string, Buffer>>; rows(): Promise<Map<string, string>> }

async function asOwner<Answer>(url: string, ask: (client: pg.Client) => Promise<Answer>) {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return await ask(client)
  } finally {
    await client.end()
  }
}

/** Every row of every table, by the table. */
const rowsOf = (client: pg.Client) => async (): Promise<Map<string, string>> => {
  const { rows: tables } = await client.query<{ name: string }>(`
    select format('%I.%I', n.nspname, c.relname) as name
    from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
    where c.relkind = 'r' and n.nspname not in ('pg_catalog', 'information_schema')
      and c.relpersistence <> 't'`)
  const found = new Map<string, string>()
  for (const { name } of tables) {
    const { rows } = await client.query<{ row: string }>(`select t::text as row from ${name} as t`)
    found.set(name.replace(/^public\./, ''), rows.map(({ row }) => row).join('\n'))
  }
  return found
}

type Piece = { name: string; bytes: Buffer }

async function filesSince(client: pg.Client, begun_at: string): Promise<Map<string, Buffer>> {
  await client.query('checkpoint')
  const { rows: files } = await client.query<Piece>(`
    select folder || '/' || file as name, pg_read_binary_file(folder || '/' || file) as bytes
    from (select 'base/' || oid as folder from pg_database where datname = current_database()) as d,
      pg_ls_dir(folder) as file`)
  // Segments that were written since then; those made ahead come later in the order of names.
  const { rows: logs } = await client.query<Piece>(
    `select name, pg_read_binary_file('pg_wal/' || name) as bytes from pg_ls_waldir()
     where name between pg_walfile_name($1::pg_lsn) and pg_walfile_name(pg_current_wal_lsn())`,
    [begun_at],
  )
  return new Map([...files, ...logs].map(({ name, bytes }) => [name, bytes]))
}

/** Notes where the log is now: a copy that is taken later has it from there on. */
export async function copyFromNow(url: string): Promise<Copy> {
  const begun_at = await asOwner(url, async (client) => {
    const { rows } = await client.query<{ at: string }>('select pg_current_wal_lsn()::text as at')
    return rows[0]!.at
  })
  return {
    rows: () => asOwner(url, (client) => rowsOf(client)()),
    files: () => asOwner(url, (client) => filesSince(client, begun_at)),
  }
}
