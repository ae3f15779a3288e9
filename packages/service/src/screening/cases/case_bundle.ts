// A bundle of a case: an archive of files that anybody opens, with a manifest that names each with
// its SHA-256, and a JWS (EdDSA, by the key of the receipts) of the manifest as the last file. The
// archive has one form, so every byte of it is covered.

import { compactVerify, createLocalJWKSet, type JSONWebKeySet } from 'jose'
import { Type } from 'typebox'
import { refusal } from '../../lib/fault.ts'
import { sha256Of } from '../engine/evidence.ts'
import { unzip, type ZipFile, zipOf } from './zip.ts'

/** `typ` in the header of the JWS. */
export const BUNDLE_TYPE = 'penstock-bundle+json'

const [MANIFEST, SEAL] = ['manifest.json', 'manifest.jws']

const BundleForm = Type.Object({
  bundle: Type.Literal(1),
  kind: Type.String(),
  id: Type.String(),
  issued_at: Type.String(),
  files: Type.Array(
    Type.Object({ name: Type.String(), bytes: Type.Integer(), sha256: Type.String() }),
  ),
})
export type BundleManifest = Type.Static<typeof BundleForm>

export type BundleFile = { name: string; text: string }

/** Puts files together and signs them. `sign` makes the JWS of a payload. */
export async function makeBundle(
  subject: Pick<BundleManifest, 'kind' | 'id' | 'issued_at'>,
  files: readonly BundleFile[],
  sign: (payload: string) => Promise<string>,
): Promise<Buffer> {
  const inside = files.map(({ name, text }): ZipFile => ({ name, bytes: Buffer.from(text) }))
  const manifest: BundleManifest = {
    bundle: 1,
    ...subject,
    files: inside.map(({ name, bytes }) => ({
      name,
      bytes: bytes.length,
      sha256: sha256Of(bytes),
    })),
  }
  const text = JSON.stringify(manifest, null, 1)
  const jws = await sign(text)
  return zipOf([
    ...inside,
    { name: MANIFEST, bytes: Buffer.from(text) },
    { name: SEAL, bytes: Buffer.from(jws) },
  ])
}

/** An archive begins so, and no report does. */
export const isBundle = (bytes: Uint8Array): boolean => bytes[0] === 0x50 && bytes[1] === 0x4b

/** The manifest that was signed, by which key, and each file that is not as it was. Throws Refused
 *  when it is no bundle, or no key of the set has signed it. */
export async function verifyBundle(
  archive: Buffer,
  keys: unknown,
): Promise<{
  manifest: BundleManifest
  key_id: string
  findings: { part: string; found: string }[]
}> {
  const no = (why: string) => refusal(`The seal is wrong: ${why}.`)
  const files = unzip(archive)
  const jws = files?.find(({ name }) => name === SEAL)
  if (!files || !jws) throw no('the archive has none that can be read')
  const sealed = Buffer.from(jws.bytes).toString('latin1')
  const checking = async () =>
    compactVerify(sealed, createLocalJWKSet(keys as JSONWebKeySet), { algorithms: ['EdDSA'] })
  const signed = await checking().catch((thrown: Error) => {
    throw no(thrown.message)
  })
  const { typ, kid = '' } = signed.protectedHeader
  if (typ !== BUNDLE_TYPE) throw no(`it is signed as ${typ ?? 'something else'}`)
  const text = Buffer.from(signed.payload)
  const manifest: unknown = JSON.parse(text.toString('utf8'))
  const { Check } = await import('typebox/schema')
  if (!Check(BundleForm, manifest)) throw no('it is of a form that is not known here')
  const wanted = [
    ...manifest.files,
    { name: MANIFEST, sha256: sha256Of(text) },
    { name: SEAL, sha256: sha256Of(jws.bytes) },
  ]
  return { manifest, key_id: kid, findings: findingsOf(archive, files, wanted) }
}

function findingsOf(
  archive: Buffer,
  files: readonly ZipFile[],
  wanted: readonly { name: string; sha256: string }[],
): { part: string; found: string }[] {
  const found = new Map(files.map(({ name, bytes }) => [name, sha256Of(bytes)]))
  const wrong = wanted.flatMap(({ name, sha256 }) => {
    if (found.get(name) === sha256) return []
    return [{ part: name, found: found.has(name) ? 'it was changed' : 'it is missing' }]
  })
  const names = new Set(wanted.map(({ name }) => name))
  for (const { name } of files)
    if (!names.has(name)) wrong.push({ part: name, found: 'it was added' })
  if (wrong.length === 0 && !zipOf(files).equals(archive))
    wrong.push({ part: 'the archive', found: 'something around the files was changed' })
  return wrong
}
