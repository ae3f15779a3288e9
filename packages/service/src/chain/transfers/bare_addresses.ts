// Addresses as the index and the log keep them: without their prefix.

import { type Address, addressFromBytes, addressToBytes } from 'penstock-tron/address.ts'

export const bareAddress = (address: Address): Uint8Array => addressToBytes(address).subarray(1)
export const bareHex = (address: Address): string =>
  Buffer.from(bareAddress(address)).toString('hex')
export const addressOfBare = (bytes: Uint8Array): Address =>
  addressFromBytes(Uint8Array.of(0x41, ...bytes))
