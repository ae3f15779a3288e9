// The operators' console as a process starts it: on a port of its own, on a database without a
// chain.

import type { TestContext } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import { httpTransport, tronNode } from 'penstock-service/chain/node/node.ts'
import { chainView } from 'penstock-service/health/books/chain.ts'
import { systemClock } from 'penstock-service/lib/clock.ts'
import { idMaker, systemRandom } from 'penstock-service/lib/ids.ts'
import { silentLog } from 'penstock-service/lib/log.ts'
import { startConsole } from 'penstock-service/operators/console/start.ts'
import { totpCodes } from 'penstock-service/people/sign_in/codes.ts'
import { passwordHasher } from 'penstock-service/people/sign_in/passwords.ts'
import { sessionReader } from 'penstock-service/people/users/sessions.ts'
import { inviteUser, makeLink } from 'penstock-service/people/users/users.ts'
import { sealWith } from 'penstock-service/platform/seal/seal.ts'
import { openAssets } from 'penstock-service/web/assets.ts'
import { freshDatabase } from './database.ts'
import { BUILT_PAGES } from './sandbox.ts'

/** Addresses that nobody has the keys of. */
const deposit_address = (index: number) => person(`deposit ${index}`).address

const noNode = () => Promise.reject(new Error('no node'))

/** Where nobody listens. */
const NO_NODE = { url: 'http://127.0.0.1:9' }

/** The console as a process starts it, without a chain, and somebody who is signed in: by the
 *  cookie, or in a browser by the link. */
export async function startedConsole(
  t: TestContext,
  { port = 0, role = 'operator', web = false, nodes = [NO_NODE] } = {},
) {
  const { sql, url: database_url } = await freshDatabase(t)
  const clock = systemClock
  const random = systemRandom
  const new_id = idMaker(clock, random)
  const seal = sealWith({ current: 'k1', keys: { k1: new Uint8Array(32) } }, random)
  const sessions = sessionReader({ sql, clock, seal })
  const network = async () => 'sandbox'
  const common = { sql, clock, random, new_id, seal, wake: () => {} }
  const brandName = async () => 'Penstock'
  const proofs = { passwords: passwordHasher(random, 10), totp_codes: totpCodes(seal) }
  const sign_in = { ...common, ...proofs, brandName, sessions, network, sign_up: false }
  const running = await startConsole(
    {
      console_host: '127.0.0.1',
      console_port: port,
      console_port_any: true,
      console_url: undefined,
      data_dir: '/nowhere',
    },
    {
      ...common,
      database_url,
      log: silentLog,
      wait: async () => {},
      node: tronNode({ nodes, transport: httpTransport }),
      chain: chainView([{ url: 'http://nowhere' }], noNode),
      public_url: 'http://localhost:8080',
      app: { new_id, seal, deposit_address, sign_in },
      web: web
        ? {
            assets: openAssets(BUILT_PAGES, silentLog),
            explorer: undefined,
            network,
          }
        : undefined,
    },
  )
  t.after(running.close)
  const headers = { origin: running.url, 'x-penstock': '1', 'sec-fetch-site': 'same-origin' }
  const post = (path: string, body: object, more: Record<string, string> = {}) =>
    fetch(`${running.url}/console/${path}`, {
      method: 'POST',
      headers: { ...headers, ...more },
      body: JSON.stringify(body),
    })
  const link = () =>
    sql.begin(async (tx) => {
      const wanted = { customer_id: null, name: 'olga', role, invited_by: 'test' }
      const { id: user_id } = await inviteUser(tx, common, wanted)
      return (await makeLink(tx, common, { user_id, purpose: 'sign_in' })).token
    })
  const signed_in = await post('session/link', { token: await link() })
  const cookie = signed_in.headers.get('set-cookie')!.split(';', 1)[0]!
  return { sql, url: running.url, headers, post, cookie, link }
}
