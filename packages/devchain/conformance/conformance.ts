// Whether a node behaves as a TRON node does, from outside: `conformance --url U --key K`. The same
// checks run on the development chain, on a test network and on an operator's own node, and say of
// each what holds, what does not, and what could not be asked. Exit code 0: everything that was run
// holds; 1: something does not; 2: nothing was run.

import { parseArgs } from 'node:util'
import { isAddress } from 'penstock-tron/address.ts'
import { Probe, type ProbeOptions } from './probe.ts'
import { type Check, readChecks } from './reads.ts'
import { permissionCheck, type WriteCheck, writeChecks } from './writes.ts'

const USAGE = `conformance: whether a node behaves as a TRON node does, asked over HTTP

  --url <url>          the node (full node's interface)
  --solid-url <url>    its solidity interface, when it has another address
  --key <hex>          the private key of an account with some 30 TRX to spend; never one of value
  --token <address>    a TRC20 token to call; the checks of calls are not run without one
  --permissions        also the check that costs 130 TRX
  --json               one JSON object instead of lines
`

export type Outcome = {
  readonly title: string
  readonly outcome: 'holds' | 'fails' | 'not run'
  readonly why?: string
}

export type Suite = ProbeOptions & { readonly permissions: boolean }

/** Runs every check, one after the other, and tells of each as it ends. */
export async function runConformance(
  suite: Suite,
  tell: (outcome: Outcome) => void,
): Promise<Outcome[]> {
  const probe = new Probe(suite)
  const outcomes: Outcome[] = []
  const reached = await probe.answers()
  const checks: (Check | WriteCheck)[] = [...readChecks, ...writeChecks, permissionCheck]
  for (const check of checks) {
    const outcome = reached
      ? await runOne(probe, check, suite.permissions)
      : skipped(check, `${suite.url} does not answer`)
    outcomes.push(outcome)
    tell(outcome)
  }
  return outcomes
}

const skipped = ({ title }: Check, why: string): Outcome => ({ title, outcome: 'not run', why })

async function runOne(
  probe: Probe,
  check: Check | WriteCheck,
  permissions: boolean,
): Promise<Outcome> {
  if (check.needs_token && probe.token === undefined) return skipped(check, 'no --token is given')
  if (check === permissionCheck && !permissions)
    return skipped(check, 'it costs 130 TRX: --permissions')
  try {
    if ('needs_sun' in check && (await probe.balance(probe.me)) < check.needs_sun) {
      return skipped(check, `${probe.me.address} has less than ${check.needs_sun / 1_000_000n} TRX`)
    }
    await check.run(probe)
    return { title: check.title, outcome: 'holds' }
  } catch (error) {
    return {
      title: check.title,
      outcome: 'fails',
      why: error instanceof Error ? error.message : String(error),
    }
  }
}

function readSuite(): { suite: Suite; json: boolean } | undefined {
  const { values } = parseArgs({
    options: {
      url: { type: 'string' },
      'solid-url': { type: 'string' },
      key: { type: 'string' },
      token: { type: 'string' },
      permissions: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return undefined
  const { url, key, token } = values
  if (url === undefined || !URL.canParse(url))
    throw new TypeError('--url must be the address of a node')
  if (key === undefined || !/^[0-9a-fA-F]{64}$/.test(key))
    throw new TypeError('--key must be 64 hexadecimal characters')
  if (token !== undefined && !isAddress(token))
    throw new TypeError('--token must be a TRON address')
  const waiting = { poll_ms: 1000, patience_ms: 180_000 }
  const suite = {
    url,
    solid_url: values['solid-url'],
    key,
    token,
    permissions: values.permissions,
    ...waiting,
  }
  return { suite, json: values.json }
}

const say = (line: string) => process.stdout.write(`${line}\n`)
const signs = { holds: '✔', fails: '✖', 'not run': '–' }

/** The command; `process.exitCode` says how it ended. */
export async function main(): Promise<void> {
  try {
    await command()
  } catch (error) {
    const [sentence] = (error instanceof Error ? error.message : String(error)).split('\n')
    process.stderr.write(`${sentence}\n`)
    process.exitCode = 1
  }
}

async function command(): Promise<void> {
  const read = readSuite()
  if (!read) return void say(USAGE.trimEnd())
  const outcomes = await runConformance(read.suite, ({ title, outcome, why }) => {
    if (!read.json)
      say(`${signs[outcome]} ${title}${why === undefined ? '' : `\n    ${outcome}: ${why}`}`)
  })
  const count = (wanted: Outcome['outcome']) =>
    outcomes.filter(({ outcome }) => outcome === wanted).length
  const sums = { holds: count('holds'), fails: count('fails'), not_run: count('not run') }
  if (read.json) say(JSON.stringify({ url: read.suite.url, ...sums, checks: outcomes }))
  else say(`${read.suite.url}: ${sums.holds} hold, ${sums.fails} fail, ${sums.not_run} not run`)
  process.exitCode = sums.fails > 0 ? 1 : sums.holds === 0 ? 2 : 0
}
