// The same orders by PostgreSQL's own pgbench, without a service: what the database alone reaches.

import { spawn } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Of each run. */
export const SECONDS = 2

export function findPgbench(): string | undefined {
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? readdirSync(debian).sort().reverse() : []
  const folders = [
    process.env.PG_BIN ?? '',
    ...versions.map((version) => `${debian}/${version}/bin`),
  ]
  folders.push(...(process.env.PATH ?? '').split(':'))
  return folders.map((folder) => join(folder, 'pgbench')).find((file) => existsSync(file))
}

/** The statements of placeTogether() in market/placing.ts without the rows of events, their rows
 *  made by the server: near to what the service sends, and not the same. Transactions a second. */
export async function pgbenchRun(
  { url, folder, customers }: { url: string; folder: string; customers: number },
  program: string,
  { hot, batch, clients }: { hot: boolean; batch: number; clients: number },
): Promise<number> {
  const script = join(folder, 'place.sql')
  await writeFile(script, placing(hot ? 1 : customers, batch))
  const args = [
    '-n',
    '-M',
    'prepared',
    '-f',
    script,
    '-c',
    `${clients}`,
    '-j',
    `${Math.min(2, clients)}`,
    '-T',
    `${SECONDS}`,
    url,
  ]
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let text = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (text += String(chunk)))
  await new Promise((resolve) => child.on('close', resolve))
  const [, per_second] = /tps = ([\d.]+)/.exec(text) ?? []
  if (per_second === undefined) throw new Error(`pgbench failed: ${text}`)
  return Math.round(Number(per_second) * 10) / 10
}

function placing(customers: number, batch: number): string {
  const chosen = `(select 'r' || :run::bigint || '-' || g as id, c.id as customer_id
    from generate_series(1, ${batch}) as g
    join bench_customer as c on c.n = (:run::bigint + g * 7919) % ${customers}) as chosen`
  return `
\\set run random(1, 1000000000000)
begin;
select id, posted_sun - held_sun as free_sun from account
  where id = any(array(select distinct 'customer:' || customer_id from ${chosen}))
    and not may_go_negative
  order by id for update;
select o.* from orders as o
  join ${chosen} on o.customer_id = chosen.customer_id and o.external_id = chosen.id;
select head_number, head_id, head_time, solid_number, confirmed_number, unconfirmed_since,
  disputed_number, behind, seen_at, head_seen_at from chain;
select resource, room - reserved as free from pool order by resource for update;
insert into orders (id, customer_id, external_id, key_id, service, address, energy, bandwidth,
                    activate, activation_id, to_delegate, amount_sun, fee_sun, due_at, created_at)
  select id, customer_id, id, null, 'energy', 'TCNkawTmcQgYSU8nP8cHswT1QPjharxJr7', 32000, 0,
         false, null, true, 1440000, 0, now(), now() from ${chosen};
with hold as (
  insert into transfer (id, kind, debit, credit, amount_sun, made_at)
  select 'order:' || id, 'hold', 'customer:' || customer_id, 'revenue', 1440000, now()
  from ${chosen}
  returning debit, amount_sun
)
update account set held_sun = held_sun + asked.sun
from (select debit, sum(amount_sun)::bigint as sun from hold group by debit) as asked
where account.id = asked.debit and not may_go_negative;
update pool set reserved = reserved + 32000 * ${batch} where resource = 'energy';
commit;
`
}
