// What the roles of the database may do, asked of the database itself: by what it answers, and not
// by which grant, role or PUBLIC it comes from.

import type { Query } from 'penstock-service/platform/database/sql.ts'

/** The roles that somebody may have got hold of. */
export const THIEVES = ['penstock_api', 'penstock_worker', 'penstock_read'] as const
export type Thief = (typeof THIEVES)[number]

export type Grant = {
  role: Thief
  table: string
  word: 'insert' | 'update' | 'delete' | 'select' | 'truncate' | 'references' | 'trigger'
  /** Where not all of them. */
  columns: string[] | null
}

/** All that those roles may do with tables, views and sequences, in the order of the names. */
export const grantsOf = (sql: Query): Promise<Grant[]> => sql<Grant>`
  with relation as (
    select oid, relname, relkind from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v', 'm', 'f', 'S')
      and not relispartition
  ), granted as (
    select role, relname as "table", word,
      case when has_table_privilege(role, oid, word) then null
        when word in ('delete', 'truncate', 'trigger') then '{}'
        else array(select attname::text from pg_attribute
          where attrelid = oid and attnum > 0 and not attisdropped
            and has_column_privilege(role, oid, attnum, word) order by attnum) end as columns
    from relation, unnest(${[...THIEVES]}::text[]) as role,
      unnest(array['select', 'insert', 'update', 'delete', 'truncate', 'references',
        'trigger']) as word
    where relkind <> 'S'
    union all
    select role, relname, 'update', null from relation, unnest(${[...THIEVES]}::text[]) as role
    where relkind = 'S' and has_sequence_privilege(role, oid, 'update')
  )
  select * from granted where columns is null or columns <> '{}' order by 1, 2, 3`

/** What they may do beside tables that nobody should: make objects, be another role, or call what
 *  works with its owner's rights. */
export const otherRights = (sql: Query): Promise<{ role: string; right: string }[]> => sql<{
  role: string
  right: string
}>`
  select role, 'create in ' || nspname as right from pg_namespace,
    unnest(${[...THIEVES]}::text[]) as role
  where nspname !~ '^pg_(temp|toast)' and has_schema_privilege(role, oid, 'create')
  union all
  select role, 'be ' || rolname from pg_roles, unnest(${[...THIEVES]}::text[]) as role
  where rolname <> role and pg_has_role(role, oid, 'member')
  union all
  select role, 'is ' || word from pg_roles, unnest(${[...THIEVES]}::text[]) as role, lateral (
    values ('superuser', rolsuper), ('createrole', rolcreaterole), ('createdb', rolcreatedb),
      ('bypassrls', rolbypassrls), ('replication', rolreplication)) as may (word, so)
  where rolname = role and so
  union all
  select role, 'call ' || p.oid::regprocedure from pg_proc as p,
    unnest(${[...THIEVES]}::text[]) as role
  where pronamespace = 'public'::regnamespace and prosecdef
    and prorettype <> 'trigger'::regtype and has_function_privilege(role, p.oid, 'execute')
  order by 1, 2`

/** As db/rights.txt has it: `update of a b`. */
export const printGrant = ({ word, columns }: Pick<Grant, 'word' | 'columns'>) =>
  columns === null ? word : `${word} of ${columns.join(' ')}`
