// Archives and bundles of cases to the byte: what is read of one, and what is found that was
// changed.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import { CompactSign, exportJWK, generateKeyPair } from 'jose'
import { BUNDLE_TYPE, isBundle, makeBundle, verifyBundle } from './case_bundle.ts'
import { unzip, type ZipFile, zipOf } from './zip.ts'

const file = (name: string, text: string): ZipFile => ({ name, bytes: Buffer.from(text) })
const FILES = [file('a.txt', 'one'), file('ü.txt', 'zwei')]
/** Of the directory at the end, and of the headers of files in it. */
const [END_BYTES, LISTED_BYTES] = [22, 46]

test('both headers of a file say how it is written, and where it is', () => {
  const archive = zipOf(FILES)
  const end = archive.length - END_BYTES
  assert.deepEqual([archive.readUInt16LE(end + 8), archive.readUInt16LE(end + 10)], [2, 2])
  let at = archive.readUInt32LE(end + 16)
  for (const { name, bytes } of FILES) {
    const local = archive.readUInt32LE(at + 42)
    assert.equal(archive.readUInt32LE(local), 0x04034b50)
    assert.equal(archive.readUInt32LE(at), 0x02014b50)
    for (const fields of [local + 4, at + 6]) {
      const short = [0, 2, 4, 6, 8, 22].map((offset) => archive.readUInt16LE(fields + offset))
      assert.deepEqual(short, [20, 0x800, 0, 0, 0x5c21, Buffer.byteLength(name)])
      const long = [10, 14, 18].map((offset) => archive.readUInt32LE(fields + offset))
      assert.deepEqual(long, [crc32(bytes), bytes.length, bytes.length])
    }
    at += LISTED_BYTES + Buffer.byteLength(name)
  }
  assert.equal(at, end)
})

test('files are read back by the directory, and what has none is no archive', () => {
  const read = (archive: Buffer) =>
    unzip(archive)?.map(({ name, bytes }) => [name, Buffer.from(bytes).toString()])
  assert.deepEqual(read(zipOf(FILES)), [
    ['a.txt', 'one'],
    ['ü.txt', 'zwei'],
  ])
  assert.deepEqual(read(zipOf([])), [])
  assert.equal(read(Buffer.alloc(5)), undefined)
  assert.equal(read(Buffer.alloc(30)), undefined)
  const changed = (at: number, value: number) => {
    const archive = zipOf(FILES)
    archive.writeUInt32LE(value, at < 0 ? archive.length + at : at)
    return archive
  }
  assert.equal(read(changed(-6, 0)), undefined, 'its directory is said to be where a file is')
  assert.equal(read(changed(-6, 1_000_000)), undefined, 'or beyond the end')
  // A directory of one file that ends where the archive does.
  const listed = Buffer.alloc(LISTED_BYTES - END_BYTES)
  listed.writeUInt32LE(0x02014b50)
  const end = zipOf([])
  end.writeUInt16LE(1, 10)
  assert.equal(unzip(Buffer.concat([listed, end]))?.length, 1)
})

test('a bundle begins as an archive does, with both of its letters', () => {
  const begins = (text: string) => isBundle(Buffer.from(text))
  assert.deepEqual(['PK', 'PK\x03\x04', 'P', 'Px', 'xK', '<!', ''].map(begins), [
    true,
    true,
    false,
    false,
    false,
    false,
    false,
  ])
})

async function signing() {
  const { publicKey, privateKey } = await generateKeyPair('EdDSA')
  const keys = { keys: [{ ...(await exportJWK(publicKey)), kid: 'k', alg: 'EdDSA' }] }
  const signAs = (typ: string | undefined) => (payload: string) =>
    new CompactSign(Buffer.from(payload))
      .setProtectedHeader({ alg: 'EdDSA', kid: 'k', ...(typ !== undefined && { typ }) })
      .sign(privateKey)
  return { keys, signAs }
}

const SUBJECT = { kind: 'case', id: 'c', issued_at: 'now' }
const TEXTS = [
  { name: 'a.txt', text: 'one' },
  { name: 'b.txt', text: 'two' },
]

test('of a bundle each file that is not as it was signed is found', async () => {
  const { keys, signAs } = await signing()
  const archive = await makeBundle(SUBJECT, TEXTS, signAs(BUNDLE_TYPE))
  const { manifest, key_id, findings } = await verifyBundle(archive, keys)
  assert.deepEqual([manifest.id, key_id, findings], ['c', 'k', []])
  const files = unzip(archive)!
  assert.deepEqual(
    files.map(({ name }) => name),
    ['a.txt', 'b.txt', 'manifest.json', 'manifest.jws'],
  )
  const found = async (changed: Buffer) =>
    (await verifyBundle(changed, keys)).findings.map(({ part, found: what }) => `${part}: ${what}`)
  const replaced = (name: string, text: string) =>
    zipOf(files.map((one) => (one.name === name ? file(name, text) : one)))
  assert.deepEqual(await found(replaced('b.txt', 'TWO')), ['b.txt: it was changed'])
  assert.deepEqual(await found(replaced('manifest.json', '{}')), ['manifest.json: it was changed'])
  assert.deepEqual(await found(zipOf(files.slice(1))), ['a.txt: it is missing'])
  assert.deepEqual(await found(zipOf([...files, file('c', '')])), ['c: it was added'])
  const dated = Buffer.from(archive)
  dated.writeUInt16LE(1, 12)
  const around = 'the archive: something around the files was changed'
  assert.deepEqual(await found(dated), [around])
  const both = replaced('b.txt', 'TWO')
  both.writeUInt16LE(1, 12)
  assert.deepEqual(await found(both), ['b.txt: it was changed'])
})

test('what is no bundle, or signed as something else, is refused with its reason', async () => {
  const { keys, signAs } = await signing()
  const refused = (archive: Buffer, why: RegExp) => assert.rejects(verifyBundle(archive, keys), why)
  const unreadable = /The seal is wrong: the archive has none that can be read/
  await refused(Buffer.from('no archive at all, of any kind'), unreadable)
  await refused(zipOf(FILES), unreadable)
  await refused(await makeBundle(SUBJECT, TEXTS, signAs('other')), /it is signed as other/)
  await refused(await makeBundle(SUBJECT, TEXTS, signAs(undefined)), /signed as something else/)
  const odd = { ...SUBJECT, id: 5 as never }
  await refused(await makeBundle(odd, TEXTS, signAs(BUNDLE_TYPE)), /of a form that is not known/)
  const others = (await signing()).keys
  const archive = await makeBundle(SUBJECT, TEXTS, signAs(BUNDLE_TYPE))
  await assert.rejects(verifyBundle(archive, others), /The seal is wrong: /)
})
