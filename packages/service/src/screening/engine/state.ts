// What screenings rest on: the policy, the label set, the generation of the index, the lists.

import type { Sql, Tx } from '../../platform/database/sql.ts'
import { listStates } from '../labels/label_sets.ts'
import { currentPolicy } from './policy.ts'

/** What screenings rest on now. */
export async function screeningState(sql: Sql | Tx) {
  const [row] = await sql<{
    label_set: number
    generation: number | null
    first_block: bigint | null
  }>`
    select (select max(number) from label_set) as label_set, g.number as generation,
      g.first_number as first_block
    from (values (1)) as one left join (
      select number, first_number from flow_generation where active_at is not null
        order by number desc limit 1) as g on true`
  const [log] = await sql<{ last_block: bigint | null; behind: bigint | null; hubs: bigint }>`
    select last_number as last_block,
      (select confirmed_number from chain) - last_number as behind,
      (select count(*) from flow_hub where generation = ${row!.generation}) as hubs
    from flow_log_ends`
  const lists = (await listStates(sql)).filter(({ entries }) => entries !== null)
  const { name, version } = await currentPolicy(sql)
  return {
    policy: `${name} (version ${version})`,
    ...row!,
    ...log!,
    lists:
      lists.length === 0
        ? 'none: nothing is known of who addresses belong to'
        : lists.map(({ code }) => code),
  }
}
