// API keys, by the operator's hand. What seals a new key's secret comes from outside of the
// database, and is first compared with what the database already has: with the wrong one keys would
// never work. A new key takes requests with either signature, unless the operator says otherwise:
// clients that exist know the first one alone.

import { isAddress } from 'penstock-tron/address.ts'
import { type Static, Type } from 'typebox'
import { resealWebhookSecrets } from '../../events/webhooks/webhooks.ts'
import type { Change } from '../../ledger/accounts/actions.ts'
import { DAY_MS, dayOf, readMoment } from '../../lib/clock.ts'
import { Fault, misuse, refusal } from '../../lib/fault.ts'
import { resealSigningKey } from '../../market/receipts/signing_keys.ts'
import { endAll } from '../../market/subscriptions/ending.ts'
import {
  lockCustomer,
  requireCustomer,
  requireLockedCustomer,
} from '../../people/customers/customers.ts'
import { Key, reportKeys } from '../../people/keys/forms.ts'
import { givenOf, isWider } from '../../people/keys/grants.ts'
import {
  changeKey,
  issueKey,
  type KeyLimits,
  type KeyRow,
  listKeys,
  lockKey,
  resealSecrets,
  revokeKey,
  rotateSecret,
  sealingKeysMissing,
} from '../../people/keys/keys.ts'
import { KEY_REVOKED, MadeForm, type MakerEnd } from '../../people/keys/made.ts'
import { keysSealedOtherwise } from '../../people/pairing/pairings.ts'
import { resealTotpSecrets } from '../../people/sign_in/codes.ts'
import { lettersSealedOtherwise } from '../../people/sign_up/sign_up.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { Seal } from '../../platform/seal/seal.ts'
import { SCOPES, type Scope, UNNAMED_SCOPES } from '../../platform/wire/endpoint.ts'
import { picked } from '../../platform/wire/row.ts'
import {
  Count,
  flag,
  Moment,
  NOTHING,
  OrNull,
  oneOf,
  optional,
  Text,
  text,
  whole,
} from '../../platform/wire/schemas.ts'
import { endings } from '../market/orders.ts'
import { type Answer, change, look, type Needs, readTrx } from '../table/operation.ts'
import { endWithMade, leftOf, WITH_MADE } from './ending.ts'

/** Without its token and its secret; null is not said, what it means is. */
export const ShownKey = Type.Object({
  ...Key.pick('id', 'name'),
  scopes: Type.Array(Text),
  allowed_networks: Type.Array(Text),
  receivers: Type.Array(Text),
  ...Key.pick('daily_cap_sun', 'require_v2', 'require_external_id', 'created_at', 'expires_at'),
  ...Key.pick('revoked_at', 'made_by_key', 'last_used_at', 'old_secret_until'),
})
const IssuedKey = Type.Object({
  key_id: Text,
  token: Text,
  secret: Text,
  signatures: Text,
  expires_at: OrNull(Moment),
})
type IssuedKey = Static<typeof IssuedKey>
const RotatedKey = Type.Object({ key_id: Text, secret: Text, old_secret_until: OrNull(Moment) })
const RevokedKey = Type.Object({
  key_id: Text,
  revoked_at: Moment,
  ended_subscriptions: Count,
  made: MadeForm,
})

/** Throws Refused unless the secrets of the keys can be opened. */
async function requireSameSeal(tx: Sql | Tx, seal: Seal): Promise<void> {
  if ((await sealingKeysMissing(tx, seal)).length > 0)
    throw refusal(
      'The secrets in this database are not sealed with the key that is configured here.',
    )
}

/** A key for reading. */
export const keyShown = (key: KeyRow): Static<typeof ShownKey> =>
  picked(ShownKey, {
    ...key,
    scopes: [...(key.scopes ?? UNNAMED_SCOPES)],
    allowed_networks: key.allowed_networks ?? ['any'],
    receivers: key.receivers ?? ['any'],
  })

/** What limits a key: the same for a new key and for one that is changed. */
const LIMITS = {
  name: optional(text('NAME', 'what to call it (key)')),
  scope: optional(Type.Array(oneOf([...SCOPES, 'all'], 'what it may do (read, buy, aml)'))),
  network: optional(
    Type.Array(text('NETWORK', 'where it may be used from, such as 203.0.113.0/24 (any)')),
  ),
  receiver: optional(Type.Array(text('ADDRESS', 'an address that may receive what it buys (any)'))),
  daily_cap: optional(text('TRX', 'the most it may spend in a day (none)')),
  expires: optional(
    text('WHEN', 'a day, a time, or in so many days (90d): refused from then on (never)'),
  ),
  require_v2: flag('refuse requests without the second signature, which binds time and path'),
  allow_v1: flag(
    'take requests with the first signature alone, too: anyone who sees one can send it again',
  ),
  require_external_id: flag(
    'refuse to begin anything without an external_id or an Idempotency-Key',
  ),
  allow_no_external_id: flag('begin things without an id of the caller, too'),
}
const Limits = Type.Object(LIMITS)

/** As it is typed. */
type LimitsBody = Static<typeof Limits>

/** What was typed as limits; what was not typed is undefined. Throws misuse. */
function readLimits(typed: LimitsBody, at: Date): KeyLimits {
  const { name, scope = [], network = [], receiver = [], daily_cap, expires } = typed
  return {
    name,
    scopes: scope.length === 0 ? undefined : scopesOf(scope),
    allowed_networks: network.length === 0 ? undefined : listOrAny(network, '--network'),
    receivers: receiver.length === 0 ? undefined : receiversOf(receiver),
    daily_cap_sun:
      daily_cap === undefined
        ? undefined
        : daily_cap === 'none'
          ? null
          : BigInt(readTrx(daily_cap, '--daily-cap')),
    require_v2: either(typed.require_v2, typed.allow_v1, '--require-v2 and --allow-v1'),
    require_external_id: either(
      typed.require_external_id,
      typed.allow_no_external_id,
      '--require-external-id and --allow-no-external-id',
    ),
    expires_at: expires === undefined ? undefined : readExpiry(expires, at),
  }
}

function scopesOf(words: readonly (Scope | 'all')[]): Scope[] {
  if (!words.includes('all')) return [...new Set(words as readonly Scope[])]
  if (words.length > 1) throw misuse('--scope all includes the others: give it alone.')
  return [...SCOPES]
}

/** Null: any. */
function listOrAny(words: readonly string[], option: string): readonly string[] | null {
  if (!words.includes('any')) return [...new Set(words)]
  if (words.length > 1) throw misuse(`${option} any includes the others: give it alone.`)
  return null
}

function receiversOf(words: readonly string[]): readonly string[] | null {
  const receivers = listOrAny(words, '--receiver')
  const wrong = receivers?.find((one) => !isAddress(one))
  if (wrong !== undefined) throw misuse(`--receiver ${wrong}: it is not an address.`)
  return receivers
}

function either(yes = false, no = false, names: string): boolean | undefined {
  if (yes && no) throw misuse(`${names} exclude one another.`)
  return yes ? true : no ? false : undefined
}

/** `never`, a day or time that is still to come, or `90d`. */
function readExpiry(given: string, at: Date): Date | null {
  if (given === 'never') return null
  const days = /^(\d{1,4})d$/.exec(given)?.[1]
  const expires_at =
    days === undefined ? readMoment(given) : new Date(at.getTime() + Number(days) * DAY_MS)
  if (!expires_at)
    throw misuse(
      `--expires ${given}: it is a day, a time in UTC, a number of days like 90d, or never.`,
    )
  if (expires_at <= at) throw misuse(`--expires ${given} is not in the future.`)
  return expires_at
}

/** Runs what checks allowed networks, and says which is none. */
async function withNetworks<T>(work: Promise<T>): Promise<T> {
  return work.catch((thrown: unknown) => {
    throw thrown instanceof Fault ? misuse(`--network: ${thrown.message}.`) : thrown
  })
}

/** Which signatures a key takes, for reading. */
const signaturesOf = (require_v2: boolean) => (require_v2 ? 'v2' : 'v1 or v2')

/** Makes a key. Its token and secret are in the result, and nowhere else. */
async function addKey(
  tx: Tx,
  needs: Needs,
  typed: LimitsBody & { customer: string; at: Date },
): Promise<Change<Answer<IssuedKey>>> {
  // Anyone who closes the customer meanwhile waits, and then revokes this key too.
  const customer = await requireLockedCustomer(tx, typed.customer)
  const { id: customer_id } = customer
  if (customer.state === 'closed')
    throw refusal(`The customer ${customer_id} is closed: it has no keys any more.`)
  const seal = await needs.seal()
  await requireSameSeal(tx, seal)
  const { clock, random, new_id } = needs
  const read = readLimits(typed, typed.at)
  const { name = 'key', scopes, allowed_networks, receivers, daily_cap_sun, expires_at } = read
  const { require_v2 = false, require_external_id = false } = read
  const limits = {
    scopes: scopes ?? undefined,
    allowed_networks: allowed_networks ?? undefined,
    receivers: receivers ?? undefined,
    daily_cap_sun: daily_cap_sun ?? undefined,
    expires_at: expires_at ?? undefined,
    require_v2,
    require_external_id,
  }
  const issued = await withNetworks(
    issueKey(tx, { clock, random, new_id, seal }, { customer_id, name, ...limits }),
  )
  const value = { ...issued, signatures: signaturesOf(require_v2), expires_at: expires_at ?? null }
  const action = {
    subject: `key:${issued.key_id}`,
    before: null,
    after: { customer_id, name, ...limits },
  }
  const note = `The secret cannot be shown again. ${SIGNATURE_NOTES[signaturesOf(require_v2)]}`
  return { result: { value, note }, actions: [action] }
}

const SIGNATURE_NOTES = {
  v2: 'Requests need the second signature too: the SDK and the command line send it.',
  'v1 or v2':
    'It takes requests with the first signature alone: anyone who sees one can send it again, ' +
    'which buys twice what has no external_id (--require-external-id refuses such, ' +
    '--require-v2 the first signature alone).',
}

async function requireKey(tx: Tx, key_id: string): Promise<KeyRow> {
  const key = await lockKey(tx, key_id)
  if (!key || key.user_id !== null) throw refusal(`There is no key ${key_id}.`)
  return key
}

/** Whose key it is: locked before the key, as everywhere. Throws Refused. */
async function ownerOf(tx: Tx, key_id: string): Promise<{ customer_id: string }> {
  const [owner] = await tx<{ customer_id: string }>`
    select customer_id from api_key where id = ${key_id}`
  if (!owner) throw refusal(`There is no key ${key_id}.`)
  return owner
}

/** Whether a key could do more with these limits than it can now. */
async function becomesWider(sql: Sql, typed: LimitsBody & { key: string }, at: Date) {
  const [now] = await reportKeys(sql, { ids: [typed.key], limit: 1, day: dayOf(at) })
  return now !== undefined && isWider({ ...now, ...givenOf(readLimits(typed, at)) }, now)
}

/** Puts other limits on a key that is not revoked. */
async function alterKey(
  tx: Tx,
  { key: key_id, at, ...typed }: LimitsBody & { key: string; at: Date },
): Promise<Change<Answer<Static<typeof ShownKey>>>> {
  // What it has made is limited with it, and no other is made meanwhile.
  await lockCustomer(tx, (await ownerOf(tx, key_id)).customer_id)
  const before = await requireKey(tx, key_id)
  if (before.revoked_at) throw refusal(`The key ${key_id} is revoked, for good.`)
  const limits = readLimits(typed, at)
  if (Object.values(limits).every((limit) => limit === undefined))
    throw misuse('keys change: nothing to change is given.')
  const after = await withNetworks(changeKey(tx, before, { ...limits, at }))
  const told = (key: KeyRow) =>
    JSON.stringify(key, (_name, one: unknown) => (typeof one === 'bigint' ? String(one) : one))
  const [was, is] = [limitsOf(before, limits), limitsOf(after, limits)]
  const same = told(before) === told(after)
  const note = same ? 'No change.' : 'Changed: in force in every process within a second.'
  const action = { subject: `key:${key_id}`, before: was, after: is }
  return { result: { value: keyShown(after), note }, actions: same ? [] : [action] }
}

/** Those fields of a key that were to be changed. */
function limitsOf(key: KeyRow, limits: KeyLimits): object {
  const names = Object.entries(limits).flatMap(([name, limit]) =>
    limit === undefined ? [] : [name],
  )
  return Object.fromEntries(names.map((name) => [name, key[name as keyof KeyLimits]]))
}

/** Revokes a key for good, and ends the subscriptions that it has started unless they are to be
 *  kept, its open invitations, and with `with_made` all that it has made. */
async function takeKey(
  tx: Tx,
  { id: key_id, at, ...how }: Omit<MakerEnd, 'customer_id'>,
): Promise<Change<Answer<Static<typeof RevokedKey>>>> {
  const owner = await ownerOf(tx, key_id)
  // The account is locked before the key, as everywhere; a start that comes later finds the key
  // revoked.
  const gone = await endWithMade(tx, { ...owner, id: key_id, at, ...how })
  const reason = KEY_REVOKED
  const ended = how.keep_subscriptions
    ? []
    : await endAll(tx, { ...owner, key_id }, { reason, now: at })
  const { customer_id, name, revoked_at } = await requireKey(tx, key_id)
  const ended_subscriptions = gone.ended_subscriptions + ended.length
  const value = { key_id, revoked_at: revoked_at ?? at, ended_subscriptions, made: gone.made }
  const action = {
    subject: `key:${key_id}`,
    before: { customer_id, name },
    after: { revoked_at: at },
  }
  if (!revoked_at) await revokeKey(tx, { customer_id, key_id, at })
  const actions = [...(revoked_at ? [] : [action]), ...gone.actions, ...endings(ended, reason)]
  const note = `${revoked_at ? 'It was revoked before.' : 'Revoked.'}${leftOf(gone.made)}`
  return { result: { value, note }, actions }
}

/** Gives a key a new secret; the one before signs for a while. */
async function renewSecret(
  tx: Tx,
  needs: Needs,
  { key: key_id, overlap_hours }: { key: string; overlap_hours: number },
): Promise<Change<Answer<Static<typeof RotatedKey>>>> {
  const key = await requireKey(tx, key_id)
  if (key.revoked_at) throw refusal(`The key ${key_id} is revoked, for good.`)
  const seal = await needs.seal()
  await requireSameSeal(tx, seal)
  const { clock, random, new_id } = needs
  if (overlap_hours > 0 && key.old_secret_until && key.old_secret_until > clock.now()) {
    throw refusal(
      `Two secrets of the key ${key_id} sign already: wait, or end both by --overlap-hours 0.`,
    )
  }
  const made = { clock, random, new_id, seal }
  const { secret, old_secret_until } = await rotateSecret(tx, made, { key, overlap_hours })
  const before = { secret_made_at: key.secret_made_at }
  const after = { secret_made_at: clock.now(), old_secret_until }
  const note =
    'The secret cannot be shown again. ' +
    (old_secret_until ? 'Until then the one before signs too.' : 'The one before signs no more.')
  const action = { subject: `key:${key_id}`, before, after }
  return { result: { value: { key_id, secret, old_secret_until }, note }, actions: [action] }
}

/** Until when an older key is needed for secrets that are not sealed again, as they end soon. */
async function neededUntil(tx: Tx, seal: Seal, at: Date): Promise<string | undefined> {
  const ends = [
    ...(await keysSealedOtherwise(tx, seal, at)),
    ...(await lettersSealedOtherwise(tx, seal, at)),
  ]
  if (ends.length === 0) return undefined
  const until = new Date(Math.max(...ends.map((end) => end.getTime()))).toISOString()
  return (
    `Keep the older keys until ${until}, or until this says so no more: programs wait for a key, ` +
    'or letters are to be sent, that they have sealed.'
  )
}

const customer = text('CUSTOMER', 'the id of the customer')
const key = text('KEY', 'the id of the key')

export const keyOperations = [
  change({
    path: '/operator/keys/issue',
    careful: true,
    summary: 'make an API key; its secret is shown this once',
    description:
      'It takes requests with either signature, as clients need that know the first one alone. ' +
      'Unless one of those is to use it, give --require-v2: then it takes both signatures only.',
    body: Type.Object({ customer, ...LIMITS }),
    reply: IssuedKey,
    cli: { operands: ['customer'] },
    second: () => true,
    handle: async ({ tx, at, body, ...needs }) => addKey(tx, needs, { ...body, at }),
  }),
  look({
    path: '/operator/keys/list',
    summary: "a customer's keys, revoked and expired ones included",
    body: Type.Object({ customer }),
    reply: Type.Array(ShownKey),
    cli: { operands: ['customer'] },
    async handle({ sql, body }) {
      const { id } = await requireCustomer(sql, body.customer)
      return { value: (await listKeys(sql, id)).map(keyShown) }
    },
  }),
  change({
    path: '/operator/keys/change',
    careful: true,
    summary: 'put other limits on a key; servers follow within a second',
    description:
      'What is not given stays as it is. --scope all, --network any, --receiver any, ' +
      '--daily-cap none and --expires never lift a limit. Keys that a key has made have no other ' +
      'receivers, and no higher cap, than it is given.',
    body: Type.Object({ key, ...LIMITS }),
    reply: ShownKey,
    cli: { operands: ['key'] },
    second: ({ sql, at, body }) => becomesWider(sql, body, at),
    handle: async ({ tx, at, body }) => alterKey(tx, { ...body, at }),
  }),
  change({
    path: '/operator/keys/rotate',
    careful: true,
    summary: 'give a key a new secret, shown this once; the one before signs for a while',
    body: Type.Object({
      key,
      overlap_hours: optional(
        whole('HOURS', 'for how long the secret before signs (24)', { min: 0, max: 168 }),
      ),
    }),
    reply: RotatedKey,
    cli: { operands: ['key'] },
    second: () => true,
    handle: async ({ tx, body: { overlap_hours = 24, key }, ...needs }) =>
      renewSecret(tx, needs, { key, overlap_hours }),
  }),
  change({
    path: '/operator/keys/revoke',
    careful_with: 'with_made',
    summary: 'end a key for good; servers refuse it within a second',
    description:
      'The subscriptions that it has started end with it, since a key is mostly revoked because ' +
      'it was stolen; anyone who only changes keys keeps them. So do its open invitations. What ' +
      'it has made is named, and what that has made; --with-made ends that, too.',
    body: Type.Object({
      key,
      keep_subscriptions: flag('let the subscriptions go on that it has started'),
      with_made: WITH_MADE,
    }),
    reply: RevokedKey,
    cli: { operands: ['key'] },
    handle: ({ tx, at, body: { key: id, keep_subscriptions = false, with_made = false } }) =>
      takeKey(tx, { id, at, keep_subscriptions, with_made }),
  }),
  change({
    path: '/operator/keys/reseal',
    role: 'admin',
    careful: true,
    summary: 'seal every secret with the current sealing key, so that older ones can be given up',
    body: NOTHING,
    reply: Type.Object({ resealed: Count }),
    async handle({ tx, at, seal }) {
      const sealing = await seal()
      const resealed =
        (await resealSecrets(tx, sealing)) +
        (await resealWebhookSecrets(tx, sealing)) +
        (await resealSigningKey(tx, sealing)) +
        (await resealTotpSecrets(tx, sealing))
      const action = { subject: 'key', before: null, after: { resealed } }
      const note = await neededUntil(tx, sealing, at)
      return { result: { value: { resealed }, note }, actions: resealed > 0 ? [action] : [] }
    },
  }),
]
