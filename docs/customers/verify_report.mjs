#!/usr/bin/env node
// Verifies a signed report of a screening check or a case of Penstock. It needs Node 18 and nothing
// else, asks no network and shares no code with the service:
//
//   node verify_report.mjs REPORT.html JWKS.json [FOLDER]
//
// JWKS.json is what the service publishes at /.well-known/jwks.json: keep it from another day. With
// FOLDER the texts inside (evidence, files) are written there. It ends with 1 if a part is wrong.
import { createHash, createPublicKey, verify } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex')
const must = (holds, otherwise) => {
  if (!holds) throw new Error(otherwise)
}
const octets = (text) => {
  const bytes = Buffer.from(text, 'base64url')
  must(bytes.toString('base64url') === text, 'the seal is no base64url')
  return bytes
}

const headOf = (text) => {
  try {
    return JSON.parse(octets(text))
  } catch {
    throw new Error('the seal cannot be read')
  }
}

/** What was signed: the seal is a JSON Web Signature over Ed25519 (RFC 7515, RFC 8037). */
function manifestOf(jws, keys) {
  const [head, payload, signature] = jws.split('.')
  const { alg, typ, kid } = headOf(head)
  must(alg === 'EdDSA' && typ === 'penstock-report+json', 'the seal is of something else')
  const key = keys.find((one) => one.kid === kid && one.kty === 'OKP' && one.crv === 'Ed25519')
  must(key, `the seal is by key ${kid}, which is not in the set`)
  const signed = Buffer.from(`${head}.${payload}`)
  const right = verify(null, signed, createPublicKey({ key, format: 'jwk' }), octets(signature))
  must(right, 'the seal was changed')
  return JSON.parse(octets(payload))
}

const [file, keys_file, folder] = process.argv.slice(2)
try {
  // A byte is a letter here, so nothing is lost by reading it as text.
  const whole = readFileSync(file, 'latin1')
  const [, body, jws] = /^(.*)<!--seal ([\w.-]+)-->\n$/s.exec(whole) ?? []
  must(jws, 'the seal is not at the end')
  const { kind, id, issued_at, parts } = manifestOf(jws, JSON.parse(readFileSync(keys_file)).keys)
  let at = 0
  for (const { name, bytes, sha256: sum, text_sha256 } of parts) {
    const part = Buffer.from(body.slice(at, at + bytes), 'latin1')
    must(sha256(part) === sum, `the part ${name} was changed`)
    at += bytes
    if (text_sha256 === null) continue
    const text = Buffer.from(/<!--([\w+/=]*)-->\n$/.exec(part.toString())[1], 'base64')
    must(sha256(text) === text_sha256, `the text of ${name} is another`)
    if (folder) writeFileSync(join(folder, name.replace(/[^\w-]/g, '_')), text)
    console.log(`${name}: SHA-256 ${text_sha256}`)
  }
  must(at === body.length, 'something was added before the seal')
  console.log(`right: ${kind} ${id}, signed at ${issued_at}`)
} catch (wrong) {
  console.log(`WRONG: ${wrong.message}`)
  process.exitCode = 1
}
