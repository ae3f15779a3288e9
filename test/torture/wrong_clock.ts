// A machine whose clock is wrong, for a process that is started with these variables: by Debian's
// libfaketime where that is there (`apt-get install faketime`), else by a module that is loaded
// first and moves what Node says the time is.

import { existsSync } from 'node:fs'

type Variables = Readonly<Record<string, string>>

const LIBRARY = '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1'

/** The ways there are here, by their names; the first is there everywhere. Ahead by so many
 *  seconds, or behind when they are less than 0. */
export const wrongClocks = (seconds: number): Readonly<Record<string, Variables>> => ({
  'a module': {
    NODE_OPTIONS: `--import=${import.meta.dirname}/clock_ahead.mjs`,
    CLOCK_AHEAD_MS: String(seconds * 1_000),
  },
  ...(existsSync(LIBRARY) && {
    libfaketime: {
      LD_PRELOAD: LIBRARY,
      FAKETIME: `${seconds < 0 ? '' : '+'}${seconds}s`,
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    },
  }),
})
