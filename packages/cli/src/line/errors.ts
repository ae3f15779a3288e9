// Why a command does not do what was typed, before the service is asked.

/** What was typed is wrong: exit code 2. */
export class Misuse extends Error {
  override name = 'Misuse'
}

/** Something is not there, or is not as it should be: exit code 1. */
export class Refusal extends Error {
  override name = 'Refusal'
}

/** There is no key to sign with: exit code 3. */
export class NotSignedIn extends Error {
  override name = 'NotSignedIn'
}
