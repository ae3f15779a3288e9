// What can go wrong, in three kinds. A Fault is a refusal: the caller may fix it, and it has a
// code and a key that go out on the wire. An Outage is something outside that time may fix: a step
// runs again; a domain that knows what it means for its endpoint says 35, elsewhere it is code 500.
// Everything else that is thrown is a bug: code 500, and somebody is told.

/** What a refusal is about, beside its sentence: the field, as in `params.amounts.energy` (left
 *  out: the body as a whole), and one of
 *  - `must`: what its value must be, as in `an integer from 1 to 100`
 *  - `because`: why it is refused, in words of ours alone
 *  - `absent`: what there is none of under the name that it has, as in `transaction of yours`
 *  What the caller sent is put into words where the answer is made, in
 *  platform/wire/complaints.ts. */
export type About = { readonly param?: string | undefined } & (
  | { readonly must: string }
  | { readonly because: string }
  | { readonly absent: string }
)

/** A refusal, as a client sees it: `{ code, key, error }`. */
export class Fault extends Error {
  override name = 'Fault'
  readonly code: number
  readonly key: string
  about: About | undefined
  constructor(code: number, key: string, sentence: string) {
    super(sentence)
    this.code = code
    this.key = key
  }

  /** The refusal of a field that must be something else. */
  at(param: string | undefined, must: string): this {
    this.about = { param, must }
    return this
  }

  /** The refusal, with its reason and the field that it lies in, if it is one. */
  because(because: string, param?: string): this {
    this.about = { param, because }
    return this
  }

  /** The refusal of the name of something that there is not. */
  absent(param: string, absent: string): this {
    this.about = { param, absent }
    return this
  }
}

/** One kind of refusal, declared in a line beside the function that throws it. */
export type FaultKind = {
  readonly code: number
  readonly key: string
  readonly sentence: string
  /** The fault itself, with an optional sub-key (`key.sub`) and a sentence of its own. */
  (sub?: string, sentence?: string): Fault
}

export function fault(code: number, key: string, sentence: string): FaultKind {
  const make = (sub?: string, own?: string) =>
    new Fault(code, sub ? `${key}.${sub}` : key, own ?? sentence)
  return Object.assign(make, { code, key, sentence })
}

/** Whether a refusal is of the kind, whatever its sub-key says. */
export const is = (refused: Fault, { code, key }: FaultKind): boolean =>
  refused.code === code && refused.key.split('.')[0] === key

/** What is not done, in one sentence for the one who asked. The message is all they need. */
export class Refused extends Error {
  override name = 'Refused'
  /** What a command ends with. 1: check failed, or not found. 2: usage error. */
  readonly exit_code: 1 | 2
  constructor(sentence: string, exit_code: 1 | 2) {
    super(sentence)
    this.exit_code = exit_code
  }
}

/** A usage error: a command, an option or a setting that makes no sense. */
export class Misuse extends Refused {
  override name = 'Misuse'
  constructor(sentence: string) {
    super(sentence, 2)
  }
}

export const refusal = (sentence: string) => new Refused(sentence, 1)
export const misuse = (sentence: string) => new Misuse(sentence)

/** Something outside this process does not answer, or not sensibly: the database, a node, a
 *  provider. */
export class Outage extends Error {
  override name = 'Outage'
}

/** More is asked than the caller's share allows: HTTP 429, whatever the endpoint. */
export class TooManyRequests extends Error {
  override name = 'TooManyRequests'
  readonly retry_after_seconds: number
  constructor(retry_after_seconds: number) {
    super(`too many requests; again in ${retry_after_seconds} s`)
    this.retry_after_seconds = retry_after_seconds
  }
}

/** How a command or a process ends that could not go on: the sentence for the person who started
 *  it, and its exit code. Only a bug of ours is shown with its stack. */
export function failureOf(thrown: unknown): { sentence: string; exit_code: 1 | 2 } {
  if (thrown instanceof Refused) return { sentence: thrown.message, exit_code: thrown.exit_code }
  if (thrown instanceof Outage) {
    const cause = thrown.cause instanceof Error ? ` (${thrown.cause.message})` : ''
    return { sentence: `It does not answer: ${thrown.message}${cause}.`, exit_code: 1 }
  }
  const sentence = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)
  return { sentence, exit_code: 1 }
}

/** What somebody else says goes wrong is shown in so many characters at most. */
const ERROR_LENGTH_MAX = 200

/** What went wrong in the words of somebody else, as it may be kept and shown: one line, not long,
 *  and without our secrets, which some repeat. */
export function errorText(message: string, secrets: readonly string[] = []): string {
  // The longest first: one may be a part of another.
  const longest = secrets.toSorted((one, other) => other.length - one.length)
  const hidden = longest.reduce((text, secret) => text.replaceAll(secret, '...'), message)
  const line = hidden.replace(/[\s\p{C}]+/gu, ' ').trim()
  return line.slice(0, ERROR_LENGTH_MAX).toWellFormed()
}
