// Why a command does not do what was typed, before the service is asked.

export { Misuse } from 'penstock-command-line/misuse.ts'

/** Something is not there, or is not as it should be: exit code 1. */
export class Refusal extends Error {
  override name = 'Refusal'
}

/** There is no key to sign with: exit code 3. */
export class NotSignedIn extends Error {
  override name = 'NotSignedIn'
}

/** Something was bought, but it was not seen to its end: exit code 5. The same line with this id
 *  goes on waiting for it, and buys nothing more. */
export class EndNotSeen extends Error {
  override name = 'EndNotSeen'
  readonly external_id: string

  constructor(what: string, external_id: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause)
    super(`${what} is placed, but was not seen to its end: ${why}. To go on:`, { cause })
    this.external_id = external_id
  }
}
