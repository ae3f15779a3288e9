// What a report says beside the evidence: who asked, what the lists and the rules were in words,
// and the decimals of the assets. It is read from rows that do not change after the check, and is
// not covered by the hash of the evidence.

import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { Evidence } from '../engine/evidence.ts'
import { type Policy, readPolicy } from '../engine/policy.ts'

/** One version of a list of labels, as it was loaded. */
export type ListSource = {
  list: string
  title: string
  licence: string
  /** The file or address that it was read from. */
  origin: string
  loaded_at: Date
  loaded_by: string
  entries: number
  /** Rows of the list without an address of this network. */
  passed_over: number
  sha256: string
}

export type ReportContext = {
  /** Undefined when the check is not kept any more. */
  asked_by: { customer_id: string; customer_name: string | null } | undefined
  /** By symbol; a symbol that two assets share is left out. */
  decimals: ReadonlyMap<string, number>
  /** Undefined: not told, as to customers, from where the house reads them. */
  lists: readonly ListSource[] | undefined
  /** Undefined when the policy that the evidence names is not in this database, or is not told. */
  policy: Policy | undefined
  /** Where medium and high risk begin, of the same policy: customers may know. */
  levels?: Pick<Policy, 'medium_from' | 'high_from'> | undefined
}

type EvidenceNames = { label_set?: string; policy?: { version?: string } }

/** Reads the context of a check's evidence. */
export async function readReportContext(sql: Sql | Tx, evidence: Evidence): Promise<ReportContext> {
  const { label_set, version } = namedIn(evidence)
  const [asked_by] = await sql<{ customer_id: string; customer_name: string | null }>`
    select customer_id, customer.name as customer_name
    from aml_check left join customer on customer.id = aml_check.customer_id
    where aml_check.id = ${evidence.check_id}`
  const assets = await sql<{ symbol: string; decimals: number }>`
    select symbol, min(decimals)::int as decimals from flow_asset
      group by symbol having count(*) = 1`
  const lists =
    label_set === undefined
      ? []
      : await sql<ListSource>`
          select v.list, l.title, l.licence, v.origin, v.loaded_at, v.loaded_by, v.entries,
                 v.passed_over, v.sha256
          from label_set_version as s join list_version as v on v.id = s.version_id
               join list as l on l.code = v.list
          where s.label_set = ${label_set} order by v.list, v.id`
  const policy =
    version === undefined ? undefined : await readPolicy(sql, version).catch(() => undefined)
  return {
    asked_by,
    decimals: new Map(assets.map(({ symbol, decimals }) => [symbol, decimals])),
    lists,
    policy,
    levels: policy && levelsOf(policy),
  }
}

const levelsOf = ({ medium_from, high_from }: Policy) => ({ medium_from, high_from })

/** Where medium and high risk begin by the policy that the evidence names; undefined when it is not
 *  in this database. */
export async function readLevels(sql: Sql, evidence: Evidence) {
  const { version } = namedIn(evidence)
  const policy = version && (await readPolicy(sql, version).catch(() => undefined))
  return policy ? levelsOf(policy) : undefined
}

/** What a customer's own report says of it: not from which files the house reads its lists, nor
 *  where the thresholds of its rules lie, which would tell how to stay below them. */
export const forCustomers = (context: ReportContext): ReportContext => ({
  ...context,
  lists: undefined,
  policy: undefined,
})

/** The label set and the policy that the evidence names. */
function namedIn({ canonical }: Evidence): { label_set?: number; version?: number } {
  type EvidenceInput = EvidenceNames & { answers?: { name: string; facts: EvidenceNames }[] }
  const given = JSON.parse(canonical) as EvidenceInput
  const embedded = given.answers?.find(({ name }) => name === 'embedded')?.facts
  const label_set = given.label_set ?? embedded?.label_set
  const version = given.policy?.version ?? embedded?.policy?.version
  return {
    ...(label_set !== undefined && { label_set: Number(label_set) }),
    ...(version !== undefined && { version: Number(version) }),
  }
}
