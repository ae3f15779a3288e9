// C10 as the auditor works it out: the seals of the ledger's entries, sum by sum, from the form
// that they are said to have. The service seals and checks with functions of the database; nothing
// of those is used here.

import { createHash } from 'node:crypto'
import type pg from 'pg'
import { inSnapshot } from './rows.ts'

export type Entry = {
  number: bigint
  id: string
  kind: string
  hold_id: string | null
  debit: string
  credit: string
  amount_sun: bigint
  /** In microseconds since 1970. */
  made_us: bigint
}
export type Seal = {
  number: bigint
  first_entry: bigint
  last_entry: bigint
  entries: bigint
  sealed_us: bigint
  actions: bigint
  sha256: string
  /** The sum of the operators' record that it names. */
  record: string | null
}
export type Journal = { entries: Entry[]; seals: Seal[] }

/** Reads seals and entries as they are committed at one moment. */
export async function readJournal(client: pg.Client): Promise<Journal> {
  return inSnapshot(client, async (read) => ({
    entries: await read<Entry>(`
      select number, id, kind, hold_id, debit, credit, amount_sun,
        (extract(epoch from made_at) * 1000000)::int8 as made_us
      from transfer order by number`),
    seals: await read<Seal>(`
      select j.number, first_entry, last_entry, entries,
             (extract(epoch from sealed_at) * 1000000)::int8 as sealed_us,
             actions, j.sha256, a.sha256 as record
      from journal as j left join operator_action as a on a.number = actions order by j.number`),
  }))
}

/** C10: the seals are numbered, cover every number up to the last without a gap, and are the sums
 *  of what is there. */
export function sealsHold({ entries, seals }: Journal): string[] {
  const findings: string[] = []
  let previous: Seal | undefined
  for (const seal of seals) {
    const mine = entries.filter(
      ({ number }) => number >= seal.first_entry && number <= seal.last_entry,
    )
    const follows =
      seal.number === (previous?.number ?? 0n) + 1n &&
      seal.first_entry === (previous?.last_entry ?? 0n) + 1n
    if (!follows) findings.push(`C10 seal ${seal.number} does not follow the one before`)
    if (
      BigInt(mine.length) !== seal.entries ||
      sumOf(seal, previous?.sha256 ?? '', mine) !== seal.sha256
    ) {
      findings.push(
        `C10 seal ${seal.number} of ${seal.entries} entries is not that of the ` +
          `${mine.length} that are there`,
      )
    }
    previous = seal
  }
  return findings
}

/** The sum over the seal's fields and its entries, written as PostgreSQL writes a row. */
function sumOf(seal: Seal, previous: string, entries: readonly Entry[]): string {
  const { number, first_entry, last_entry, actions, sealed_us, record } = seal
  const text = entries.length === 0 ? null : entries.map(entryText).join('\n')
  const fields = [
    previous,
    number,
    first_entry,
    last_entry,
    seal.entries,
    actions,
    timeText(sealed_us),
    record,
    text,
  ]
  const texts = fields.map((field) => (field === null ? '' : fieldText(String(field))))
  return createHash('sha256')
    .update(`(${texts.join(',')})`)
    .digest('hex')
}

function entryText({
  number,
  kind,
  amount_sun,
  made_us,
  id,
  debit,
  credit,
  hold_id,
}: Entry): string {
  const lengths = [id, debit, credit].map((text) => [...text].length)
  const start = [
    number,
    kind,
    amount_sun,
    timeText(made_us),
    ...lengths,
    hold_id === null ? -1 : [...hold_id].length,
  ]
  return [...start, id, debit, credit, ...(hold_id === null ? [] : [hold_id])].join(' ')
}

const EPOCH_2000_US = 946_684_800_000_000n

/** Microseconds since 2000 as eight bytes. */
const timeText = (us: bigint) =>
  BigInt.asUintN(64, us - EPOCH_2000_US)
    .toString(16)
    .padStart(16, '0')

const fieldText = (text: string) =>
  text === '' || /[",()\\\s]/.test(text)
    ? `"${text.replaceAll('\\', '\\\\').replaceAll('"', '""')}"`
    : text
