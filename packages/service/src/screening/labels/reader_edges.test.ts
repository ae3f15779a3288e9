// How files are read that are not as their publishers write them: cut anywhere, with other ends of
// lines, with parts that are empty, in another place, or as long as they may be.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressFromBytes } from 'penstock-tron/address.ts'
import { csvRecords } from './csv.ts'
import { readEu, readOfsi, readUn } from './designations.ts'
import { type ListReader, linesOf, readInstant } from './list_entries.ts'
import { readOfac } from './ofac.ts'
import { readOpenSanctions } from './opensanctions.ts'
import { readOperatorTable, readSeizureOrders, readTable } from './tables.ts'
import { readTagPack } from './tagpacks.ts'

const address = (n: number) => addressFromBytes(Uint8Array.of(0x41, ...new Uint8Array(20).fill(n)))
const [A, B, C] = [address(1), address(2), address(3)]

async function* chunksOf(text: string, size = 1 << 16): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}
const read = (reader: ListReader, text: string) => reader(chunksOf(text))

const recordsOf = async (text: string, size?: number) =>
  (await Array.fromAsync(csvRecords(chunksOf(text, size)))).flat()

test('records and their lines are the same however lines end and a file is cut', async () => {
  const lines = ['a, b', '', '"c, d",e', '  ', '"say ""f""","g"', 'last,"one"']
  const records = [
    { line: 1, fields: ['a', 'b'] },
    { line: 3, fields: ['c, d', 'e'] },
    { line: 5, fields: ['say "f"', 'g'] },
    { line: 6, fields: ['last', 'one'] },
  ]
  for (const newline of ['\n', '\r\n', '\r'])
    for (const end of ['', newline])
      for (const size of [1, 2, 3, 4, 5, 6, 7, 100]) {
        const found = await recordsOf(lines.join(newline) + end, size)
        assert.deepEqual(found, records, JSON.stringify([newline, end, size]))
      }
})

test('a record with quotes goes on over lines, and is named by its last', async () => {
  assert.deepEqual(await recordsOf('a\n"b ""c\n\nd, e",f\ng\n', 4), [
    { line: 1, fields: ['a'] },
    { line: 4, fields: ['b "c\n\nd, e', 'f'] },
    { line: 5, fields: ['g'] },
  ])
  await assert.rejects(recordsOf('a\n"b\n"c",d"\n'), /^Refused: line 3: Invalid/)
  await assert.rejects(recordsOf('a\n\n"b\nc,d\n'), /line 3: a quote is not closed/)
})

test('a record has up to a million characters, and one that is longer is named', async () => {
  const long = 'x'.repeat(1_000_000)
  assert.deepEqual(
    (await recordsOf(`a\n${long}`)).map(({ fields }) => fields[0]!.length),
    [1, 1_000_000],
  )
  assert.equal((await recordsOf(`${long}`)).length, 1)
  await assert.rejects(recordsOf(`a\n${long}x`), /line 2: it is longer than any record/)
  await assert.rejects(recordsOf(`${long}x`), /line 1: it is longer than any record/)
  const lines = `${'y'.repeat(100_000)}\n`.repeat(11)
  for (const size of [1 << 16, 1 << 22]) {
    const text = `a\nb\n"${lines}`
    await assert.rejects(recordsOf(text, size), /line 3: it is longer than any record/)
    await assert.rejects(recordsOf(`a\n"${long}"\nb\n`, size), /line 2: it is longer/)
  }
})

test('a file that begins with an empty line may be longer than a record', async () => {
  assert.equal((await recordsOf(`\n${'ab,cd\n'.repeat(200_000)}`)).length, 200_000)
})

test('an instant is one of a day that has such an hour', () => {
  for (const none of ['2026-01-31T25:00:00Z', '2026-01-31 10:60', '2026-01-31T10:00+30:00'])
    assert.throws(() => readInstant(none, 'x'), /not a date/, none)
  assert.equal(readInstant('2026-01-31T10:00:00.5', 'x')?.getMilliseconds(), 500)
})

test('a line of JSON has up to 16 million characters', async () => {
  async function* one(length: number) {
    yield Buffer.alloc(length, 'x')
  }
  const [line] = await Array.fromAsync(linesOf(one(16_000_000)))
  assert.equal(line!.length, 16_000_000)
  await assert.rejects(Array.fromAsync(linesOf(one(16_000_001))), /more than 16 million/)
})

test("the header of OFSI's table names its remarks and its number, in one line", async () => {
  const rest = `Regime,Other Information,Group ID\nCyber,${A},7\n`
  for (const above of ['Other Information', 'Group ID', 'Last Updated']) {
    const { entries, designations } = await read(readOfsi, `${above}\n${rest}`)
    assert.deepEqual([entries.length, entries[0]!.entity, designations], [1, 'OFSI 7', 1], above)
  }
  assert.equal((await read(readOfsi, rest)).entries.length, 1)
  await assert.rejects(read(readOfsi, 'Last Updated\n'), /no header/)
})

test("a party of the European Union's list goes by its own number where it has one", async () => {
  const { entries } = await read(
    readEu,
    `<export><sanctionEntity euReferenceNumber="" logicalId="5" programme="PRK">
      <regulation programme="SYR"/><regulation number="x"/><regulation programme="RUS"/>
      <remark programme="LBY">${A}</remark></sanctionEntity>
    <remark>${B}</remark></export>`,
  )
  assert.deepEqual(
    entries.map(({ address, entity, reference }) => [address, entity, reference]),
    [[A, 'EU 5', 'RUS SYR']],
  )
})

test("what is empty in a party of the United Nations' list takes nothing back", async () => {
  const { entries } = await read(
    readUn,
    `<CONSOLIDATED_LIST><INDIVIDUAL><REFERENCE_NUMBER>KPi.1</REFERENCE_NUMBER>
      <UN_LIST_TYPE>DPRK</UN_LIST_TYPE><UN_LIST_TYPE>Al-Qaida</UN_LIST_TYPE>
      <REFERENCE_NUMBER/><UN_LIST_TYPE/><OTHER>more</OTHER>
      <NOTE>${A}</NOTE></INDIVIDUAL></CONSOLIDATED_LIST>`,
  )
  assert.deepEqual(
    entries.map(({ entity, reference }) => [entity, reference]),
    [['UN KPi.1', 'Al-Qaida DPRK']],
  )
  await assert.rejects(read(readUn, '<CONSOLIDATED_LIST/>'), /it names nobody/)
})

/** A list of OFAC's with these features of parties and these entries. */
const ofac = (parties: string, entries: string) =>
  read(
    readOfac,
    `<Sanctions><FeatureType ID="9">Digital Currency Address - TRX</FeatureType>
    <FeatureType ID="8">Birthdate</FeatureType>
    <Other ID="7">Digital Currency Address - TRX</Other>
    ${parties}${entries}</Sanctions>`,
  )

test("an address of OFAC's lists has its own party and programmes", async () => {
  const feature = (type: string, inside: string) =>
    `<Feature FeatureTypeID="${type}"><Comment>${C}</Comment>${inside}</Feature>`
  const detail = (text: string) => `<VersionDetail>${text}</VersionDetail>`
  const { entries, passed_over } = await ofac(
    `<Profile ID="1">${feature('9', detail(A) + detail(''))}</Profile>
    <Profile ID="2">${feature('9', detail(B))}${feature('8', detail(C))}</Profile>
    <Profile ID="3">${feature('7', detail(C))}${detail(C)}</Profile>`,
    `<SanctionsEntry ProfileID="2">
      <SanctionsMeasure SanctionsTypeID="1"><Comment>IRAN</Comment><Note>odd</Note>
      </SanctionsMeasure><SanctionsMeasure SanctionsTypeID="1"><Comment/></SanctionsMeasure>
      <SanctionsMeasure SanctionsTypeID="2"><Comment>other</Comment></SanctionsMeasure>
      <Elsewhere SanctionsTypeID="1"><Comment>aside</Comment></Elsewhere></SanctionsEntry>
    <SanctionsEntry ProfileID="1">
      <SanctionsMeasure SanctionsTypeID="1"><Comment>CUBA</Comment></SanctionsMeasure>
    </SanctionsEntry>`,
  )
  assert.deepEqual(
    entries.map(({ address, entity, reference }) => [address, entity, reference]),
    [
      [A, 'SDN 1', 'CUBA'],
      [B, 'SDN 2', 'IRAN'],
    ],
  )
  assert.equal(passed_over, 0)
})

test('a list in XML is one that has bytes, its own root, and an end', async () => {
  await assert.rejects(read(readOfac, ''), /not one of OFAC's lists/)
  await assert.rejects(read(readOfac, ' '), /not one of OFAC's lists/)
  await assert.rejects(read(readOfac, '<Other><Sanctions/></Other>'), /begins with <Other>/)
  await assert.rejects(read(readOfac, '<Sanctions><Profile></Profile>'), /OFAC's lists: /)
  const one = readOfac(chunksOf('<ns:Sanctions xmlns:ns="x"/>', 1))
  assert.deepEqual((await one).entries, [])
})

test("each of OpenSanctions' topics is a category, and a dataset may say it first", async () => {
  const of = async (datasets: unknown, topics: unknown) => {
    const properties = { publicKey: [A, 5], topics }
    const line = JSON.stringify({ id: 'w', schema: 'CryptoWallet', properties, datasets })
    const { entries } = await read(readOpenSanctions, line)
    return entries.map(({ category, kind, confidence }) => `${category} ${kind} ${confidence}`)
  }
  const found: [unknown, unknown, string][] = [
    [['il_mod_x'], ['sanction'], 'terrorism_financing authority 100'],
    [['ransomwhere'], ['sanction'], 'ransom curated 60'],
    [['x'], ['crime.terror'], 'terrorism_financing curated 60'],
    [['x'], ['sanction', 'crime.fraud'], 'scam curated 60'],
    [['x'], ['crime.theft'], 'stolen_coins curated 60'],
    [['x'], ['crime.traffick.drug'], 'dark_market curated 60'],
    [['x'], ['sanction.linked'], 'sanctions curated 60'],
    [['x'], ['crime'], 'illegal_service curated 60'],
    [['gb_hmt'], ['poi'], 'sanctions authority 100'],
    [['x'], [5, null], 'enforcement_action curated 60'],
    ['gb_hmt', 'sanction', 'enforcement_action curated 60'],
  ]
  for (const [datasets, topics, said] of found)
    assert.deepEqual(await of(datasets, topics), [said], JSON.stringify([datasets, topics]))
})

test('a file of OpenSanctions may have one line, and an empty one', async () => {
  assert.deepEqual((await read(readOpenSanctions, '{}')).entries, [])
  assert.deepEqual((await read(readOpenSanctions, '\n \n{}\n')).entries, [])
  await assert.rejects(read(readOpenSanctions, ''), /it is empty/)
  for (const text of ['null', '5', '"text"', '{'])
    await assert.rejects(read(readOpenSanctions, `{}\n${text}`), /line 2 is not an entity/, text)
})

test('a table says how sure it is, from when to when, and of whom, or what is usual', async () => {
  const header = 'address,category,label,confidence,valid_from,valid_to,reference'
  const of = async (row: string) => (await read(readOperatorTable, `${header}\n${row}\n`)).entries
  const said = async (row: string) => {
    const [found] = await of(row)
    return [found!.category, found!.entity, found!.confidence, found!.reference]
  }
  assert.deepEqual(await said(`${A},mixer,Him,0,,,here`), ['mixer', 'Him', 0, 'here'])
  assert.deepEqual(await said(`${A},mixer,,100,,,`), ['mixer', 'unnamed', 100, ''])
  assert.deepEqual(await said(`${A},mixer,,,,,`), ['mixer', 'unnamed', 100, ''])
  for (const odd of ['101', '0100', '1 0'])
    await assert.rejects(of(`${A},mixer,,${odd},,,`), /line 2: the confidence/, odd)
  const days = (from: string, to: string) => of(`${A},mixer,,,${from},${to},`)
  await assert.rejects(days('2026-01-02', '2026-01-02'), /line 2: valid_to is not after/)
  assert.equal((await days('2026-01-02', '2026-01-02T00:00:01Z')).length, 1)
  assert.equal((await days('2026-01-02', ''))[0]!.valid_to, undefined)
  assert.equal((await days('', '1969-01-02'))[0]!.valid_from, undefined)
  await assert.rejects(of(`${A},mixer,,,,,,`), /line 2: it has 8 columns, and not 7/)
  await assert.rejects(of(`${A},mixer,,,,`), /line 2: it has 6 columns, and not 7/)
})

test('a category of its own goes before the one of the whole table', async () => {
  const text = `address,category\n${A},mixer\n${B},\n${C},mixer\n`
  const { entries } = await readTable(chunksOf(text), { category: 'scam' })
  assert.deepEqual(
    entries.map(({ category }) => category),
    ['mixer', 'scam', 'mixer'],
  )
  await assert.rejects(read(readOperatorTable, text), /line 3: there is no category ""/)
})

test('a seizure order needs a column of addresses, and no number', async () => {
  const { entries } = await read(readSeizureOrders, `wallet,order\n${A},\n${B},5\n`)
  assert.deepEqual(
    entries.map(({ entity, reference, valid_to }) => [entity, reference, valid_to]),
    [
      ['NBCTF order', '', undefined],
      ['NBCTF order 5', '5', undefined],
    ],
  )
  await assert.rejects(read(readSeizureOrders, `where,order\n${A},5\n`), /none of the columns/)
})

test('a tag is curated from 20 percent on, and needs an address and a category', async () => {
  const tags = (more: string) => read(readTagPack, `tags:\n${more}`)
  const tag = (fields: string) => `  - {address: ${A}, ${fields}}\n`
  const sure = async (confidence: string) => {
    const { entries } = await tags(tag(`category: scam, confidence: ${confidence}`))
    return [entries[0]!.confidence, entries[0]!.kind]
  }
  assert.deepEqual(await sure('web_crawl'), [20, 'curated'])
  assert.deepEqual(await sure('heuristic'), [10, 'heuristic'])
  assert.deepEqual(await sure('~'), [5, 'heuristic'])
  const odd = await tags('  - {category: scam}\n  - {address: 5, category: scam}\n')
  assert.deepEqual([odd.entries.length, odd.passed_over], [0, 2])
  const named = async (fields: string) => (await tags(tag(fields))).entries[0]?.category
  assert.equal(await named('category: exchange, concepts: [5, mixing_service]'), 'mixer')
  assert.equal(await named('category: exchange, concepts: mixing_service'), 'exchange_unlicensed')
  assert.equal(await named('abuse: scam, concepts: [mixing_service]'), 'scam')
  assert.equal(await named('abuse: 5'), undefined)
})

test('what is no tag and no pack is named by its place', async () => {
  const scam = `{address: ${A}, category: scam}`
  await assert.rejects(read(readTagPack, ''), /This is not a TagPack: it has no tags/)
  for (const text of ['~', 'text', '5', '[1]', 'tags: 5', 'tags: {}', 'title: one'])
    await assert.rejects(read(readTagPack, text), /^Refused: This is not a TagPack/, text)
  for (const odd of ['5', '~', 'text', '[1]'])
    await assert.rejects(
      read(readTagPack, `tags:\n  - ${scam}\n  - ${odd}\n`),
      /^Refused: tag 2 is not a tag/,
      odd,
    )
  const pack = `tags:\n  - ${scam}\n`
  await assert.rejects(
    read(readTagPack, `---\n${pack}---\ntags: [5]\n`),
    /^Refused: pack 2, tag 1 is not a tag/,
  )
  await assert.rejects(read(readTagPack, 'tags: [\n'), /YAMLParseError/)
})

test('a TagPack has up to 32 million characters', async () => {
  const pack = `tags:\n  - {address: ${A}, category: scam}\n# `
  async function* long(length: number) {
    yield Buffer.from(pack.padEnd(length, 'x'))
  }
  assert.equal((await readTagPack(long(32_000_000))).entries.length, 1)
  await assert.rejects(readTagPack(long(32_000_001)), /more than 32 million characters/)
})
