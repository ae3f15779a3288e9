// The portal: the customers' endpoints a second time, for those who have signed in, and the events
// that a page is told of as they happen. No handler is the portal's own.

import { Type } from 'typebox'
import type { EventStreams } from '../../events/log/streams.ts'
import type { Mount } from '../../platform/http/mounts.ts'
import {
  type Endpoint,
  LimitReached,
  refuses,
  streamEndpoint,
} from '../../platform/wire/endpoint.ts'
import type { Face } from './faces.ts'
import { type MountNeeds, sessionMount } from './mount.ts'

export type Needs = MountNeeds & { streams: EventStreams }

/** What is noted while a page is away: a number that it goes on after. */
const LAST_EVENT_ID = /^\d{1,18}$/

/** Events as they are numbered, of what the role may read. */
const events = ({ streams }: Needs): Endpoint =>
  streamEndpoint({
    path: '/events',
    scope: 'read',
    summary: 'Events as they are numbered, for pages',
    body: Type.Object({}),
    item: Type.Unknown(),
    faults: [refuses(LimitReached, 'Too many streams are open', 'stream')],
    open({ customer, headers }, gone) {
      const last = headers['last-event-id']
      const after = typeof last === 'string' && LAST_EVENT_ID.test(last) ? BigInt(last) : undefined
      return streams.open({ customer, after, tests: true }, gone)
    },
  })

/** `endpoints`: the customers'; `sign_in`: those of signing in. Endpoints whose answer stays open
 *  are for programs: a page reads `/portal/events`. */
export function portalMount(
  needs: Needs,
  face: Face,
  { endpoints, sign_in }: { endpoints: readonly Endpoint[]; sign_in: readonly Endpoint[] },
): Mount {
  const whole = endpoints.filter(({ auth, open }) => auth === 'signature' && !open)
  return sessionMount(needs, face, {
    endpoints: [...sign_in, ...whole],
    streams: [events(needs)],
  })
}
