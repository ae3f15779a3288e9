// How addresses and transactions of networks are written. Our own engine screens TRX; others are
// screened as soon as a policy has a route for them that names an outside provider.

import { isAddress } from 'penstock-tron/address.ts'

type Network = { isAddress: (text: string) => boolean; hash: RegExp }

const matches = (pattern: RegExp) => (text: string) => pattern.test(text)
const HEX64 = /^[0-9a-fA-F]{64}$/
const EVM: Network = { isAddress: matches(/^0x[0-9a-fA-F]{40}$/), hash: /^0x[0-9a-fA-F]{64}$/ }

export const NETWORKS: Readonly<Record<string, Network>> = {
  TRX: { isAddress, hash: HEX64 },
  BTC: {
    isAddress: matches(/^(bc1[02-9ac-hj-np-z]{11,71}|[13][1-9A-HJ-NP-Za-km-z]{25,34})$/),
    hash: HEX64,
  },
  LTC: {
    isAddress: matches(/^(ltc1[02-9ac-hj-np-z]{11,71}|[LM3][1-9A-HJ-NP-Za-km-z]{25,34})$/),
    hash: HEX64,
  },
  ETH: EVM,
  ETC: EVM,
  BSC: EVM,
  MATIC: EVM,
  XRP: { isAddress: matches(/^r[1-9A-HJ-NP-Za-km-z]{24,34}$/), hash: HEX64 },
  ADA: { isAddress: matches(/^addr1[02-9ac-hj-np-z]{50,110}$/), hash: HEX64 },
  XLM: { isAddress: matches(/^G[A-Z2-7]{55}$/), hash: HEX64 },
}
