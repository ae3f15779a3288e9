// `npm run print`: prints what is kept in the repository for reading and made from something else.
// openapi.json, docs/customers/reference.md and the types of the SDK are made of the endpoints and
// of what they answer to their examples; openapi-3.0.json is made of openapi.json. db/schema.sql is
// the sum of the migrations, as the catalogs of a migrated database show it: one statement each, in
// an order that does not depend on theirs. The portal shows the receivers of
// docs/customers/events.md. What Prometheus and Grafana read in deploy/ is made of the tables of
// alerts and of measures, docs/operators/configuration.md of the table of settings.

import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { METRICS } from 'penstock-service/health/monitoring/measures.ts'
import { STEPS } from 'penstock-service/operators/health/steps.ts'
import { OPENAPI_30_FILE, OPENAPI_FILE } from 'penstock-service/platform/http/pages.ts'
import { createDatabase, dropDatabase } from 'penstock-test/harness/database.ts'
import { type Story, tryExamples } from 'penstock-test/harness/examples.ts'
import pg from 'pg'
import { printCliEndpoints } from './cli_endpoints.ts'
import { printOptions, printSettings } from './configuration.ts'
import { CONSOLE_FILE, printConsoleOperations } from './console_operations.ts'
import { filled } from './filled.ts'
import { printDashboards } from './monitoring/dashboards.ts'
import { printAlerts, printRules, printRuleTests } from './monitoring/rules.ts'
import { printOpenapi } from './openapi.ts'
import { printOpenapi30 } from './openapi30.ts'
import { printReference } from './reference.ts'
import { printSdkEndpoints, printSdkEvents } from './sdk_endpoints.ts'

export const SCHEMA_FILE = fileURLToPath(
  new URL('../packages/service/db/schema.sql', import.meta.url),
)

export const RIGHTS_FILE = fileURLToPath(
  new URL('../packages/service/db/rights.txt', import.meta.url),
)

const REFERENCE_FILE = fileURLToPath(new URL('../docs/customers/reference.md', import.meta.url))
const PROCESSES_FILE = fileURLToPath(new URL('../docs/operators/processes.md', import.meta.url))
const CONFIGURATION_FILE = fileURLToPath(
  new URL('../docs/operators/configuration.md', import.meta.url),
)
const ALERTS_FILE = fileURLToPath(new URL('../docs/operators/alerts.md', import.meta.url))
const deployed = (path: string) => fileURLToPath(new URL(`../deploy/${path}`, import.meta.url))
const EVENTS_FILE = fileURLToPath(new URL('../docs/customers/events.md', import.meta.url))
const RECEIVERS_FILE = fileURLToPath(
  new URL('../packages/web/portal/webhooks/receivers.json', import.meta.url),
)
const CLI_FILE = fileURLToPath(new URL('../packages/cli/src/line/endpoints.ts', import.meta.url))
const sdkFile = (name: string) =>
  fileURLToPath(new URL(`../packages/sdk/src/wire/${name}`, import.meta.url))

/** The files that are made from the endpoints, and what they should hold. */
export async function printFreshReference(story: Story): Promise<[file: string, text: string][]> {
  const package_file = fileURLToPath(new URL('../package.json', import.meta.url))
  const { version } = JSON.parse(await readFile(package_file, 'utf8')) as { version: string }
  const reference = { ...story, version }
  const openapi = printOpenapi(reference)
  return [
    [OPENAPI_FILE, openapi],
    [OPENAPI_30_FILE, printOpenapi30(openapi)],
    [REFERENCE_FILE, printReference(reference)],
    [sdkFile('endpoints.ts'), printSdkEndpoints(reference)],
    [sdkFile('events.ts'), printSdkEvents(reference)],
    [CLI_FILE, printCliEndpoints(reference)],
    [CONSOLE_FILE, printConsoleOperations()],
    [RECEIVERS_FILE, printReceivers(await readFile(EVENTS_FILE, 'utf8'))],
    [
      PROCESSES_FILE,
      withLists(await readFile(PROCESSES_FILE, 'utf8'), {
        steps: printSteps(),
        metrics: printMetrics(),
      }),
    ],
  ]
}

/** The page of the configuration, made of its table. */
export async function printConfiguration(): Promise<[file: string, text: string]> {
  const page = await readFile(CONFIGURATION_FILE, 'utf8')
  const lists = { settings: printSettings(), options: printOptions() }
  return [CONFIGURATION_FILE, withLists(page, lists)]
}

/** The page of alerts and the files of Prometheus and Grafana, made of the tables of alerts and of
 *  measures. */
export async function printMonitoring(): Promise<[file: string, text: string][]> {
  const alerts = await readFile(ALERTS_FILE, 'utf8')
  return [
    [ALERTS_FILE, withLists(alerts, { alerts: printAlerts() })],
    [deployed('prometheus/rules.yml'), printRules()],
    [deployed('prometheus/rules_test.yml'), printRuleTests()],
    ...printDashboards().map(([name, text]): [string, string] => [
      deployed(`grafana/${name}`),
      text,
    ]),
  ]
}

/** The page with these lists where its comments say that they are printed. */
function withLists(page: string, lists: Record<string, string>): string {
  return Object.entries(lists).reduce((text, [name, list]) => {
    const begin = `<!-- ${name}: printed -->\n`
    const [before, rest] = text.split(begin)
    return `${before}${begin}${list}${rest!.slice(rest!.indexOf('<!-- end -->'))}`
  }, page)
}

const printSteps = () =>
  STEPS.map(({ name, wing, what }) => filled(`- \`${name}\` (${wing}): ${what}.`, '  ')).join('')

const printMetrics = () =>
  Object.entries(METRICS)
    .map(([name, { kind, labels, help }]) =>
      filled(
        `- \`${name}\` (${[kind, labels.join(', ')].filter(Boolean).join('; ')}): ${help}`,
        '  ',
      ),
    )
    .join('')

/** The programs of a page of the docs that receive webhooks, for the page where one adds them. */
function printReceivers(page: string): string {
  const programs = page.matchAll(/^(\w+)(?:, with the SDK)?:\n\n```\w+\n(.*?)```/gms)
  const receivers = Array.from(programs, ([, language, text]) => ({ language, text }))
  return `${JSON.stringify(receivers, null, 2)}\n`
}

/** The whole schema `public` of the database as text. */
export async function printSchema(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const parts: string[] = [HEADER]
    for (const query of [TYPES, SEQUENCES, TABLES, FUNCTIONS, VIEWS, TRIGGERS]) {
      const { rows } = await client.query<{ text: string }>(query)
      parts.push(...rows.map(({ text }) => (query === FUNCTIONS ? text : plain(text))))
    }
    return `${parts.map((part) => part.trim()).join('\n\n')}\n`
  } finally {
    await client.end()
  }
}

/** The rights of each role of the service on each table and its rows. */
export async function printRights(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<{ text: string }>(RIGHTS)
    return `${[RIGHTS_HEADER, ...rows.map(({ text }) => text)].join('\n\n')}\n`
  } finally {
    await client.end()
  }
}

/** The server's words as we write them: keywords in lower case, no casts of constants, no default
 *  methods. */
function plain(text: string): string {
  return text
    .split(/('(?:[^']|'')*'|"[^"]*")/)
    .map((part, i) => (i % 2 === 1 ? part : part.toLowerCase()))
    .join('')
    .replace(/('(?:[^']|'')*')::(text|character varying)\b/g, '$1')
    .replace(/<> all \(array\[([^\]]*)\]\)/g, 'not in ($1)')
    .replace(/= any \(array\[([^\]]*)\]\)/g, 'in ($1)')
    .replaceAll('timestamp with time zone', 'timestamptz')
    .replaceAll(' using btree ', ' ')
}

/** The printed form of a freshly migrated database. */
async function printFresh(print: (url: string) => Promise<string>): Promise<string> {
  const { url, name } = await createDatabase()
  const text = await print(url)
  await dropDatabase(name)
  return text
}

const HEADER =
  `-- The sum of the migrations in this folder, for reading. Printed by \`npm run print\`; ` +
  'a test says that it is fresh.'

const RIGHTS_HEADER =
  'What each role of the database may do: the sum of the grants and policies in the migrations ' +
  'of\nthis folder, for reading. Printed by `npm run print`; a test says that it is fresh.'

/** A right to columns alone names them. What no role has is not in it. */
const RIGHTS = `
with granted as (
  select c.oid, c.relname, g.grantee::regrole::text as role, lower(g.privilege_type) as word
  from pg_class c cross join aclexplode(c.relacl) g
  where c.relnamespace = 'public'::regnamespace and g.grantee <> 0
  union all
  select c.oid, c.relname, g.grantee::regrole::text,
    lower(g.privilege_type) || ' of ' || string_agg(a.attname, ' ' order by a.attnum)
  from pg_attribute a join pg_class c on c.oid = a.attrelid cross join aclexplode(a.attacl) g
  where c.relnamespace = 'public'::regnamespace and g.grantee <> 0
  group by c.oid, c.relname, g.grantee, g.privilege_type
), lines as (
  select oid, relname, format('  %s: %s', role, string_agg(word, ', ' order by word)) as line
  from granted where role ~ '^penstock_' group by oid, relname, role
  union all
  select polrelid, polrelid::regclass::text, format('  row security: %s, %s, where %s', polname,
      case polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' end,
      regexp_replace(coalesce(pg_get_expr(polwithcheck, polrelid),
        pg_get_expr(polqual, polrelid)), '\\s+', ' ', 'g'))
  from pg_policy
)
select relname || chr(10) || string_agg(line, chr(10) order by line) as text
from lines group by oid, relname order by relname`

const TYPES = `
select case t.typtype
    when 'e' then format('create type %I as enum (%s);', t.typname,
      (select string_agg(quote_literal(enumlabel), ', ' order by enumsortorder) from pg_enum
        where enumtypid = t.oid))
    when 'd' then format('create domain %I as %s%s%s;', t.typname,
                         format_type(t.typbasetype, t.typtypmod),
      case when t.typnotnull then ' not null' else '' end,
      coalesce((select string_agg(format(chr(10) || '  constraint %I %s', conname,
        pg_get_constraintdef(oid, true)), '' order by conname)
        from pg_constraint where contypid = t.oid and contype = 'c'), ''))
    else format('create type %I as (%s);', t.typname,
      (select string_agg(format('%I %s', attname, format_type(atttypid, atttypmod)), ', '
        order by attnum)
        from pg_attribute where attrelid = t.typrelid and attnum > 0 and not attisdropped)) end
  || coalesce(format(chr(10) || 'comment on type %I is ',
                     t.typname) || quote_literal(obj_description(t.oid, 'pg_type')) || ';',
                       '') as text
from pg_type t left join pg_class c on c.oid = t.typrelid
where t.typnamespace = 'public'::regnamespace and (t.typtype in ('e', 'd')
  or (t.typtype = 'c' and c.relkind = 'c'))
  and not exists (select from pg_depend where objid = t.oid and classid = 'pg_type'::regclass
    and deptype = 'e')
order by t.typname`

const SEQUENCES = `
select format('create sequence %I as %s start %s increment %s;', c.relname,
              format_type(s.seqtypid, null), s.seqstart, s.seqincrement) as text
from pg_sequence s join pg_class c on c.oid = s.seqrelid
where c.relnamespace = 'public'::regnamespace
  and not exists (select from pg_depend where objid = c.oid and classid = 'pg_class'::regclass
    and deptype in ('i', 'a'))
order by c.relname`

/** Tables with their columns and constraints, then their indexes and comments. The names of
 *  not-null constraints, which only newer servers have, are left out. */
const TABLES = `
select format('create%s table %I%s (', case c.relpersistence when 'u' then ' unlogged'
  else '' end, c.relname,
    coalesce(' partition of ' || (select i.inhparent::regclass from pg_inherits i
      where i.inhrelid = c.oid and c.relispartition), ''))
  || chr(10) || (
    select string_agg('  ' || line, ',' || chr(10) order by kind, place, line) from (
      select 0 as kind, a.attnum::int as place,
        format('%I %s', a.attname, format_type(a.atttypid, a.atttypmod))
        || case when a.attcollation <> ty.typcollation then ' collate '
          || a.attcollation::regcollation else '' end
        || case a.attidentity when 'a' then ' generated always as identity' when 'd'
          then ' generated by default as identity' else '' end
        || case when a.attgenerated = 's' then format(' generated always as (%s) stored',
          pg_get_expr(d.adbin, d.adrelid, true))
                when d.adbin is not null then ' default ' || pg_get_expr(d.adbin, d.adrelid, true)
                  else '' end
        || case when a.attnotnull then ' not null' else '' end as line
      from pg_attribute a join pg_type ty on ty.oid = a.atttypid
        left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      union all
      select array_position('{p,u,x,f,c}', k.contype::text), 0,
        format('constraint %I %s', k.conname, pg_get_constraintdef(k.oid, true))
      from pg_constraint k where k.conrelid = c.oid and k.contype in ('p', 'u', 'x', 'f', 'c')
    ) as lines)
  || chr(10) || ')'
  || case when c.relkind = 'p' then ' partition by ' || pg_get_partkeydef(c.oid) else '' end
  || case when c.relispartition then ' ' || pg_get_expr(c.relpartbound, c.oid) else '' end
  || coalesce(' with (' || array_to_string(c.reloptions, ', ') || ')', '') || ';'
  || coalesce((select string_agg(chr(10) || replace(pg_get_indexdef(i.indexrelid), ' ON public.',
    ' ON ') || ';', '' order by x.relname)
    from pg_index i join pg_class x on x.oid = i.indexrelid
    where i.indrelid = c.oid and not exists (select from pg_constraint k
      where k.conindid = i.indexrelid and k.conrelid = c.oid)), '')
  || coalesce(format(chr(10) || 'comment on table %I is ',
                     c.relname) || quote_literal(obj_description(c.oid, 'pg_class')) || ';', '')
  || coalesce((select string_agg(format(chr(10) || 'comment on column %I.%I is %L;', c.relname,
                                        a.attname, col_description(c.oid, a.attnum)), ''
      order by a.attnum)
    from pg_attribute a where a.attrelid = c.oid and a.attnum > 0
      and col_description(c.oid, a.attnum) is not null), '') as text
from pg_class c
where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
order by c.relname`

const FUNCTIONS = `
select trim(trailing e'\\n ' from replace(pg_get_functiondef(p.oid), ' public.', ' ')) || ';'
  || coalesce(format(chr(10) || 'comment on function %s is ',
                     p.oid::regprocedure) || quote_literal(obj_description(p.oid,
                       'pg_proc')) || ';', '') as text
from pg_proc p
where p.pronamespace = 'public'::regnamespace and p.prokind in ('f', 'p')
  and not exists (select from pg_depend where objid = p.oid and classid = 'pg_proc'::regclass
    and deptype = 'e')
order by p.proname, pg_get_function_identity_arguments(p.oid)`

const VIEWS = `
select format('create %sview %I as%s', case c.relkind when 'm' then 'materialized '
  else '' end, c.relname, chr(10))
  || pg_get_viewdef(c.oid, true) as text
from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('v', 'm')
order by c.relname`

const TRIGGERS = `
select pg_get_triggerdef(t.oid, true) || ';' as text
from pg_trigger t join pg_class c on c.oid = t.tgrelid
where c.relnamespace = 'public'::regnamespace and not t.tgisinternal and t.tgparentid = 0
order by c.relname, t.tgname`

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await writeFile(SCHEMA_FILE, await printFresh(printSchema))
  await writeFile(RIGHTS_FILE, await printFresh(printRights))
  const printed = [
    ...(await printFreshReference(await tryExamples())),
    ...(await printMonitoring()),
    await printConfiguration(),
  ]
  for (const [file, text] of printed) await writeFile(file, text)
}
