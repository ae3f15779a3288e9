// A wallet for customers' deposits, made where no network is: 24 words in a file that only its
// owner can read, and the public key that the service derives addresses from.

import { HDKey } from '@scure/bip32'
import { entropyToMnemonic, mnemonicToSeed } from '@scure/bip39'
import { wordlist } from '@scure/bip39/wordlists/english.js'
import { Type } from 'typebox'
import { refusal } from '../../lib/fault.ts'
import { depositAddresses } from '../../people/customers/deposit_addresses.ts'
import { NOTHING, Text, text } from '../../platform/wire/schemas.ts'
import { local } from '../table/operation.ts'

const ACCOUNT = "m/44'/195'/0'"
const ENTROPY_BYTES = 32

export const depositWalletOperations = [
  local({
    path: '/operator/wallets/generate',
    summary: "make a wallet for customers' deposits: its words in a file, its deposit_xpub printed",
    description:
      'It asks no node and needs no network: run it where the keys of your wallets are. ' +
      'The 24 words are written to FILE, readable by its owner only, and nowhere else. A ' +
      'file that is there already is left as it is.',
    body: NOTHING,
    reply: Type.Object({ deposit_xpub: Text, path: Text, first_address: Text }),
    cli: {
      extras: Type.Object({ file: text('FILE', 'where the words are written to') }),
      operands: ['file'],
      async before({ file }, terminal) {
        if ((await terminal.findFile(file)) !== undefined)
          throw refusal(`${file} is there already: a wallet is never written over.`)
        return {}
      },
      async after(answer, { file }, terminal) {
        await terminal.writeFile(file, answer.documents?.words?.() ?? '')
        const note =
          `The words are in ${file}: write them down, keep them offline, and take the file off ` +
          'this machine if it has a network.\n' +
          'deposit_xpub goes into the file of wallets. A wallet program that is given the words ' +
          `shows the first address as ${answer.value.first_address}.`
        return { ...answer, note }
      },
    },
    async handle({ random }) {
      const words = entropyToMnemonic(random.bytes(ENTROPY_BYTES), wordlist)
      const account = HDKey.fromMasterSeed(await mnemonicToSeed(words)).derive(ACCOUNT)
      const deposit_xpub = account.publicExtendedKey
      const first_address = depositAddresses(deposit_xpub)(0)
      return {
        value: { deposit_xpub, path: ACCOUNT, first_address },
        documents: { words: () => `${words}\n` },
      }
    },
  }),
]
