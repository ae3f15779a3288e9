// Reports of checks and cases that stand alone: signed, and verified without the service.

import { Type } from 'typebox'
import { wireTime } from '../../lib/clock.ts'
import { refusal } from '../../lib/fault.ts'
import { receiptSigner } from '../../market/receipts/routes.ts'
import { flag, ListOf, optional, Text, text } from '../../platform/wire/schemas.ts'
import { readFile, showCase } from '../../screening/cases/case_subjects.ts'
import { requireEvidence } from '../../screening/checks/history.ts'
import { readEvidence, sha256Of } from '../../screening/engine/evidence.ts'
import { casePage } from '../../screening/reports/case_page.ts'
import { forCustomers, readReportContext } from '../../screening/reports/context.ts'
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
  local({
    path: '/operator/aml/reports/verify',
    summary: 'whether a signed report is as it was signed; names the part that is not',
    description: 'It needs no database; the exit code is 1 when something is wrong.',
    body: Type.Object({
      report: text('REPORT', 'the report, as text'),
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
        file: text('FILE', 'the report'),
        keys_file: optional(text('FILE', 'the public keys, kept from /.well-known/jwks.json')),
      }),
      filled: ['report', 'keys'],
      async before({ file, keys_file }, terminal) {
        const report = await terminal.readFile(file)
        if (keys_file === undefined) return { report }
        return { report, keys: await terminal.readFile(keys_file) }
      },
    },
    async handle({ body: { report, keys, service_url }, ...needs }) {
      const set = keys ?? (await publishedKeys(needs, service_url ?? needs.publicUrl()))
      const { manifest, key_id, findings } = await verifyReport(report, keySetOf(set))
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
