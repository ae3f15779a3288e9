// What the published package gives to programs: a chain without a socket, and one behind a port.

export type { Block } from './blocks.ts'
export { Devchain, type DevchainOptions, USDT } from './devchain.ts'
export { type Fault, type FaultKind, faultKinds } from './faults.ts'
export type { Answer } from './http.ts'
export { defaultParameters, mainnetWeights, type Parameters } from './parameters.ts'
export { type BlockNotice, type Served, type ServeOptions, startDevchain } from './serve.ts'
export { type Label, Traffic } from './traffic.ts'
