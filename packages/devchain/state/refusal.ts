// The ways in which a node says no to a transaction: a code of its broadcast answer, and a message
// that clients read.

/** Codes of a broadcast answer, as the node's API names them (BANDWITH is its spelling). */
export type RefusalCode =
  | 'SIGERROR'
  | 'CONTRACT_VALIDATE_ERROR'
  | 'CONTRACT_EXE_ERROR'
  | 'BANDWITH_ERROR'
  | 'DUP_TRANSACTION_ERROR'
  | 'TAPOS_ERROR'
  | 'TOO_BIG_TRANSACTION_ERROR'
  | 'TRANSACTION_EXPIRATION_ERROR'
  | 'SERVER_BUSY'
  | 'OTHER_ERROR'

/** The node's sentence for each code: some carry the reason, some are a fixed sentence. */
const sentences: { readonly [Code in RefusalCode]: (reason: string) => string } = {
  SIGERROR: (reason) => `Validate signature error: ${reason}`,
  CONTRACT_VALIDATE_ERROR: (reason) => `Contract validate error : ${reason}`,
  CONTRACT_EXE_ERROR: (reason) => `Contract execute error : ${reason}`,
  BANDWITH_ERROR: () => 'Account resource insufficient error.',
  DUP_TRANSACTION_ERROR: () => 'Dup transaction.',
  TAPOS_ERROR: () => 'Tapos check error.',
  TOO_BIG_TRANSACTION_ERROR: () => 'Transaction size is too big.',
  TRANSACTION_EXPIRATION_ERROR: () => 'Transaction expired',
  SERVER_BUSY: () => 'Server busy.',
  OTHER_ERROR: (reason) => `Error: ${reason}`,
}

/** A transaction that the chain does not take. `message` is the bare reason, `spoken` the text of
 *  the node's answer. */
export class Refusal extends Error {
  override name = 'Refusal'
  readonly code: RefusalCode

  constructor(code: RefusalCode, message: string) {
    super(message)
    this.code = code
  }

  get spoken(): string {
    return sentences[this.code](this.message)
  }
}

/** The refusal of a contract's own rules. */
export function invalid(message: string): Refusal {
  return new Refusal('CONTRACT_VALIDATE_ERROR', message)
}
