// Where one looks at what is on the chain: a pair of templates for the addresses of a web site.

import { Misuse } from '../lib/fault.ts'

export type Explorer = { transaction: string; address: string }

const TRONSCAN = (host: string): Explorer => ({
  transaction: `https://${host}/#/transaction/{tx_id}`,
  address: `https://${host}/#/address/{address}`,
})

const KNOWN: Readonly<Record<string, Explorer>> = {
  mainnet: TRONSCAN('tronscan.org'),
  nile: TRONSCAN('nile.tronscan.org'),
  shasta: TRONSCAN('shasta.tronscan.org'),
}

/** That of a network; null: there is none. */
export const explorerOf = (network: string | undefined): Explorer | null =>
  (network !== undefined && KNOWN[network]) || null

/** Reads `https://one/{tx_id} https://one/{address}`. Throws Misuse that says `what` it is. */
export function readExplorer(
  text: string | undefined,
  what = 'PENSTOCK_EXPLORER',
): Explorer | undefined {
  if (text === undefined) return undefined
  const [transaction = '', address = '', ...more] = text.trim().split(/\s+/)
  const is_right =
    isTemplate(transaction, '{tx_id}') && isTemplate(address, '{address}') && more.length === 0
  if (!is_right)
    throw new Misuse(
      `${what} is not like https://one.example/tx/{tx_id} https://one.example/address/{address}.`,
    )
  return { transaction, address }
}

const isTemplate = (text: string, hole: string): boolean =>
  text.split(hole).length === 2 && /^https?:$/.test(URL.parse(text)?.protocol ?? '')
