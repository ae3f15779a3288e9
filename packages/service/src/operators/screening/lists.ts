// Lists of labels, by the operator's hand: loading, comparing, and when a list is loaded by itself.
// Whatever was loaded stays; screenings follow the newest set as soon as the index has caught up
// with it.

import { Type } from 'typebox'
import type { Change } from '../../ledger/accounts/actions.ts'
import { Outage, Refused, refusal } from '../../lib/fault.ts'
import type { Tx } from '../../platform/database/sql.ts'
import {
  Count,
  Flag,
  flag,
  ListOf,
  Moment,
  NOTHING,
  OrNull,
  oneOf,
  optional,
  Text,
  text,
  Whole,
  whole,
} from '../../platform/wire/schemas.ts'
import { watchedAmong } from '../../screening/checks/watches.ts'
import {
  diffSets,
  type ListState,
  listStates,
  previewList,
  publishList,
  restoreVersion,
} from '../../screening/labels/label_sets.ts'
import type { ListContents } from '../../screening/labels/list_entries.ts'
import {
  listVersions,
  newestSet,
  requireSet,
  setSchedule,
  updatableLists,
} from '../../screening/labels/list_versions.ts'
import {
  openList,
  READER_NAMES,
  readList,
  requireList,
  type Source,
} from '../../screening/labels/lists.ts'
import { makeList } from '../../screening/labels/made_lists.ts'
import {
  change,
  LIMIT,
  limit,
  look,
  type Needs,
  type Upload,
  undertaking,
} from '../table/operation.ts'

const notLoaded = ({ list, origin }: Source, why: string) =>
  refusal(`${list} from ${origin} was not loaded: ${why}`)

/** Reads a list whole, and only then begins to write. Throws Refused for what is wrong with it. */
async function read(
  { sql, progress }: Pick<Needs, 'sql' | 'progress'>,
  source: Source,
): Promise<ListContents> {
  const kilobytes = (bytes: number) => Math.ceil(bytes / 1_000)
  let told = 0
  try {
    return await readList(sql, source, (bytes, expected) => {
      if (bytes - told < 500_000 && bytes !== expected) return
      told = bytes
      const whole = expected && kilobytes(expected)
      progress({ what: source.list, done: kilobytes(bytes), whole, unit: 'kB' })
    })
  } catch (thrown) {
    if (thrown instanceof Outage || !(thrown instanceof Error)) throw thrown
    throw notLoaded(source, thrown.message)
  } finally {
    progress()
  }
}

type LoadNeeds = Pick<Needs, 'sql' | 'progress'> & {
  by: string
  record<Value>(work: (tx: Tx, at: Date) => Promise<Change<Value>>): Promise<Value>
  may_shrink: boolean
}

async function load(source: Source, loading: LoadNeeds) {
  const { entries, passed_over, misspelt, designations } = await read(loading, source)
  const { list, origin, asked_at } = source
  const { by, may_shrink, record } = loading
  return record(async (tx, loaded_at) => {
    const counts = { passed_over, designations }
    const from = { list, origin, asked_at, ...counts, loaded_at, loaded_by: by, may_shrink }
    const publishing = publishList(tx, from, entries).catch((thrown: unknown) => {
      throw thrown instanceof Refused ? notLoaded(source, thrown.message) : thrown
    })
    const { version_id, ...published } = await publishing
    const after = { version: version_id, label_set: published.label_set, origin }
    return {
      result: { list, ...published, passed_over, misspelt },
      actions: published.changed ? [{ subject: `list:${list}`, before: null, after }] : [],
    }
  })
}

const CHANGED =
  'The running service follows the new labels as soon as its index has caught up with them.'

function loaded(rows: Awaited<ReturnType<typeof load>>[]) {
  const change = rows.some((one) => one.changed) ? CHANGED : 'No change.'
  const note = rows
    .flatMap((one) => misspeltNote(one.list, one.misspelt))
    .concat(change)
    .join('\n')
  const value = rows.map(({ misspelt, ...one }) => ({ ...one, misspelt: misspelt.length }))
  return { value, note }
}

const MISSPELT_SHOWN = 10

/** What somebody should look at in the publisher's file. */
function misspeltNote(list: string, misspelt: readonly string[]): string[] {
  if (misspelt.length === 0) return []
  const shown = misspelt.slice(0, MISSPELT_SHOWN).join('; ')
  return [`${list}: texts that look like addresses and are none: ${misspelt.length}: ${shown}.`]
}

/** A list in a file, of those who type. */
const FROM_FILE = {
  operands: ['list' as const, 'file' as const],
  extras: Type.Object({ file: text('FILE', 'the file, in the format of the publisher') }),
}

/** Throws Refused when no file came along. */
function requireUpload(upload: Upload | undefined): Upload {
  if (!upload) throw refusal('No file came along.')
  return upload
}

const list = text('LIST', 'its code, as `lists list` has it')
const shrink = flag('also when it has lost more than half of its entries, or of those that bar')
const SETS = { min: 0, max: 2 ** 31 - 1 }

const LoadedLists = ListOf({
  list: Text,
  label_set: Count,
  added: Count,
  removed: Count,
  changed: Flag,
  entries: Count,
  passed_over: Count,
  misspelt: Count,
})
const State = {
  list: Text,
  entries: OrNull(Count),
  loaded_at: OrNull(Moment),
  origin: OrNull(Text),
  refresh_hours: OrNull(Count),
  url: OrNull(Text),
  licence: Text,
  kind: Text,
  reader: Text,
}
const Version = {
  id: Whole,
  list: Text,
  entries: Count,
  passed_over: Count,
  loaded_at: Moment,
  loaded_by: Text,
  origin: Text,
  sha256: Text,
  first_set: OrNull(Count),
  last_set: OrNull(Count),
}

const Difference = {
  list: Text,
  change: Text,
  address: Text,
  category: Text,
  entity: Text,
  kind: Text,
  confidence: Count,
  reference: Text,
  valid_from: OrNull(Moment),
  valid_to: OrNull(Moment),
}

const shown = ({ code, title: _, ...state }: ListState) => ({ list: code, ...state })

/** `--columns` and others of `lists make`. */
const NewListBody = Type.Object({
  list: text('CODE', 'its code: a-z, 0-9 and _'),
  kind: oneOf(['authority', 'curated'], 'whether an address on it is blacklisted'),
  reader: oneOf(READER_NAMES, 'the format of its files'),
  title: text('TITLE', 'what it is, for evidence and reports'),
  licence: text('LICENCE', 'under what terms it may be used'),
  columns: optional(
    Type.Array(text('FIELD=COLUMN', 'of a table, where a field is found under another name')),
  ),
  category: optional(text('CATEGORY', 'of a table, of the addresses that have none')),
  url: optional(text('URL', "its publisher's address")),
  hours: optional(whole('HOURS', 'load it so often', { max: 10_000 })),
})

/** Throws Refused. */
function requireUrl(url: string | undefined): void {
  if (url !== undefined && !/^https?:\/\//.test(url))
    throw refusal(`${url} is not an http:// or https:// address.`)
}

export const listOperations = [
  look({
    path: '/operator/lists/list',
    summary: 'the lists of labels, and what of them is loaded',
    body: NOTHING,
    reply: ListOf(State),
    async handle({ sql }) {
      const states = await listStates(sql)
      const note = states.some((one) => one.entries !== null)
        ? `Label set ${await newestSet(sql)} is the newest.`
        : 'Nothing is loaded: nothing is known of who addresses belong to, and checks say so.'
      return { value: states.map(shown), note }
    },
  }),
  look({
    path: '/operator/lists/show',
    summary: 'every version of one list of labels that was loaded',
    body: Type.Object({ list, limit }),
    reply: ListOf(Version),
    cli: { operands: ['list'] },
    handle: async ({ sql, body: { list, limit = LIMIT } }) => ({
      value: await listVersions(sql, { list: await requireList(sql, list), limit }),
    }),
  }),
  undertaking({
    path: '/operator/lists/update',
    careful: true,
    summary: "load the newest version of lists from their publishers' addresses",
    description:
      'Without a list: every one that was loaded before or is loaded by itself, and has an ' +
      'address.',
    body: Type.Object({ lists: optional(Type.Array(list)), shrink }),
    reply: LoadedLists,
    cli: { operands: ['lists'] },
    async handle({ sql, body: { lists = [], shrink = false }, ...needs }) {
      const chosen = lists.length > 0 ? lists : await updatableLists(sql)
      if (chosen.length === 0)
        throw refusal('Name the list: none has been loaded yet. `lists list` has them all.')
      const rows = []
      for (const code of chosen) {
        const source = await openList({ sql, clock: needs.clock, download: needs.download }, code)
        rows.push(await load(source, { ...needs, sql, may_shrink: shrink }))
      }
      return loaded(rows)
    },
  }),
  look({
    path: '/operator/lists/preview',
    summary: 'what `lists import` of a file would change, without loading it',
    description:
      '`watched` is how many addresses that customers watch are among those it says otherwise: ' +
      'they are screened again when it is loaded. The first differences are shown, by address.',
    body: Type.Object({ list, limit }),
    reply: Type.Object({
      list: Text,
      entries: Count,
      entries_before: Count,
      added: Count,
      removed: Count,
      passed_over: Count,
      misspelt: Count,
      watched: Count,
      refused: OrNull(Text),
      differences: ListOf(Difference),
    }),
    takes: 'upload',
    cli: FROM_FILE,
    async handle({ sql, clock, body: { list, limit = LIMIT }, upload, progress }) {
      const contents = await read({ sql, progress }, { list, ...requireUpload(upload) })
      const { passed_over, misspelt } = contents
      const all = await previewList(sql, list, { ...contents, at: clock.now() })
      const { differences, ...counts } = all
      const watched = await watchedAmong(sql, new Set(differences.map(({ address }) => address)))
      const shown = differences.slice(0, limit)
      return {
        value: {
          list,
          ...counts,
          passed_over,
          misspelt: misspelt.length,
          watched,
          differences: shown,
        },
        note: misspeltNote(list, misspelt)[0],
      }
    },
  }),
  undertaking({
    path: '/operator/lists/import',
    careful: true,
    summary: 'load a list from a file, in the place of its version before',
    body: Type.Object({ list, shrink }),
    reply: LoadedLists,
    takes: 'upload',
    cli: FROM_FILE,
    async handle({ body: { list, shrink = false }, upload: given, ...needs }) {
      const upload = requireUpload(given)
      return loaded([await load({ list, ...upload }, { ...needs, may_shrink: shrink })])
    },
  }),
  change({
    path: '/operator/lists/revert',
    careful: true,
    summary: 'put a version of a list that was loaded before in force again: `lists show LIST`',
    body: Type.Object({ list, version: whole('VERSION', 'the id of the version') }),
    reply: LoadedLists.items,
    cli: { operands: ['list', 'version'] },
    async handle({ tx, body, by, at }) {
      const list = await requireList(tx, body.list)
      const version_id = BigInt(body.version)
      const restored = await restoreVersion(tx, { list, version_id, by, at })
      const { version_before, version_id: _, ...counts } = restored
      const { label_set } = counts
      const value = { list, ...counts, misspelt: 0 }
      const before = version_before === undefined ? null : { version: version_before }
      const after = { version: version_id, label_set }
      return {
        result: { value, note: CHANGED },
        actions: [{ subject: `list:${list}`, before, after }],
      }
    },
  }),
  change({
    path: '/operator/lists/make',
    careful: true,
    summary: 'make a list of your own, which is loaded and compared as the others are',
    description:
      'What is on a list of an authority is blacklisted, so making one wants the second operator ' +
      'where the rule is for two. Neither its kind nor its reader ever changes. `lists import` ' +
      'loads it from a file, and with --url `lists update` does, or the service every --hours.',
    body: NewListBody,
    reply: Type.Object({
      list: Text,
      title: Text,
      licence: Text,
      kind: Text,
      reader: Text,
      columns: OrNull(Type.Record(Text, Text)),
      category: OrNull(Text),
      url: OrNull(Text),
      refresh_hours: OrNull(Count),
    }),
    cli: { operands: ['list'] },
    second: ({ body }) => body.kind === 'authority',
    async handle({ tx, by, body }) {
      const { list: code, columns = [], category, url, hours, ...given } = body
      requireUrl(url)
      const wanted = { ...given, code, columns, category, url, hours, made_by: by }
      const { code: list, made_by: _, ...made } = await makeList(tx, wanted)
      return {
        result: { value: { list, ...made }, note: 'Nothing is on it yet: load it.' },
        actions: [{ subject: `list:${list}`, before: null, after: made }],
      }
    },
  }),
  look({
    path: '/operator/lists/diff',
    summary: 'what two label sets say differently',
    body: Type.Object({
      before: whole('BEFORE', 'the number of a label set', SETS),
      after: optional(whole('AFTER', 'of another one (the newest)', SETS)),
    }),
    reply: ListOf(Difference),
    cli: { operands: ['before', 'after'] },
    async handle({ sql, body }) {
      const before = await requireSet(sql, body.before)
      const after = await requireSet(sql, body.after ?? (await newestSet(sql)))
      return { value: await diffSets(sql, before, after) }
    },
  }),
  change({
    path: '/operator/lists/schedule',
    careful: true,
    summary: 'have a list loaded from its publisher again and again, or not any more',
    body: Type.Object({
      list,
      hours: optional(whole('HOURS', 'load it so often', { max: 10_000 })),
      off: flag('load it only when told to'),
      url: optional(text('URL', 'load it from this address from now on')),
    }),
    reply: Type.Object({ list: Text, url: OrNull(Text), refresh_hours: OrNull(Count) }),
    cli: { operands: ['list'] },
    async handle({ tx, body: { list, hours, off = false, url } }) {
      if (off && hours !== undefined) throw refusal('Either --hours or --off.')
      requireUrl(url)
      await requireList(tx, list)
      const { before, after } = await setSchedule(tx, { list, url, hours, off })
      const same = before.url === after.url && before.refresh_hours === after.refresh_hours
      return {
        result: { value: { list, ...after } },
        actions: same ? [] : [{ subject: `list:${list}`, before, after }],
      }
    },
  }),
]
