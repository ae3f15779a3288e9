// How soon somebody who guesses comes to a password: by the library zxcvbn-ts, which knows the
// common ones, what repeats or runs on, and what keyboards lay side by side. Its words take 30 MB,
// so they are loaded when the first password is chosen (docs/decisions/0026-common-passwords.md).

import type { ZxcvbnFactory } from '@zxcvbn-ts/core'

/** So few tries are made in a day where only one in some seconds is let through, from many places
 *  for years. */
const GUESSES_MIN = 1e9
/** More characters are no easier to guess, and judging them would take long. */
const JUDGED_MAX = 64

let loaded: Promise<ZxcvbnFactory> | undefined

async function load(): Promise<ZxcvbnFactory> {
  const { ZxcvbnFactory } = await import('@zxcvbn-ts/core')
  const { adjacencyGraphs: graphs, dictionary } = await import('@zxcvbn-ts/language-common')
  return new ZxcvbnFactory({ dictionary, graphs, maxLength: JUDGED_MAX })
}

/** Whether a password is among the first that are tried. `known`: what is known of its user. */
export async function isSoonGuessed(password: string, known: readonly string[]): Promise<boolean> {
  loaded ??= load()
  const { guesses } = (await loaded).check(password.slice(0, JUDGED_MAX), [...known])
  return guesses < GUESSES_MIN
}
