// The work for those who sign up: sending the letter, opening the customer, forgetting who never
// came.

import { type Clock, DAY_MS, later } from '../../lib/clock.ts'
import { Outage } from '../../lib/fault.ts'
import type { NewId } from '../../lib/ids.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { Seal } from '../../platform/seal/seal.ts'
import type { Step } from '../../platform/steps/step.ts'
import { createCustomer } from '../customers/customers.ts'
import type { DepositAddress } from '../customers/deposit_addresses.ts'
import { finishLetter, knownLetter, type Language } from './letters.ts'
import type { Letter, Mailer } from './mailer.ts'
import { LIFE_MS, sealContext } from './sign_up.ts'

export type Needs = { sql: Sql; clock: Clock }
export type LetterSetup = {
  mailer: Mailer
  /** Where the portal is. */
  origin: string
}
export type LetterNeeds = Needs & LetterSetup & { seal: Seal; brandName(): Promise<string> }

/** Longer than a letter can take; another worker takes it up after that. */
const SENDING_MS = 120_000
const RETRY_MS_MIN = 30_000
const RETRY_MS_MAX = 3_600_000
const OPENED_AT_ONCE = 20
const PRUNED_AT_ONCE = 1_000
/** Who has not come is known for a week, for the operator who is asked why. */
const KEPT_MS = 7 * DAY_MS
const HOUR_MS = 3_600_000

type Due = { id: string; email: string; language: Language; sealed_token: string; tries: number }

/** Sends one letter in each run. It goes out before it is noted that it did, so after a crash it
 *  goes out twice, with the same link, and never not at all. */
function sendLettersStep(needs: LetterNeeds): Step {
  const { sql, clock, mailer } = needs
  return {
    name: 'send_letters',
    rest_ms: 1_000,
    due: (sql) => sql`
      select from sign_up
      where state = 'asked' and sealed_token is not null and due_at <= ${clock.now()}`,
    async run() {
      const due = await sql.begin((tx) => takeLetter(tx, clock))
      if (!due) return false
      try {
        const outcome = await mailer(await write(needs, due))
        await sql`
          update sign_up set state = ${outcome}, sent_at = ${clock.now()}, sealed_token = null,
            last_fault = null
          where id = ${due.id} and state = 'asked'`
      } catch (thrown) {
        await postpone(needs, due, thrown instanceof Outage ? thrown.message : 'see the log')
        throw thrown
      }
      return true
    },
  }
}

/** Other workers leave it alone while this one may be at it. One that is too old is given up. */
async function takeLetter(tx: Tx, clock: Clock): Promise<Due | undefined> {
  const now = clock.now()
  await tx`
    update sign_up set sealed_token = null
    where state = 'asked' and sealed_token is not null and due_at <= ${now} and ends_at <= ${now}`
  const [due] = await tx<Due>`
    update sign_up set due_at = ${later(clock, SENDING_MS)}, tries = tries + 1
    where id = (
      select id from sign_up
      where state = 'asked' and sealed_token is not null and due_at <= ${now}
      order by due_at limit 1 for no key update skip locked)
    returning id, email, language, sealed_token, tries`
  return due
}

async function write(needs: LetterNeeds, due: Due): Promise<Letter> {
  const { sql, seal, origin, brandName } = needs
  const { id, email, language, sealed_token } = due
  const brand = await brandName()
  const [known] = await sql`
    select 1 from sign_up as s join customer as c on c.id = s.customer_id
    where lower(s.email) = lower(${email}) and c.state <> 'closed' limit 1`
  if (known) return knownLetter(email, language, { brand, url: `${origin}/portal` })
  const url = `${origin}/portal/sign-up#${seal.open(sealed_token, sealContext(id))}`
  return finishLetter(email, language, { brand, url, hours: LIFE_MS / HOUR_MS })
}

async function postpone({ sql, clock }: Needs, { id, tries }: Due, why: string): Promise<void> {
  const wait_ms = Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** Math.min(tries - 1, 10))
  await sql`
    update sign_up set due_at = ${later(clock, wait_ms)}, last_fault = ${why.slice(0, 200)}
    where id = ${id} and state = 'asked'`
}

export type OpeningNeeds = Needs & { new_id: NewId; deposit_address: DepositAddress }

/** Opens the customers of those who have followed their letters. */
function openCustomersStep(needs: OpeningNeeds): Step {
  return {
    name: 'open_customers',
    rest_ms: 1_000,
    due: (sql) => sql`select from sign_up where state = 'confirmed'`,
    before: ['publish'],
    run: () =>
      needs.sql.begin(async (tx) => {
        const confirmed = await tx<{ id: string; name: string }>`
          select id, name from sign_up where state = 'confirmed'
          order by id limit ${OPENED_AT_ONCE} for no key update skip locked`
        for (const { id, name } of confirmed) {
          const customer = await createCustomer(tx, needs, { name })
          await tx`
            update sign_up set state = 'opened', customer_id = ${customer.id} where id = ${id}`
        }
        return confirmed.length > 0
      }),
  }
}

/** Forgets who has not come. */
const pruneSignUpsStep = ({ sql, clock }: Needs): Step => ({
  name: 'prune_sign_ups',
  rest_ms: 60_000,
  duty: 'upkeep',
  due: (sql) => sql`
    select where (select min(ends_at) from sign_up where state <> 'opened')
      < ${later(clock, -KEPT_MS)}`,
  async run() {
    const pruned = await sql`
      delete from sign_up where id in (
        select id from sign_up
        where state <> 'opened' and ends_at < ${later(clock, -KEPT_MS)}
        order by ends_at limit ${PRUNED_AT_ONCE})
      returning 1`
    return pruned.length === PRUNED_AT_ONCE
  },
})

/** `letters`: undefined in a process that sends none. */
export const signUpSteps = ({
  letters,
  ...needs
}: OpeningNeeds & Omit<LetterNeeds, keyof LetterSetup> & { letters?: LetterSetup | undefined }) => [
  ...(letters ? [sendLettersStep({ ...needs, ...letters })] : []),
  openCustomersStep(needs),
  pruneSignUpsStep(needs),
]
