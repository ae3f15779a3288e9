// A signed report: one file of HTML that a browser shows and anybody can verify without us. It is
// parts, each a line that names it and what follows, and ends with a JWS (EdDSA, by the key of the
// receipts) over the length and the SHA-256 of each part in order. So every byte of the file is
// covered, and one that was changed is found in its part.
//
//   <!--part page-->            the report as a page
//   <!--part evidence-ID-->     the evidence of a check, in base64 in a comment
//   <!--seal JWS-->

import { compactVerify, createLocalJWKSet, type JSONWebKeySet } from 'jose'
import { Type } from 'typebox'
import { refusal } from '../../lib/fault.ts'
import { sha256Of } from '../engine/evidence.ts'

/** `typ` in the header of the JWS. */
export const REPORT_TYPE = 'penstock-report+json'

/** A part: a page as it is, or a text that is kept byte for byte. */
export type ReportPart = { name: string; page: string } | { name: string; text: string }

const ManifestForm = Type.Object({
  report: Type.Literal(1),
  kind: Type.String(),
  /** Of the check or the case. */
  id: Type.String(),
  issued_at: Type.String(),
  parts: Type.Array(
    Type.Object({
      name: Type.String(),
      bytes: Type.Integer({ minimum: 0 }),
      sha256: Type.String(),
      /** Of the text that the part holds; null: it is a page. */
      text_sha256: Type.Union([Type.String(), Type.Null()]),
    }),
  ),
})
export type ReportManifest = Type.Static<typeof ManifestForm>

type Subject = Pick<ReportManifest, 'kind' | 'id' | 'issued_at'>

/** Puts parts together and signs them. `sign` makes the JWS of a payload. */
export async function signReport(
  subject: Subject,
  parts: readonly ReportPart[],
  sign: (payload: string) => Promise<string>,
): Promise<string> {
  const pieces = parts.map((part) => {
    const inside =
      'page' in part ? part.page : `<!--${Buffer.from(part.text).toString('base64')}-->\n`
    const written = `<!--part ${part.name}-->\n${inside}`
    const text_sha256 = 'text' in part ? sha256Of(part.text) : null
    const bytes = Buffer.byteLength(written)
    const row = { name: part.name, bytes, sha256: sha256Of(written), text_sha256 }
    return { written, row }
  })
  const manifest: ReportManifest = { report: 1, ...subject, parts: pieces.map(({ row }) => row) }
  const jws = await sign(JSON.stringify(manifest))
  return `${pieces.map(({ written }) => written).join('')}<!--seal ${jws}-->\n`
}

export type ReportFinding = { part: string; found: string }

/** The manifest of a report, the key that has signed it, and what of the file is not as it was
 *  signed. Throws Refused when it is no report, or no key of the set has signed it. */
export async function verifyReport(
  file: string,
  keys: unknown,
): Promise<{ manifest: ReportManifest; key_id: string; findings: ReportFinding[] }> {
  const no = (why: string) => refusal(`The seal is wrong: ${why}.`)
  const [, body, jws] = /^(.*)<!--seal ([\w.-]+)-->\n$/s.exec(file) ?? []
  if (body === undefined || jws === undefined) throw no('the file does not end with one')
  const exact = (part: string) => Buffer.from(part, 'base64url').toString('base64url') === part
  if (!jws.split('.').every(exact)) throw no('it is not three parts in base64url')
  const checking = async () =>
    compactVerify(jws, createLocalJWKSet(keys as JSONWebKeySet), { algorithms: ['EdDSA'] })
  const signed = await checking().catch((thrown: Error) => {
    throw no(thrown.message)
  })
  const { typ, kid = '' } = signed.protectedHeader
  if (typ !== REPORT_TYPE) throw no(`it is signed as ${typ ?? 'something else'}`)
  const manifest: unknown = JSON.parse(Buffer.from(signed.payload).toString('utf8'))
  const { Check } = await import('typebox/schema')
  if (!Check(ManifestForm, manifest)) throw no('it is of a form that is not known here')
  return { manifest, key_id: kid, findings: findingsOf(body, manifest) }
}

/** Parts follow each other, each as long as was signed. A byte more or less moves those behind it:
 *  the first that is wrong is the one to look at. */
function findingsOf(body: string, { parts }: ReportManifest): ReportFinding[] {
  const bytes = Buffer.from(body)
  let at = 0
  const wrong = parts.flatMap(({ name, bytes: length, sha256 }) => {
    const part = bytes.subarray(at, at + length)
    at += length
    return sha256Of(part) === sha256 ? [] : [{ part: name, found: 'it was changed' }]
  })
  if (bytes.length > at) wrong.push({ part: 'seal', found: 'something was added before it' })
  return wrong
}
