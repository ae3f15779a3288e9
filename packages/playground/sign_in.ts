// Who signs in to a sandbox: the owner of its customer, and an admin of the house. Each start
// prints a link for each of them that does so once.

import type { Config } from 'penstock-service/config.ts'
import { inviteUser, linkUrl, makeLink } from 'penstock-service/people/users/users.ts'
import type { RunningService } from 'penstock-service/serve.ts'

/** `console`: undefined where there is none. */
export type SignInLinks = { portal: string; console: string | undefined }

const USERS = [
  { face: 'portal', name: 'Sandbox owner', role: 'owner' },
  { face: 'console', name: 'Sandbox admin', role: 'admin' },
] as const

export async function sandboxSignIn(
  { public_url }: Pick<Config, 'public_url'>,
  { sql, app, api_url, console_url }: RunningService,
  { customer_id }: { customer_id: string },
): Promise<SignInLinks> {
  const tokens = await sql.begin(async (tx) => {
    const of_face: string[] = []
    for (const { face, name, role } of USERS) {
      const owner = face === 'portal' ? customer_id : null
      const [found] = await tx<{ id: string }>`
        select id from service_user
        where customer_id is not distinct from ${owner} and role = ${role} and ended_at is null
          and invited_by = 'sandbox'`
      const wanted = { customer_id: owner, name, role, invited_by: 'sandbox' }
      const user = found ?? (await inviteUser(tx, app.sign_in, wanted))
      const { token } = await makeLink(tx, app.sign_in, { user_id: user.id, purpose: 'sign_in' })
      of_face.push(token)
    }
    return of_face
  })
  const [portal, house] = tokens as [string, string]
  // An address can be no name of a passkey: what is local goes by its name.
  const api = public_url ?? `http://localhost:${new URL(api_url!).port}`
  return {
    portal: linkUrl(`${api}/portal`, portal),
    console: console_url && linkUrl(`${console_url}/console`, house),
  }
}
