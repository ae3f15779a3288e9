// What is on sale and what is not, checks included.

import { noteForAll } from '../../events/log/notes.ts'
import type { Change } from '../../ledger/accounts/actions.ts'
import { refusal } from '../../lib/fault.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'

export type SwitchRow = { name: string; on_sale: boolean; changed_by: string }

/** What can be on sale or off, checks included: `aml_` and their type. */
export async function switches(sql: Sql | Tx): Promise<SwitchRow[]> {
  return sql<SwitchRow>`
    select name, on_sale, changed_by from service
    union all select 'aml_' || type, on_sale, changed_by from aml_service order by name`
}

/** Puts services on sale or takes them off. Names that stand so already are left alone. */
export async function setSwitches(
  tx: Tx,
  wanted: { names: readonly string[]; on_sale: boolean; changed_by: string; at: Date },
): Promise<Change<SwitchRow[]>> {
  const { names, on_sale, changed_by, at } = wanted
  await tx`lock table service, aml_service in share row exclusive mode`
  const before = await switches(tx)
  for (const name of names) {
    if (before.some((one) => one.name === name)) continue
    throw refusal(
      `There is no service ${name}; there are: ${before.map((one) => one.name).join(', ')}.`,
    )
  }
  const turned = before
    .filter((one) => names.includes(one.name) && one.on_sale !== on_sale)
    .map(({ name }) => name)
  await tx`
    update service set on_sale = ${on_sale}, changed_by = ${changed_by} where name = any(${turned})`
  await tx`
    update aml_service set on_sale = ${on_sale}, changed_by = ${changed_by}
    where 'aml_' || type = any(${turned})`
  const type = on_sale ? 'service.on' : 'service.off'
  if (turned.length > 0)
    noteForAll(tx, { type, subject: 'services', at, data: { services: turned } })
  const actions = turned.map((name) => ({
    subject: `service:${name}`,
    before: { on_sale: !on_sale },
    after: { on_sale },
  }))
  return { result: await switches(tx), actions }
}
