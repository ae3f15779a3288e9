// Names of categories as others write them. One name of theirs is one category here; what says
// nothing about risk has none.

import { categoryNumber } from './categories.ts'

const OTHER_NAMES: Readonly<Record<string, string>> = {
  // Names and keys in use among screening services.
  other: 'unidentified',
  unknown: 'unidentified',
  exchange: 'exchange_unlicensed',
  trusted_exchange: 'exchange_licensed',
  exchange_mlrisk_low: 'exchange_licensed',
  exchange_mlrisk_moderate: 'exchange_unlicensed',
  exchange_mlrisk_high: 'exchange_unlicensed',
  exchange_mlrisk_veryhigh: 'exchange_fraudulent',
  p2p_exchange_mlrisk_low: 'p2p_exchange_licensed',
  p2p_exchange_mlrisk_moderate: 'p2p_exchange_unlicensed',
  p2p_exchange_mlrisk_high: 'p2p_exchange_unlicensed',
  p2p_exchange_mlrisk_veryhigh: 'exchange_fraudulent',
  child_abuse: 'child_exploitation',
  darknet_marketplace: 'dark_market',
  darknet_service: 'dark_service',
  // GraphSense concepts.
  abuse: 'scam',
  atm_service: 'atm',
  blackmail: 'ransom',
  child_sexual_abuse: 'child_exploitation',
  child_sexual_abuse_material: 'child_exploitation',
  coinjoin: 'mixer',
  darknet_crime: 'dark_service',
  darknet_market: 'dark_market',
  defi_bridge: 'bridge',
  defi_dex: 'liquidity_pools',
  defi_lending: 'liquidity_pools',
  dex: 'liquidity_pools',
  drugs: 'dark_market',
  extortion: 'ransom',
  faucet: 'payment',
  fraud: 'scam',
  hack: 'stolen_coins',
  hacking: 'stolen_coins',
  hosted_wallet: 'wallet',
  investment_fraud: 'scam',
  market: 'marketplace',
  mining: 'miner',
  mining_pool: 'miner',
  mixing_service: 'mixer',
  money_laundering: 'illegal_service',
  payment_processor: 'payment',
  phishing: 'scam',
  ponzi_scheme: 'scam',
  ransomware: 'ransom',
  sanction: 'sanctions',
  seizure: 'seized_assets',
  service: 'unidentified_service',
  sextortion: 'ransom',
  terrorism: 'terrorism_financing',
  theft: 'stolen_coins',
  wallet_service: 'wallet',
}

/** The category of a name; undefined when it has none. */
export function categoryNamed(name: string): string | undefined {
  const plain = name
    .trim()
    .toLowerCase()
    .replace(/[\s-]+/g, '_')
  if (categoryNumber(plain) !== undefined) return plain
  return Object.hasOwn(OTHER_NAMES, plain) ? OTHER_NAMES[plain] : undefined
}
