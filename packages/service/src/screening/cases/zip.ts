// Archives that any program opens: files one after the other, not compressed, with one date: the
// same files are the same bytes. It reads its own, and nothing that has more to it.

import { crc32 } from 'node:zlib'

export type ZipFile = { name: string; bytes: Uint8Array }

/** 1 January 2026, midnight; names are UTF-8. */
const [TIME, DATE, UTF8] = [0, ((2026 - 1980) << 9) | (1 << 5) | 1, 0x800]
const [LOCAL, CENTRAL, END] = [0x04034b50, 0x02014b50, 0x06054b50]
const [LOCAL_SIZE, CENTRAL_SIZE, END_SIZE] = [30, 46, 22]

/** Fields that both headers of a file have, from the version on. */
function writeCommon(header: Buffer, at: number, { name, bytes }: ZipFile): void {
  header.writeUInt16LE(20, at)
  header.writeUInt16LE(UTF8, at + 2)
  header.writeUInt16LE(TIME, at + 6)
  header.writeUInt16LE(DATE, at + 8)
  header.writeUInt32LE(crc32(bytes), at + 10)
  header.writeUInt32LE(bytes.length, at + 14)
  header.writeUInt32LE(bytes.length, at + 18)
  header.writeUInt16LE(Buffer.byteLength(name), at + 22)
}

/** The files as an archive; less than 4 GB, and fewer than 65,535. */
export function zipOf(files: readonly ZipFile[]): Buffer {
  const pieces: Uint8Array[] = []
  const listed: Buffer[] = []
  let at = 0
  for (const file of files) {
    const name = Buffer.from(file.name)
    const local = Buffer.alloc(LOCAL_SIZE)
    local.writeUInt32LE(LOCAL, 0)
    writeCommon(local, 4, file)
    const central = Buffer.alloc(CENTRAL_SIZE)
    central.writeUInt32LE(CENTRAL, 0)
    central.writeUInt16LE(20, 4)
    writeCommon(central, 6, file)
    central.writeUInt32LE(at, 42)
    listed.push(central, name)
    pieces.push(local, name, file.bytes)
    at += LOCAL_SIZE + name.length + file.bytes.length
  }
  const directory = Buffer.concat(listed)
  const end = Buffer.alloc(END_SIZE)
  end.writeUInt32LE(END, 0)
  end.writeUInt16LE(files.length, 8)
  end.writeUInt16LE(files.length, 10)
  end.writeUInt32LE(directory.length, 12)
  end.writeUInt32LE(at, 16)
  return Buffer.concat([...pieces, directory, end])
}

/** The files of an archive, by its directory; undefined when it is none of ours. What its bytes
 *  hold beside them is for `zipOf` to say: the same files make the same archive. */
export function unzip(archive: Buffer): ZipFile[] | undefined {
  const end = archive.length - END_SIZE
  if (end < 0 || archive.readUInt32LE(end) !== END) return undefined
  const files: ZipFile[] = []
  let at = archive.readUInt32LE(end + 16)
  for (let left = archive.readUInt16LE(end + 10); left > 0; left--) {
    if (at + CENTRAL_SIZE > archive.length || archive.readUInt32LE(at) !== CENTRAL) return undefined
    const length = archive.readUInt16LE(at + 28)
    const name = archive.subarray(at + CENTRAL_SIZE, at + CENTRAL_SIZE + length)
    const from = archive.readUInt32LE(at + 42) + LOCAL_SIZE + length
    const bytes = archive.subarray(from, from + archive.readUInt32LE(at + 24))
    files.push({ name: name.toString(), bytes })
    at += CENTRAL_SIZE + length
  }
  return files
}
