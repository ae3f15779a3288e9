// The published package's interface for programs: a chain without a socket, and one behind a port.

export type { Block } from './chain/blocks.ts'
export { Devchain, type DevchainOptions, USDT } from './devchain.ts'
export { type Fault, type FaultKind, faultKinds } from './http/faults.ts'
export {
  type BlockNotice,
  type RunningDevchain,
  type ServeOptions,
  startDevchain,
} from './serve.ts'
export { defaultParameters, mainnetWeights, type Parameters } from './state/parameters.ts'
export { type Label, Traffic } from './traffic.ts'
export type { Answer } from './wallet_api/wallet_api.ts'
