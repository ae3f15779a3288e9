// Browsers that have signed in before: a cookie with an id of the browser, and a mark for each name
// that it has signed in with. Whoever guesses at a name from elsewhere does not keep these out
// (tries.ts). It signs nobody in: who takes it has a count of failures, and no more.

import { parseCookie, stringifySetCookie } from 'cookie'
import type { NewId } from '../../lib/ids.ts'
import type { Seal } from '../../platform/seal/seal.ts'
import { browserCookieName, cookieOptions, type Face } from '../users/faces.ts'
import { type PageCall, pageOrigin } from './begin.ts'

type Needs = { face: Face; seal: Seal; new_id: NewId }
type Browser = { id: string; marks: readonly string[] }

/** People who share a browser, of whom it remembers the last. */
const NAMES_MAX = 3
const KEPT_SECONDS = 180 * 24 * 3_600
const PURPOSE = 'browser that has signed in'
const BETWEEN = '~'

const markText = ({ name }: Face, id: string, sign_in_name: string): string =>
  JSON.stringify([name, id, sign_in_name])

function givenBrowser({ face }: Needs, asked: PageCall): Browser | undefined {
  const cookies = parseCookie(asked.headers.cookie ?? '')
  const [id, ...marks] = cookies[browserCookieName(face, pageOrigin(asked))]?.split(BETWEEN) ?? []
  return id && /^[0-9a-z]{26}$/.test(id) ? { id, marks: marks.slice(0, NAMES_MAX) } : undefined
}

/** The marks of a browser for a name. */
const marksOf = ({ face, seal }: Needs, { id, marks }: Browser, sign_in_name: string) =>
  marks.filter((mark) => seal.isMark(mark, markText(face, id, sign_in_name), PURPOSE))

/** The id of the browser that asks, if it has signed in with this name. */
export function browserIdFor(
  needs: Needs,
  asked: PageCall,
  sign_in_name: string,
): string | undefined {
  const browser = givenBrowser(needs, asked)
  return browser && marksOf(needs, browser, sign_in_name).length > 0 ? browser.id : undefined
}

/** The header by which a browser remembers that it has signed in with a name. */
export function browserCookie(needs: Needs, asked: PageCall, sign_in_name: string): string {
  const { face, seal } = needs
  const browser = givenBrowser(needs, asked) ?? { id: needs.new_id(), marks: [] }
  const before = marksOf(needs, browser, sign_in_name)
  const others = browser.marks.filter((mark) => !before.includes(mark))
  const own = seal.mark(markText(face, browser.id, sign_in_name), PURPOSE)
  const origin = pageOrigin(asked)
  return stringifySetCookie({
    name: browserCookieName(face, origin),
    value: [browser.id, own, ...others].slice(0, 1 + NAMES_MAX).join(BETWEEN),
    ...cookieOptions(origin),
    maxAge: KEPT_SECONDS,
  })
}
