// Lists of labels, by the operator's hand: loading, comparing, and when a list is loaded by itself.
// Whatever was loaded stays; screenings follow the newest set as soon as the index has caught up
// with it.

import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { diffSets, type ListState, listStates, publishList } from '../labels/label_sets.ts'
import type { Reading } from '../labels/list_entries.ts'
import {
  listVersions,
  newestSet,
  requireSet,
  setSchedule,
  updatableLists,
} from '../labels/list_versions.ts'
import { LISTS, openList, readList, type Source } from '../labels/lists.ts'
import { type Operator, perform } from '../ledger/actions.ts'
import { Outage, Refused, refusal } from '../lib/fault.ts'
import {
  change,
  command,
  flag,
  LIMIT,
  many,
  type Needs,
  needed,
  oneOf,
  paging,
  text,
  undertaking,
  whole,
} from './command.ts'

const BAR = 30

/** A bar of progress with what it counts; without an end that is known, only the count. */
export function progressBar(done: number, whole: number | undefined, unit: string): string {
  if (whole === undefined || whole <= 0) return `${done} ${unit}`
  const share = Math.min(1, done / whole)
  const filled = Math.round(share * BAR)
  return `[${'#'.repeat(filled)}${'.'.repeat(BAR - filled)}] ${Math.floor(share * 100)} %  ${done} of ${whole} ${unit}`
}

const notLoaded = ({ list, origin }: Source, why: string) =>
  refusal(`${list} from ${origin} was not loaded: ${why}`)

/** Reads a list whole, and only then begins to write. What is wrong with it is told in one
 *  sentence. */
async function read(needs: Needs, source: Source): Promise<Reading> {
  const kilobytes = (bytes: number) => Math.ceil(bytes / 1_000)
  let told = 0
  try {
    return await readList(source, (bytes, expected) => {
      if (bytes - told < 500_000 && bytes !== expected) return
      told = bytes
      needs.progress(
        `${source.list} ${progressBar(kilobytes(bytes), expected && kilobytes(expected), 'kB')}`,
      )
    })
  } catch (thrown) {
    if (thrown instanceof Outage || !(thrown instanceof Error)) throw thrown
    throw notLoaded(source, thrown.message)
  } finally {
    needs.progress('')
  }
}

type LoadingOf = { operator: Operator; action: string; may_shrink: boolean }

async function load(needs: Needs, source: Source, loading: LoadingOf) {
  const { entries, passed_over } = await read(needs, source)
  const { list, origin } = source
  const { operator, action, may_shrink } = loading
  return perform(needs, { operator, action }, async (tx, loaded_at) => {
    const from = { list, origin, passed_over, loaded_at, loaded_by: operator.made_by, may_shrink }
    const publishing = publishList(tx, from, entries).catch((thrown: unknown) => {
      throw thrown instanceof Refused ? notLoaded(source, thrown.message) : thrown
    })
    const { version_id, ...published } = await publishing
    const result = { list, ...published, passed_over }
    const after = { version: version_id, label_set: published.label_set, origin }
    return {
      result,
      actions: published.changed ? [{ subject: `list:${list}`, before: null, after }] : [],
    }
  })
}

const CHANGED =
  'The running service follows the new labels as soon as its index has caught up with them.'

function loaded(rows: Awaited<ReturnType<typeof load>>[]) {
  return { value: rows, note: rows.some((one) => one.changed) ? CHANGED : 'It was so already.' }
}

async function fileSource(list: string, file: string): Promise<Source> {
  const about = await stat(file).catch((thrown: NodeJS.ErrnoException) => {
    throw refusal(
      thrown.code === 'ENOENT'
        ? `There is no file ${file}.`
        : `${file} cannot be read: ${thrown.code}.`,
    )
  })
  if (!about.isFile()) throw refusal(`${file} is not a file.`)
  return {
    list,
    origin: file,
    bytes: createReadStream(file, { highWaterMark: 1 << 18 }),
    bytes_expected: about.size,
  }
}

const list = oneOf(LISTS, 'the list')
const SHRINK = flag('also when it has lost more than half of its entries')

const shown = ({ code, entries, loaded_at, origin, refresh_hours, url, licence }: ListState) => ({
  ...{ list: code, entries, loaded_at, origin, refresh_hours, url, licence },
})

export const listCommands = [
  command({
    words: 'lists show',
    summary: 'the lists of labels, and what of them is loaded',
    operands: { list: oneOf(LISTS, 'every version of this list') },
    options: { limit: paging.limit },
    async run({ sql }, { list: code = null, limit = LIMIT }) {
      if (code !== null) return { value: await listVersions(sql, { list: code, limit }) }
      const states = await listStates(sql)
      const note = states.some((one) => one.entries !== null)
        ? `Label set ${await newestSet(sql)} is the newest.`
        : 'Nothing is loaded: nothing is known of who addresses belong to, and checks say so.'
      return { value: states.map(shown), note }
    },
  }),
  undertaking({
    words: 'lists update',
    summary: "load the newest version of lists from their publishers' addresses",
    details:
      'Without a list: every one that was loaded before or is loaded by itself, and has an address.',
    operands: { lists: many(list) },
    options: { shrink: SHRINK },
    async run(needs, { lists, shrink: may_shrink }, operator) {
      const chosen = lists.length > 0 ? lists : await updatableLists(needs.sql)
      if (chosen.length === 0)
        throw refusal(`Name the list: none has been loaded yet. There are: ${LISTS.join(', ')}.`)
      const rows = []
      for (const code of chosen) {
        const source = await openList(needs, code)
        rows.push(await load(needs, source, { operator, action: 'lists update', may_shrink }))
      }
      return loaded(rows)
    },
  }),
  undertaking({
    words: 'lists import',
    summary: 'load a list from a file, in the place of its version before',
    operands: {
      list: needed(list),
      file: needed(text('FILE', 'the file, in the format of the publisher')),
    },
    options: { shrink: SHRINK },
    async run(needs, { list: code, file, shrink: may_shrink }, operator) {
      const source = await fileSource(code, file)
      return loaded([await load(needs, source, { operator, action: 'lists import', may_shrink })])
    },
  }),
  command({
    words: 'lists diff',
    summary: 'what two label sets say differently',
    operands: {
      before: needed(whole('BEFORE', 'the number of a label set', { min: 0, max: 2 ** 31 - 1 })),
      after: whole('AFTER', 'of another one (the newest)', { min: 0, max: 2 ** 31 - 1 }),
    },
    async run({ sql }, { before, after }) {
      const sets = [
        await requireSet(sql, before),
        await requireSet(sql, after ?? (await newestSet(sql))),
      ] as const
      return { value: await diffSets(sql, ...sets) }
    },
  }),
  change({
    words: 'lists schedule',
    summary: 'have a list loaded from its publisher again and again, or not any more',
    operands: { list: needed(list) },
    options: {
      hours: whole('HOURS', 'load it so often', { max: 10_000 }),
      off: flag('load it only when told to'),
      url: text('URL', 'load it from this address from now on'),
    },
    async run(tx, _needs, { list: code, hours, off, url }) {
      if (off && hours !== undefined) throw refusal('Either --hours or --off.')
      if (url !== undefined && !/^https?:\/\//.test(url))
        throw refusal(`${url} is not an http:// or https:// address.`)
      const { before, after } = await setSchedule(tx, { list: code, url, hours, off })
      const same = before.url === after.url && before.refresh_hours === after.refresh_hours
      const value = { list: code, ...after }
      return {
        result: { value },
        actions: same ? [] : [{ subject: `list:${code}`, before, after }],
      }
    },
  }),
]
