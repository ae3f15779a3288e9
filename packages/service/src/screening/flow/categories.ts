// What money can be: 28 categories, numbered by their place in this list. The order is part of
// every stored vector and of every tie, so a category is never moved or removed. Weights are in
// hundredths and are only the shipped ones: a policy carries its own. Here they settle which of two
// equal labels is the worse one.

export type Category = { readonly name: string; readonly label: string; readonly weight: number }

const category = (name: string, label: string, weight: number): Category => ({
  name,
  label,
  weight,
})

export const CATEGORIES: readonly Category[] = [
  category('sanctions', 'Sanctions', 100),
  category('terrorism_financing', 'Terrorism financing', 100),
  category('child_exploitation', 'Child exploitation', 100),
  category('ransom', 'Ransom / extortion', 100),
  category('stolen_coins', 'Stolen funds', 100),
  category('dark_market', 'Darknet marketplace', 100),
  category('dark_service', 'Darknet service', 100),
  category('mixer', 'Mixer', 100),
  category('scam', 'Scam', 100),
  category('illegal_service', 'Illegal service', 100),
  category('exchange_fraudulent', 'Fraudulent exchange', 100),
  category('issuer_frozen', 'Frozen by token issuer', 100),
  category('enforcement_action', 'Enforcement action', 75),
  category('gambling', 'Gambling', 75),
  category('exchange_unlicensed', 'Exchange (unlicensed)', 60),
  category('p2p_exchange_unlicensed', 'P2P exchange (unlicensed)', 60),
  category('atm', 'Crypto ATM', 50),
  category('liquidity_pools', 'Liquidity pool / DEX', 50),
  category('bridge', 'Cross-chain bridge', 50),
  category('unidentified_service', 'Unlabelled high-throughput service', 40),
  category('unidentified', 'Unidentified', 25),
  category('wallet', 'Custodial wallet', 25),
  category('exchange_licensed', 'Exchange (licensed)', 10),
  category('p2p_exchange_licensed', 'P2P exchange (licensed)', 10),
  category('payment', 'Payment processor', 0),
  category('miner', 'Miner / SR reward', 0),
  category('marketplace', 'Merchant / marketplace', 0),
  category('seized_assets', 'Seized assets', 0),
]

export const CATEGORY_COUNT = CATEGORIES.length

const numbers = new Map(CATEGORIES.map(({ name }, number) => [name, number]))

/** The number of a category by its name; undefined when there is none of that name. */
export function categoryNumber(name: string): number | undefined {
  return numbers.get(name)
}

/** Money whose origin is not known: what was there before the index began. */
export const UNIDENTIFIED = 20
export const ISSUER_FROZEN = 11
export const LIQUIDITY_POOLS = 17
