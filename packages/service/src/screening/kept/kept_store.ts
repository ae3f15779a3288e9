// Slots of a flow index in a file of SQLite, which Node brings along: one table of slots, one for
// the counterparties of those whose are counted, and one row for the block that they are of. What
// is saved is one transaction, so a process that ends in between leaves the block before. One
// connection has the file for itself: a second process that opens it is refused, and so cannot mix
// into it.
//
// A slot's row is found by an integer, the first eight bytes of its key: SQLite finds these
// fastest, and inner pages of such a table hold integers alone, so that few of them have all. Keys
// that begin alike are rare, but anyone can make some: the first of them has its row in `slot`, the
// others in `same_start`, by the whole key.

import { existsSync, renameSync, rmSync, statSync } from 'node:fs'
import { backup, DatabaseSync } from 'node:sqlite'
import { crc32 } from 'node:zlib'
import type { Entry, KeptHeader, SlotStore } from './kept.ts'
import { BrokenState, isCounted, KEY, type KeptSlot } from './slot_record.ts'

/** In the file's own header: that it is one of these, and of which form. FORM rises when a table, a
 *  record or KeptHeader changes: files of another form are removed, and computed anew. */
const APPLICATION = 0x464c4f57
const FORM = 2
/** Of its pages, how much SQLite keeps in memory. */
const CACHE_KIB = 16 * 1_024
/** A file up to this size is read through when it is opened: that takes less than a second. */
const CHECKED_BYTES = 256 * 2 ** 20

/** Pages that are copied at once. */
const PAGES_COPIED = 1_000

/** The file is whole, and of a form that this version does not read. */
export class OtherForm extends BrokenState {
  override name = 'OtherForm'
}

/** The file is in use by another process. */
export class HeldFile extends Error {
  override name = 'HeldFile'
}

/** There is no room for more, or the disk does not take it: what was saved before is there. */
export class DiskTrouble extends Error {
  override name = 'DiskTrouble'
}

type Statements = ReturnType<typeof prepareStatements>

type Row = [key: Uint8Array, state: Uint8Array]

export class KeptStore {
  readonly path: string
  readonly header: KeptHeader | undefined
  private readonly db: DatabaseSync
  private readonly statements: Statements
  /** Is called before each statement that changes the file. */
  private readonly before: () => void

  /** Opens a file, or makes it. Throws BrokenState, HeldFile or DiskTrouble. */
  constructor(path: string, { before = () => {} }: { before?: () => void } = {}) {
    this.path = path
    this.before = before
    this.db = guarded(() => new DatabaseSync(path))
    try {
      this.statements = guarded(() => this.prepare())
      this.header = guarded(() => this.readHeader())
      guarded(() => this.check())
    } catch (thrown) {
      this.db.close()
      throw thrown
    }
  }

  private prepare(): Statements {
    const { db } = this
    db.exec(`
      pragma locking_mode = exclusive;
      pragma page_size = 4096;
      pragma journal_mode = wal;
      pragma synchronous = normal;
      pragma cache_size = -${CACHE_KIB};
      pragma cell_size_check = on;
      pragma journal_size_limit = ${64 * 2 ** 20};
      begin immediate`)
    const { application_id: is } = db.prepare('pragma application_id').get() as {
      application_id: number
    }
    const { user_version: form } = db.prepare('pragma user_version').get() as {
      user_version: number
    }
    if (is === 0)
      db.exec(`
        create table slot (id integer primary key, key blob not null, state blob not null);
        create table same_start (key blob primary key, state blob not null) without rowid;
        create table counted (key blob primary key, others blob not null) without rowid;
        create table header (number integer primary key, text text not null, sum integer not null);
        pragma application_id = ${APPLICATION};
        pragma user_version = ${FORM}`)
    else if (is !== APPLICATION) throw new BrokenState('it is no index')
    else if (form !== FORM) throw new OtherForm('it is of another version')
    db.exec('commit')
    return prepareStatements(db)
  }

  private readHeader(): KeptHeader | undefined {
    const row = this.db.prepare('select text, sum from header').get() as
      | { text: string; sum: number }
      | undefined
    if (!row) return undefined
    if (crc32(row.text) !== row.sum) throw new BrokenState('its block is not as it was written')
    return JSON.parse(row.text) as KeptHeader
  }

  private check(): void {
    if (statSync(this.path).size > CHECKED_BYTES) return
    const found = this.db.prepare('pragma quick_check(1)').get() as { quick_check: string }
    if (found.quick_check !== 'ok') throw new BrokenState(found.quick_check)
    const row = this.db
      .prepare('select (select count(*) from slot) + (select count(*) from same_start) as slots')
      .get() as { slots: number }
    if (row.slots !== (this.header?.slots ?? 0)) throw new BrokenState('slots are missing')
  }

  load(key: Uint8Array): KeptSlot | undefined {
    return guarded(() => {
      const { load, loadSameStart } = this.statements
      let row = load.get(idOf(key)) as unknown as Row | undefined
      if (row && compare(row[0], key) !== 0)
        row = loadSameStart.get(key) as unknown as Row | undefined
      return row && { state: row[1], others: this.othersOf(row) }
    })
  }

  private othersOf([key, state]: Row): Uint8Array | undefined {
    if (!isCounted(state)) return undefined
    return (this.statements.others.get(key) as [Uint8Array] | undefined)?.[0]
  }

  begin(): void {
    this.before()
    guarded(() => this.db.exec('begin immediate'))
  }

  put({ key, state, others }: Entry): void {
    guarded(() => {
      this.before()
      if (this.statements.put.run(idOf(key), key, state).changes === 0) {
        this.before()
        this.statements.putSameStart.run(key, state)
      }
      if (!others) return
      this.before()
      this.statements.putOthers.run(key, others)
    })
  }

  commit(header: KeptHeader): void {
    guarded(() => {
      const text = JSON.stringify(header)
      this.before()
      this.statements.header.run(text, crc32(text))
      this.before()
      this.db.exec('commit')
      this.before()
    })
  }

  /** Ends what was begun, as if it had never been. */
  rollback(): void {
    if (this.db.isTransaction) this.db.exec('rollback')
  }

  /** See SlotStore. Slots whose keys begin alike are on one page. */
  scan(
    after: Uint8Array | undefined,
    { limit, counted }: { limit: number; counted: boolean },
  ): Entry[] {
    return guarded(() => (counted ? this.scanCounted(after, limit) : this.scanAll(after, limit)))
  }

  private scanAll(after: Uint8Array | undefined, limit: number): Entry[] {
    const { scan, scanSameStart } = this.statements
    const rows = scan.all(after ? idOf(after) : BEFORE_ALL, limit) as unknown as Row[]
    const last = rows.at(-1)
    if (!last) return []
    const others = scanSameStart.all(after ?? NO_KEY, behind(last[0])) as unknown as Row[]
    for (const other of others) rows.push(other)
    return rows
      .sort(([a], [b]) => compare(a, b))
      .map((row) => ({ key: row[0], state: row[1], others: this.othersOf(row) }))
  }

  private scanCounted(after: Uint8Array | undefined, limit: number): Entry[] {
    const rows = this.statements.scanCounted.all(after ?? NO_KEY, limit)
    return (rows as unknown as [Uint8Array][]).map(([key]) => {
      const slot = this.load(key)
      if (!slot) throw new BrokenState('a slot whose counterparties are counted is missing')
      return { key, ...slot }
    })
  }

  /** Makes another file of it, in portions between which others are answered. */
  async copyTo(path: string): Promise<void> {
    try {
      await backup(this.db, path, { rate: PAGES_COPIED })
    } catch (thrown) {
      removeKept(path)
      throw named(thrown)
    }
  }

  close(): void {
    this.db.close()
  }
}

function prepareStatements(db: DatabaseSync) {
  const statements = {
    load: db.prepare('select key, state from slot where id = ?'),
    loadSameStart: db.prepare('select key, state from same_start where key = ?'),
    others: db.prepare('select others from counted where key = ?'),
    put: db.prepare(`insert into slot (id, key, state) values (?, ?, ?)
      on conflict (id) do update set state = excluded.state where key = excluded.key`),
    putSameStart: db.prepare('insert or replace into same_start (key, state) values (?, ?)'),
    putOthers: db.prepare('insert or replace into counted (key, others) values (?, ?)'),
    header: db.prepare('insert or replace into header (number, text, sum) values (1, ?, ?)'),
    scan: db.prepare('select key, state from slot where id > ? order by id limit ?'),
    scanSameStart: db.prepare('select key, state from same_start where key > ? and key < ?'),
    scanCounted: db.prepare('select key from counted where key > ? order by key limit ?'),
  }
  for (const statement of Object.values(statements)) statement.setReturnArrays(true)
  return statements
}

const NO_KEY = new Uint8Array(0)
/** Of a key, those that are its id. */
const ID_BYTES = 8
/** Less than the id of any slot. */
const BEFORE_ALL = -(2n ** 63n)

/** The first bytes of a key as a signed integer, in the order of the keys; one more, so that none
 *  is BEFORE_ALL. It still fits: the first byte is an asset, below 255. */
const idOf = (key: Uint8Array): bigint =>
  new DataView(key.buffer, key.byteOffset).getBigUint64(0) + BEFORE_ALL + 1n

/** More than all keys that begin like one, and less than all others after it. */
const behind = (key: Uint8Array): Uint8Array =>
  Buffer.concat([key.subarray(0, ID_BYTES), Buffer.alloc(KEY, 0xff)])

const { compare } = Buffer

/** In words that the index acts by. */
function guarded<T>(work: () => T): T {
  try {
    return work()
  } catch (thrown) {
    throw named(thrown)
  }
}

const BUSY = 5
const READ_ONLY = 8
const IO = 10
const CORRUPT = 11
const FULL = 13
const CANNOT_OPEN = 14
const NO_DATABASE = 26

/** Codes of SQLite: https://www.sqlite.org/rescode.html. */
function named(thrown: unknown): unknown {
  const { errcode, message } = thrown as { errcode?: number; message?: string }
  if (errcode === undefined) return thrown
  switch (errcode & 255) {
    case BUSY:
      return new HeldFile('another process has the file')
    case CORRUPT:
    case NO_DATABASE:
      return new BrokenState(`${message}`)
    case FULL:
    case IO:
    case READ_ONLY:
    case CANNOT_OPEN:
      return new DiskTrouble(`${message}`)
    default:
      return thrown
  }
}

const FILES = ['', '-wal', '-shm']

export function removeKept(path: string): void {
  for (const end of FILES) rmSync(`${path}${end}`, { force: true })
}

/** Moves a file that cannot be read out of the way; one that was moved there before is deleted. */
export function moveAside(path: string): void {
  removeKept(`${path}.broken`)
  for (const end of FILES)
    if (existsSync(`${path}${end}`)) renameSync(`${path}${end}`, `${path}.broken${end}`)
}

/** A store in this thread, as what the index asks. */
export function keptHere(store: KeptStore): SlotStore {
  return {
    header: store.header,
    load: async (keys) => {
      const found: (KeptSlot | undefined)[] = []
      for (let at = 0; at < keys.length; at += KEY)
        found.push(store.load(keys.subarray(at, at + KEY)))
      return found
    },
    async save(entries, header) {
      store.begin()
      try {
        for (const entry of entries) store.put(entry)
        store.commit(header)
      } catch (thrown) {
        store.rollback()
        throw thrown
      }
    },
    scan: async (after, how) => store.scan(after, how),
    copyTo: (path) => store.copyTo(path),
    close: async () => store.close(),
  }
}
