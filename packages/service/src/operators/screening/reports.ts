// Reports of checks and cases that stand alone: signed, and verified without the service.

import { Type } from 'typebox'
import { wireTime } from '../../lib/clock.ts'
import { refusal } from '../../lib/fault.ts'
import { receiptSigner } from '../../market/receipts/routes.ts'
import { Count, flag, ListOf, optional, Text, text } from '../../platform/wire/schemas.ts'
import {
  BUNDLE_TYPE,
  type BundleFile,
  isBundle,
  makeBundle,
  verifyBundle,
} from '../../screening/cases/case_bundle.ts'
import { readFile, showCase } from '../../screening/cases/case_subjects.ts'
import { requireEvidence } from '../../screening/checks/history.ts'
import { readEvidence, sha256Of } from '../../screening/engine/evidence.ts'
import { casePage } from '../../screening/reports/case_page.ts'
import {
  forCustomers,
  type ListSource,
  readReportContext,
} from '../../screening/reports/context.ts'
import { reportPage } from '../../screening/reports/report.ts'
import {
  REPORT_TYPE,
  type ReportPart,
  signReport,
  verifyReport,
} from '../../screening/reports/signed.ts'
import { publishedKeys } from '../market/receipts.ts'
import { type Answer, local, look, type Needs, type Terminal } from '../table/operation.ts'

const Report = Type.Object({ id: Text, sha256: Text, document: Text })
type ReportAnswer = Answer<{ id: string; sha256: string; document: string }>

const written = {
  extras: Type.Object({ out: text('FILE', 'write the report to this file') }),
  async after(answer: ReportAnswer, { out }: { out: string }, { writeFile }: Terminal) {
    await writeFile(out, answer.value.document)
    return { ...answer, text: `The report is in ${out}.\n` }
  },
}

type Signer = Pick<Needs, 'sql' | 'clock' | 'seal'>

async function signed(
  { sql, clock, seal }: Signer,
  kind: 'check' | 'case',
  id: string,
  parts: readonly ReportPart[],
): Promise<ReportAnswer> {
  const sign = receiptSigner({ sql, seal: await seal() }, REPORT_TYPE)
  const issued_at = wireTime(clock.now())
  const document = await signReport({ kind, id, issued_at }, parts, sign)
  return { value: { id, sha256: sha256Of(document), document } }
}

/** The evidence of those of these checks of which it is kept. */
async function evidenceParts(sql: Needs['sql'], checks: readonly string[]) {
  const parts: ReportPart[] = []
  const missing: string[] = []
  for (const id of checks) {
    const evidence = await readEvidence(sql, id)
    if (evidence) parts.push({ name: `evidence-${id}`, text: evidence.canonical })
    else missing.push(id)
  }
  return { parts, missing }
}

/** A bundle in a body of JSON. */
const IN_BASE64 = 'zip:'

async function reportText(file: string, terminal: Terminal): Promise<string> {
  const pieces: Uint8Array[] = []
  for await (const piece of (await terminal.openFile(file)).bytes) pieces.push(piece)
  const bytes = Buffer.concat(pieces)
  return isBundle(bytes) ? IN_BASE64 + bytes.toString('base64') : bytes.toString('utf8')
}

/** The files of a bundle, those of the case first. */
async function bundleFiles(sql: Needs['sql'], id: string, now: Date): Promise<BundleFile[]> {
  const known = await showCase(sql, id, now)
  const checks = known.subjects.flatMap(({ kind, subject }) => (kind === 'check' ? [subject] : []))
  const missing: string[] = []
  const of_checks: BundleFile[] = []
  const lists = new Map<string, ListSource>()
  for (const check of checks) {
    const evidence = await readEvidence(sql, check)
    if (!evidence) {
      missing.push(check)
      continue
    }
    const context = await readReportContext(sql, evidence)
    for (const one of context.lists ?? []) lists.set(`${one.list} ${one.sha256}`, one)
    of_checks.push(
      { name: `checks/${check}.html`, text: reportPage(evidence, context) },
      { name: `checks/${check}.evidence.json`, text: evidence.canonical },
    )
  }
  const files = known.entries.filter(({ kind }) => kind === 'file')
  const { reviews, entries, subjects, earlier, ...about } = known
  return [
    { name: 'case.html', text: casePage(known, missing) },
    { name: 'case.json', text: inLines({ ...about, subjects, earlier }) },
    { name: 'decisions.json', text: inLines(reviews) },
    { name: 'history.json', text: inLines(entries) },
    { name: 'lists.json', text: inLines([...lists.values()]) },
    ...of_checks,
    ...(await Promise.all(
      files.map(async ({ number }) => {
        const { name, text } = await readFile(sql, id, number)
        return { name: `files/${number}-${plainName(name)}`, text }
      }),
    )),
  ]
}

const inLines = (value: unknown) => `${JSON.stringify(value, null, 1)}\n`
/** Nothing that an archive could write elsewhere with. */
const plainName = (name: string | null) => (name ?? 'file').replace(/[^\w.-]/g, '_')

export const reportOperations = [
  look({
    path: '/operator/aml/reports/check',
    summary: 'a signed report of a check in one file, with its evidence, for anybody to verify',
    description:
      'The key is the one that signs receipts; docs/customers/verify_report.mjs verifies it, too.',
    body: Type.Object({
      check: text('CHECK', 'the id of the check'),
      for_customer: flag('without the files of the lists and the thresholds of the rules'),
    }),
    reply: Report,
    cli: { operands: ['check'], ...written },
    async handle({ sql, body, ...needs }) {
      const evidence = await requireEvidence(sql, body.check)
      const whole = await readReportContext(sql, evidence)
      const page = reportPage(evidence, body.for_customer ? forCustomers(whole) : whole)
      const { parts } = await evidenceParts(sql, [body.check])
      return signed({ sql, ...needs }, 'check', body.check, [{ name: 'page', page }, ...parts])
    },
  }),
  look({
    path: '/operator/aml/reports/case',
    summary: 'a signed report of a case in one file: decisions, history, files and evidence',
    body: Type.Object({ case: text('CASE', 'the id of the case') }),
    reply: Report,
    cli: { operands: ['case'], ...written },
    async handle({ sql, clock, body: { case: id }, ...needs }) {
      const known = await showCase(sql, id, clock.now())
      const checks = known.subjects.flatMap(({ kind, subject }) =>
        kind === 'check' ? [subject] : [],
      )
      const { parts, missing } = await evidenceParts(sql, checks)
      const files = known.entries.filter(({ kind }) => kind === 'file')
      for (const { number } of files)
        parts.push({ name: `file-${number}`, text: (await readFile(sql, id, number)).text })
      return signed({ sql, clock, ...needs }, 'case', id, [
        { name: 'page', page: casePage(known, missing) },
        { name: 'case', text: JSON.stringify(known) },
        ...parts,
      ])
    },
  }),
  look({
    path: '/operator/aml/reports/bundle',
    summary: 'a case as an archive: reports, evidence, decisions, lists, files, and a signed list',
    description:
      'In it are the report of the case and of each of its checks, their evidence, the history ' +
      'and the decisions, which versions of lists the answers rest on with their SHA-256, and ' +
      "the case's files. `aml reports verify` names a file that was changed.",
    body: Type.Object({ case: text('CASE', 'the id of the case') }),
    reply: Type.Object({
      id: Text,
      sha256: Text,
      files: Count,
      archive: Type.String({ description: 'a zip, in base64' }),
    }),
    cli: {
      operands: ['case'],
      extras: Type.Object({ out: text('FILE', 'write the archive to this file') }),
      async after(answer, { out }, { writeFile }) {
        await writeFile(out, Buffer.from(answer.value.archive, 'base64'))
        return { ...answer, text: `The bundle is in ${out}.\n` }
      },
    },
    async handle({ sql, clock, body: { case: id }, ...needs }) {
      const files = await bundleFiles(sql, id, clock.now())
      const sign = receiptSigner({ sql, seal: await needs.seal() }, BUNDLE_TYPE)
      const issued_at = wireTime(clock.now())
      const archive = await makeBundle({ kind: 'case', id, issued_at }, files, sign)
      const value = { id, sha256: sha256Of(archive), files: files.length }
      return { value: { ...value, archive: archive.toString('base64') } }
    },
  }),
  local({
    path: '/operator/aml/reports/verify',
    summary: 'whether a signed report or bundle is as it was signed; names the part that is not',
    description: 'It needs no database; the exit code is 1 when something is wrong.',
    body: Type.Object({
      report: text('REPORT', 'the report, as text; or `zip:` and a bundle in base64'),
      keys: optional(text('KEYS', 'a JSON Web Key Set, as text')),
      service_url: optional(
        text('URL', 'the service whose public keys count (PENSTOCK_PUBLIC_URL, else this machine)'),
      ),
    }),
    reply: Type.Object({
      key_id: Text,
      kind: Text,
      id: Text,
      issued_at: Text,
      findings: ListOf({ part: Text, found: Text }),
    }),
    cli: {
      operands: ['file'],
      extras: Type.Object({
        file: text('FILE', 'the report, or the bundle'),
        keys_file: optional(text('FILE', 'the public keys, kept from /.well-known/jwks.json')),
      }),
      filled: ['report', 'keys'],
      async before({ file, keys_file }, terminal) {
        const report = await reportText(file, terminal)
        if (keys_file === undefined) return { report }
        return { report, keys: await terminal.readFile(keys_file) }
      },
    },
    async handle({ body: { report, keys, service_url }, ...needs }) {
      const set = keys ?? (await publishedKeys(needs, service_url ?? needs.publicUrl()))
      const { manifest, key_id, findings } = report.startsWith(IN_BASE64)
        ? await verifyBundle(Buffer.from(report.slice(IN_BASE64.length), 'base64'), keySetOf(set))
        : await verifyReport(report, keySetOf(set))
      const { kind, id, issued_at } = manifest
      const ok = findings.length === 0
      const note = ok ? 'It is as the service has signed it.' : 'It is not as it was signed.'
      return { value: { key_id, kind, id, issued_at, findings }, note, ok }
    },
  }),
]

function keySetOf(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    throw refusal('The set of public keys is not JSON.')
  }
}
