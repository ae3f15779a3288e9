import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { addressFromBytes } from 'penstock-tron/address.ts'
import { categoryNumber } from '../flow/categories.ts'
import { categoryNamed } from '../flow/category_names.ts'
import { readEu, readOfsi, readUn } from './designations.ts'
import { counted, type ListReader, linesOf, readInstant } from './list_entries.ts'
import { readOfac } from './ofac.ts'
import { readOpenSanctions } from './opensanctions.ts'
import { readOperatorTable, readSeizureOrders, readTable } from './tables.ts'
import { readTagPack } from './tagpacks.ts'

const address = (n: number) => addressFromBytes(Uint8Array.of(0x41, ...new Uint8Array(20).fill(n)))
const [A, B, C] = [address(1), address(2), address(3)]

async function* chunksOf(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}
const read = (reader: ListReader, text: string, size = 1 << 16) => reader(chunksOf(text, size))

const SDN = `<?xml version="1.0" encoding="utf-8"?>
<Sanctions xmlns="urn:example">
  <DateOfIssue CalendarTypeID="1"><Year>2026</Year></DateOfIssue>
  <ReferenceValueSets>
    <FeatureTypeValues>
      <FeatureType ID="8" FeatureTypeGroupID="1">Birthdate</FeatureType>
      <FeatureType ID="344" FeatureTypeGroupID="1">Digital Currency Address - XBT</FeatureType>
      <FeatureType ID="992" FeatureTypeGroupID="1">Digital Currency Address - USDT</FeatureType>
    </FeatureTypeValues>
  </ReferenceValueSets>
  <DistinctParties>
    <DistinctParty FixedRef="100">
      <Profile ID="100" PartySubTypeID="4">
        <Identity ID="1"><Alias><DocumentedName><DocumentedNamePart>
          <NamePartValue>Жёлтый &amp; Co</NamePartValue>
        </DocumentedNamePart></DocumentedName></Alias></Identity>
        <Feature ID="1" FeatureTypeID="992"><FeatureVersion ID="1"><Comment />
          <VersionDetail DetailTypeID="1432">${A}</VersionDetail>
        </FeatureVersion></Feature>
        <Feature ID="2" FeatureTypeID="344"><FeatureVersion ID="2"><Comment>an aside</Comment>
          <VersionDetail DetailTypeID="1432"> ${B} </VersionDetail>
        </FeatureVersion></Feature>
        <Feature ID="3" FeatureTypeID="344"><FeatureVersion ID="3">
          <VersionDetail DetailTypeID="1432">1EYitrwBSmPMnxPcoeWX8Pf8u9cz9LuvBP</VersionDetail>
        </FeatureVersion></Feature>
        <Feature ID="4" FeatureTypeID="8"><FeatureVersion ID="4">
          <VersionDetail>${C}</VersionDetail>
        </FeatureVersion></Feature>
      </Profile>
    </DistinctParty>
  </DistinctParties>
  <SanctionsEntries>
    <SanctionsEntry ID="100" ProfileID="100" ListID="1550">
      <EntryEvent ID="1"><Comment>an event</Comment></EntryEvent>
      <SanctionsMeasure ID="1" SanctionsTypeID="1705"><Comment>blocked</Comment></SanctionsMeasure>
      <SanctionsMeasure ID="2" SanctionsTypeID="1"><Comment>DPRK3</Comment></SanctionsMeasure>
      <SanctionsMeasure ID="3" SanctionsTypeID="1"><Comment>CYBER2</Comment></SanctionsMeasure>
    </SanctionsEntry>
  </SanctionsEntries>
</Sanctions>`

test("the SDN list gives this network's addresses, with profile and programmes", async () => {
  const { entries, passed_over } = await read(readOfac, SDN)
  assert.deepEqual(
    entries.map(({ address, category, entity, kind, confidence, reference }) => [
      ...[address, category, entity, kind, confidence, reference],
    ]),
    [
      [A, 'sanctions', 'SDN 100', 'authority', 100, 'CYBER2 DPRK3'],
      [B, 'sanctions', 'SDN 100', 'authority', 100, 'CYBER2 DPRK3'],
    ],
  )
  assert.equal(passed_over, 1)
  assert.deepEqual([entries[0]!.valid_from, entries[0]!.valid_to], [undefined, undefined])
})

test('what looks like an address and is none is told apart, with its place', async () => {
  const wrong = `${A.slice(0, -1)}${A.endsWith('z') ? 'y' : 'z'}`
  const sdn = await read(readOfac, SDN.replace(A, wrong).replace(B, `${B} ${C}`))
  const line = (text: string) => SDN.slice(0, SDN.indexOf(text)).split('\n').length
  assert.deepEqual(
    [sdn.entries.length, sdn.passed_over, sdn.misspelt],
    [0, 1, [`line ${line(A)}: ${wrong}`, `line ${line(B)}: ${B} ${C}`]],
  )
  const orders = await read(readSeizureOrders, `order,address\n1,${A}\n2,${wrong}\n3,0xabc\n`)
  assert.deepEqual(
    [orders.entries.length, orders.passed_over, orders.misspelt],
    [1, 1, [`line 3: ${wrong}`]],
  )
})

test('it does not matter how the SDN list is cut into chunks', async () => {
  const whole = await read(readOfac, SDN)
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 200 }), async (size) => {
      assert.deepEqual(await read(readOfac, SDN, size), whole)
    }),
  )
})

test('an address of the SDN list that is written as character data is not lost', async () => {
  const written = SDN.replace(A, `<![CDATA[${A}]]>`).replace(
    B,
    `${B.slice(0, 9)}<!-- -->${B.slice(9)}`,
  )
  assert.deepEqual(await read(readOfac, written), await read(readOfac, SDN))
})

test('a broken or foreign file is not taken for the SDN list', async () => {
  await assert.rejects(read(readOfac, SDN.slice(0, 900)), /not one of OFAC's lists/)
  await assert.rejects(
    read(readOfac, '<html><body>Forbidden</body></html>'),
    /not one of OFAC's lists/,
  )
  await assert.rejects(read(readOfac, 'Service unavailable'), /not one of OFAC's lists/)
})

test("the operator's table gives labels with confidence and validity", async () => {
  const { entries } = await read(
    readOperatorTable,
    `\uFEFFAddress,Category,Entity,Confidence,Source,Valid_From,Valid To\r
${A},mixer,"Spinner, Ltd",80,https://example.org,2026-01-31,2026-02-01T12:30:00Z\r
${B},other,,,,,\r
`,
  )
  assert.deepEqual(entries, [
    {
      address: A,
      category: 'mixer',
      entity: 'Spinner, Ltd',
      kind: 'curated',
      confidence: 80,
      reference: 'https://example.org',
      valid_from: new Date('2026-01-31T00:00:00Z'),
      valid_to: new Date('2026-02-01T12:30:00Z'),
    },
    {
      address: B,
      category: 'unidentified',
      entity: 'unnamed',
      kind: 'curated',
      confidence: 100,
      reference: '',
      valid_from: undefined,
      valid_to: undefined,
    },
  ])
})

test("a mistake in the operator's table is told with its line, and nothing is taken", async () => {
  const rows = (row: string) =>
    read(
      readOperatorTable,
      `address,category,confidence,valid_from,valid_to\n${A},mixer,,,\n${row}\n`,
    )
  await assert.rejects(rows('Txyz,mixer,,,'), /line 3: "Txyz" is not an address/)
  await assert.rejects(rows(`${B},nonsense,,,`), /line 3: there is no category "nonsense"/)
  await assert.rejects(rows(`${B},mixer,120,,`), /line 3: the confidence "120"/)
  for (const odd of ['1e2', '0x20', '-1', '50.0', '+5'])
    await assert.rejects(rows(`${B},mixer,${odd},,`), /line 3: the confidence/, odd)
  await assert.rejects(rows(`${B},mixer,,yesterday,`), /line 3: "yesterday" is not a date/)
  await assert.rejects(rows(`${B},mixer,,2026-01-02,2026-01-01`), /line 3: valid_to is not after/)
})

test('seizure orders are in force until their end, also several addresses in a row', async () => {
  const { entries, passed_over } = await read(
    readSeizureOrders,
    `Order Number,Wallet Address,Valid Until\nASO 12/23,"${A}; ` +
      `1EYitrwBSmPMnxPcoeWX8Pf8u9cz9LuvBP",2027-05-01\n`,
  )
  assert.deepEqual(entries, [
    {
      address: A,
      category: 'terrorism_financing',
      entity: 'NBCTF order ASO 12/23',
      kind: 'authority',
      confidence: 100,
      reference: 'ASO 12/23',
      valid_from: undefined,
      valid_to: new Date('2027-05-01T00:00:00Z'),
    },
  ])
  assert.equal(passed_over, 1)
})

test('a TagPack gives its tags, abuse before service, with their confidence', async () => {
  const { entries, passed_over } = await read(
    readTagPack,
    `
title: A pack
creator: Somebody
currency: TRX
source: https://example.org/pack
confidence: web_crawl
lastmod: 2026-01-02
tags:
  - address: ${A}
    label: A shop
    category: exchange
    abuse: scam
  - address: ${B}
    label: Another
    category: mixing_service
    confidence: ownership
    source: https://example.org/own
  - address: ${C}
    label: A person
    category: individual
  - address: 1EYitrwBSmPMnxPcoeWX8Pf8u9cz9LuvBP
    label: Elsewhere
    category: exchange
`,
  )
  assert.deepEqual(
    entries.map(({ address, category, confidence, entity, reference, kind }) => [
      ...[address, category, confidence, entity, reference, kind],
    ]),
    [
      [A, 'scam', 20, 'A shop', 'https://example.org/pack', 'curated'],
      [B, 'mixer', 100, 'Another', 'https://example.org/own', 'curated'],
    ],
  )
  assert.equal(passed_over, 2)
  await assert.rejects(read(readTagPack, 'title: none\n'), /not a TagPack/)
  await assert.rejects(
    read(readTagPack, `tags:\n  - address: ${A}\n    category: scam\n    confidence: sure\n`),
    /"sure"/,
  )
  const until = (valid_to: string) =>
    read(readTagPack, `tags:\n  - address: ${A}\n    category: scam\n    valid_to: ${valid_to}\n`)
  assert.equal(
    (await until('2026-11-30')).entries[0]!.valid_to?.toISOString(),
    '2026-11-30T00:00:00.000Z',
  )
  assert.equal((await until('~')).entries[0]!.valid_to, undefined)
  await assert.rejects(until('20261130'), /tag 1: "20261130" is not a date/)
})

test('a file of several TagPacks may have an empty one, and an empty file is none', async () => {
  const pack = `tags:\n  - address: ${A}\n    label: One\n    category: exchange\n`
  for (const text of [`---\n---\n${pack}`, `${pack}---\n`]) {
    const { entries } = await read(readTagPack, text)
    assert.deepEqual(
      entries.map(({ address }) => address),
      [A],
    )
  }
  await assert.rejects(read(readTagPack, '---\n'), /not a TagPack: it has no tags/)
})

test("OpenSanctions' wallets are what their dataset says", async () => {
  const line = (
    id: string,
    publicKey: string[],
    datasets: string[],
    topics: string[],
    schema = 'CryptoWallet',
  ) => JSON.stringify({ id, schema, properties: { publicKey, topics }, datasets })
  const { entries, passed_over } = await read(
    readOpenSanctions,
    [
      line('w1', [A], ['us_ofac_sdn'], ['sanction']),
      line('w2', [B, 'bc1qxyz'], ['il_mod_crypto'], ['crime.terror', 'sanction']),
      line('w3', [C], ['ransomwhere'], []),
      line('p1', [], ['us_ofac_sdn'], ['sanction'], 'Person'),
      '',
    ].join('\n'),
    7,
  )
  assert.deepEqual(
    entries.map(({ address, category, kind, confidence }) => [address, category, kind, confidence]),
    [
      [A, 'sanctions', 'authority', 100],
      [B, 'terrorism_financing', 'authority', 100],
      [C, 'ransom', 'curated', 60],
    ],
  )
  assert.equal(passed_over, 1)
  await assert.rejects(read(readOpenSanctions, '{}\n<html>'), /line 2 is not an entity/)
})

const summaryOf = ({ entries, designations, misspelt }: Awaited<ReturnType<ListReader>>) => ({
  entries: entries.map(({ address, category, entity, kind, reference }) => [
    ...[address, category, entity, kind, reference],
  ]),
  designations,
  misspelt,
})
const mistyped = (one: string) => `${one.slice(0, -1)}${one.endsWith('z') ? 'y' : 'z'}`

const OFSI = `Last Updated,01/11/2026
Name 6,Name 1,Title,Other Information,Group Type,Regime,Listed On,Group ID
DOE,John,,"(UK Ref): CYB0001. XBT bc1qxyz; USDT ${A}, ${B}.",Individual,Cyber,1/2/2026,16001
DOE,Johnny,,"(UK Ref): CYB0001. Wallet ${mistyped(C)}",Individual,Cyber,1/2/2026,16001
ACME,,,Nothing is known of it,Entity,Russia,01/02/2026,16002
`

test("OFSI's list gives the addresses of its remarks, by group and regime", async () => {
  const found = {
    entries: [A, B].map((one) => [one, 'sanctions', 'OFSI 16001', 'authority', 'Cyber']),
    designations: 2,
    misspelt: [`line 4: ${mistyped(C)}`],
  }
  assert.deepEqual(summaryOf(await read(readOfsi, OFSI)), found)
  assert.deepEqual(summaryOf(await read(readOfsi, OFSI, 3)), found, 'however it is cut')
  // The UK Sanctions List has another name for the number, and other columns.
  const uksl = OFSI.replace('Last Updated', 'Report Date').replace('Group ID', 'OFSI Group ID')
  assert.deepEqual(summaryOf(await read(readOfsi, uksl)), found)
})

test("what is not OFSI's list, or is cut off, is refused with its line", async () => {
  const refused = (text: string, why: RegExp) => assert.rejects(read(readOfsi, text), why)
  await refused('<html><body>Forbidden</body></html>', /no header/)
  await refused('a,b\nc,d\ne,f\n', /line 3: there are no columns "Other Information"/)
  await refused(OFSI.slice(0, OFSI.lastIndexOf(',Russia')), /line 5: it has 5 columns, and not 8/)
  await refused(OFSI.replace(',16002', ','), /line 5: there is no Group ID/)
  await refused(OFSI.replace('Nothing is', '"Nothing is'), /line 5: a quote is not closed/)
})

const EU = `<?xml version="1.0" encoding="UTF-8"?>
<export xmlns="http://eu.europa.ec/fpi/fsd/export" generationDate="2026-11-01T10:00:00.000+01:00">
  <sanctionEntity designationDetails="" euReferenceNumber="EU.9001.11" logicalId="1">
    <remark>Wallets used: ${A} (USDT)</remark>
    <regulation regulationType="amendment" programme="RUS" logicalId="2"/>
    <subjectType code="person" classificationCode="P"/>
    <nameAlias firstName="" wholeName="John Doe" logicalId="3"/>
    <identification number="${B}" identificationTypeCode="other" logicalId="4">
      <remark>a wallet</remark>
    </identification>
  </sanctionEntity>
  <sanctionEntity euReferenceNumber="EU.9002.22" logicalId="5">
    <regulation programme="PRK"/><remark>${mistyped(C)}</remark>
  </sanctionEntity>
</export>`

test("the European Union's list gives the addresses of remarks and numbers", async () => {
  const found = {
    entries: [A, B].map((one) => [one, 'sanctions', 'EU EU.9001.11', 'authority', 'RUS']),
    designations: 2,
    misspelt: [`line 13: ${mistyped(C)}`],
  }
  assert.deepEqual(summaryOf(await read(readEu, EU)), found)
  assert.deepEqual(summaryOf(await read(readEu, EU, 5)), found)
  await assert.rejects(read(readEu, EU.slice(0, 600)), /not the European Union's list: \d+:\d+/)
  await assert.rejects(read(readEu, SDN), /not the European Union's list: line 2: .*<Sanctions>/)
  await assert.rejects(read(readEu, '<export/>'), /names nobody/)
  await assert.rejects(
    read(readEu, EU.replace('euReferenceNumber="EU.9002.22" logicalId="5"', '')),
    /line 14: a party without its number/,
  )
})

const UN = `<?xml version="1.0" encoding="UTF-8"?>
<CONSOLIDATED_LIST dateGenerated="2026-11-01T00:00:00Z">
  <INDIVIDUALS>
    <INDIVIDUAL><DATAID>1</DATAID><FIRST_NAME>JOHN</FIRST_NAME>
      <UN_LIST_TYPE>DPRK</UN_LIST_TYPE><REFERENCE_NUMBER>KPi.900</REFERENCE_NUMBER>
      <COMMENTS1>Controls ${A}.</COMMENTS1>
      <INDIVIDUAL_DOCUMENT><NOTE>Wallet</NOTE><NUMBER>${B}</NUMBER></INDIVIDUAL_DOCUMENT>
    </INDIVIDUAL>
  </INDIVIDUALS>
  <ENTITIES><ENTITY><REFERENCE_NUMBER>KPe.900</REFERENCE_NUMBER></ENTITY></ENTITIES>
</CONSOLIDATED_LIST>`

test("the United Nations' list gives the addresses of comments and documents", async () => {
  const found = {
    entries: [A, B].map((one) => [one, 'sanctions', 'UN KPi.900', 'authority', 'DPRK']),
    designations: 2,
    misspelt: [],
  }
  assert.deepEqual(summaryOf(await read(readUn, UN)), found)
  assert.deepEqual(summaryOf(await read(readUn, UN, 9)), found)
  await assert.rejects(read(readUn, UN.slice(0, 500)), /not the United Nations' list: \d+:\d+/)
  await assert.rejects(read(readUn, 'Service unavailable'), /not the United Nations' list/)
  await assert.rejects(
    read(readUn, UN.replace('<REFERENCE_NUMBER>KPe.900</REFERENCE_NUMBER>', '')),
    /line 10: a party without its number/,
  )
})

test('columns of a table have the names that were said, and a category for all', async () => {
  const shape = { columns: { address: 'Wallet (TRX)', entity: 'Who' }, category: 'scam' }
  const { entries } = await readTable(chunksOf(`Who,Wallet (TRX)\nShop,${A}\n`, 7), shape)
  assert.deepEqual(
    entries.map(({ address, entity, category }) => [address, entity, category]),
    [[A, 'Shop', 'scam']],
  )
  await assert.rejects(
    readTable(chunksOf(`Who,Wallet\nShop,${A}\n`, 7), shape),
    /line 2: there is no column "Wallet \(TRX\)"/,
  )
})

test('a file can have several TagPacks, each with defaults of its own', async () => {
  const pack = (one: string, category: string) =>
    `title: A pack\nconfidence: ownership\ncategory: ${category}\ntags:\n  - address: ${one}\n`
  const both = `---\n${pack(A, 'scam')}---\n${pack(B, 'mixer')}`
  const { entries } = await read(readTagPack, both)
  assert.deepEqual(
    entries.map(({ address, category }) => [address, category]),
    [
      [A, 'scam'],
      [B, 'mixer'],
    ],
  )
  await assert.rejects(read(readTagPack, `${both}---\ntitle: none\n`), /pack 3, .*has no tags/)
})

test('a bare date is its midnight in UTC, and an offset is an offset', () => {
  assert.equal(readInstant('2026-03-01', 'x')?.toISOString(), '2026-03-01T00:00:00.000Z')
  assert.equal(
    readInstant('2026-03-01T10:00:00+02:00', 'x')?.toISOString(),
    '2026-03-01T08:00:00.000Z',
  )
  assert.equal(readInstant('2026-03-01 10:00', 'x')?.toISOString(), '2026-03-01T10:00:00.000Z')
  assert.equal(readInstant(' ', 'x'), undefined)
  assert.throws(() => readInstant('01/03/2026', 'x'), /not a date/)
  assert.throws(() => readInstant('2026-13-01', 'x'), /not a date/)
  assert.equal(readInstant('2028-02-29', 'x')?.toISOString(), '2028-02-29T00:00:00.000Z')
  for (const no_such_day of [
    '2026-02-29',
    '2026-02-31',
    '2026-04-31T10:00:00+02:00',
    '2026-11-31 10:00',
  ])
    assert.throws(() => readInstant(no_such_day, 'x'), /not a date/, no_such_day)
})

test('every other name of a category leads to one that exists', () => {
  for (const name of [
    'Exchange',
    'mixing_service',
    'ransomware',
    'exchange_mlrisk_veryhigh',
    'Darknet market',
  ])
    assert.notEqual(categoryNumber(categoryNamed(name) ?? ''), undefined, name)
  assert.equal(categoryNamed('individual'), undefined)
})

test('lines and counts come out right however bytes are cut', async () => {
  const text = 'één\r\ntwee\n\ndrie'
  for (const size of [1, 2, 3, 100]) {
    const seen: number[] = []
    const lines: string[] = []
    for await (const line of linesOf(counted(chunksOf(text, size), (n) => seen.push(n))))
      lines.push(line)
    assert.deepEqual(lines, ['één', 'twee', '', 'drie'])
    assert.equal(seen.at(-1), Buffer.byteLength(text))
  }
})
