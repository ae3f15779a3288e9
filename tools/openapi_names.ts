// The schemas of the reference that have names: each by a place where it stands. Wherever an equal
// one stands, and inside others, it is meant by its name; so programs that generate clients make
// one class of an order, and not one for each endpoint that answers it.

type Part = Record<string, unknown>

/** A path (of the body of a call, or of an event, when it says so), and the way from its result:
 *  `.field`, `[]` for one of a list, `*` for any value of an object. Several places are one schema
 *  that has the fields of all: one that is not in each may be left out. The first place gives the
 *  order. */
const NAMES: readonly [name: string, ...places: string[]][] = [
  [
    'Transaction',
    '/v1/transaction/check',
    '/v1/transaction/new',
    'event order.delayed',
    '/v1/transactions/list.items[]',
  ],
  ['TransactionParams', '/v1/transaction/check.params'],
  ['PurchaseParams', 'body /v1/transaction/new.params'],
  ['Delegation', '/v1/transaction/check.delegations[]'],
  ['TimelineStep', '/v1/transaction/timeline.steps[]'],
  ['Quote', '/v1/quote/new'],
  ['Receipt', '/v1/receipt.receipt'],
  [
    'Subscription',
    '/v1/subscription/check',
    '/v1/subscription/stop',
    'event subscription.used',
    '/v1/subscriptions/history.items[]',
  ],
  ['SubscriptionParams', '/v1/subscription/check.params'],
  ['SubscriptionUse', '/v1/subscription/uses.items[]', 'event subscription.used.use'],
  ['Plan', '/v1/subscriptions*'],
  ['AmlCheck', '/v1/aml-checks/check', 'event aml_watch.changed'],
  ['RiskFactor', '/v1/aml-checks/check.risk_factors[]'],
  ['AmlWatch', '/v1/aml-watches/list.items[]'],
  ['AmlReport', '/v1/aml-check/report'],
  ['Deposit', '/v1/deposits/list.items[]', 'event deposit.seen', '/deposits/{tx_id}.deposits[]'],
  ['StatementEntry', '/v1/statement.items[]'],
  ['Summary', '/v1/summary.buckets[]'],
  ['Invoice', '/v1/invoices/list.items[]', '/v1/invoice/check'],
  ['InvoiceLine', '/v1/invoice/check.lines[]'],
  ['EnergyTier', '/v1/services.energy[]'],
  ['BandwidthTier', '/v1/services.bandwidth[]'],
  ['Key', '/v1/keys/list.items[]'],
  ['Creation', '/v1/made/check.keys[]'],
  ['Creations', '/v1/made/check'],
  ['User', '/v1/users/list.items[]'],
  ['Session', '/v1/sessions/list.items[]'],
  ['Action', '/v1/actions/list.items[]'],
  ['Refused', '/v1/refusals/list.items[]'],
  ['Webhook', '/v1/webhooks/list.items[]', 'event webhook.enabled'],
  ['WebhookCall', '/v1/webhook/test.call'],
  ['Notice', '/v1/notices/list.items[]'],
  ['Settings', '/v1/settings/change'],
  ['LoggedEvent', '/v1/events/list.items[]'],
]

/** The document with those schemas among its components. Throws when a place is not there. */
export function withNames(document: Part): Part {
  const schemas: Part = {}
  const names = new Map<string, string>()
  const places = NAMES.map(([name, ...ways]) => {
    const found = ways.map((way) => find(document, way))
    for (const schema of found) names.set(textOf(schema), name)
    return [name, found] as const
  })
  for (const [name, found] of places) schemas[name] = inside(merged(found), names)
  const { components, ...rest } = document as { components: { schemas: Part } }
  nameEvents(document, schemas, names)
  const named = outside(rest, names) as Part
  return { ...named, components: { ...components, schemas: { ...components.schemas, ...schemas } } }
}

/** Each event by its type, and all of them as one, told apart by that. */
function nameEvents(document: Part, schemas: Part, names: Map<string, string>): void {
  const events = Object.keys(document.webhooks as Part).map((type) => {
    const words = type.replace(/(?:^|[._])(\w)/g, (_, letter: string) => letter.toUpperCase())
    const name = `Event${words}`
    const schema = bodyOf(document, type)!
    schemas[name] = inside(schema, names)
    return { type, name, text: textOf(schema) }
  })
  for (const { name, text } of events) names.set(text, name)
  const ref = (name: string) => `#/components/schemas/${name}`
  schemas.Event = {
    oneOf: events.map(({ name }) => ({ $ref: ref(name) })),
    discriminator: {
      propertyName: 'type',
      mapping: Object.fromEntries(events.map(({ type, name }) => [type, ref(name)])),
    },
  }
}

/** The schema at a place. */
function find(document: Part, way: string): Part {
  const event = /^event ([a-z_]+\.[a-z_]+)(.*)$/.exec(way)
  const [, body, path = '', rest = ''] = /^(body )?([^.*]+)(.*)$/.exec(way) ?? []
  const start = event
    ? step(bodyOf(document, event[1]!), '.data')
    : body
      ? requestOf(document, path)
      : resultOf(document, path.replace(/\[\]$/, ''))
  const steps = (event ? event[2]! : rest).match(/\.\w+|\[\]|\*/g) ?? []
  const schema = steps.reduce<Part | undefined>((at, one) => at && step(at, one), start)
  if (schema === undefined) throw new Error(`The reference has no ${way}.`)
  return schema
}

function step(schema: Part | undefined, way: string): Part | undefined {
  const one = solid(schema)
  if (way === '[]') return one?.items as Part | undefined
  if (way === '*') return Object.values((one?.patternProperties ?? {}) as Part)[0] as Part
  return solid((one?.properties as Part | undefined)?.[way.slice(1)] as Part | undefined)
}

/** A nullable schema, without null. */
function solid(schema: Part | undefined): Part | undefined {
  const choices = schema?.anyOf as Part[] | undefined
  return choices ? choices.find(({ type }) => type !== 'null') : schema
}

type Operation = { requestBody?: { content: Content }; responses?: Record<string, Part> }
type Content = Record<string, { schema: Part }>

function bodyOf(document: Part, type: string): Part | undefined {
  const hooks = document.webhooks as Record<string, { post: Operation }>
  return hooks[type]?.post.requestBody?.content['application/json']?.schema
}

function requestOf(document: Part, path: string): Part | undefined {
  const paths = document.paths as Record<string, { post?: Operation }>
  return paths[path]?.post?.requestBody?.content['application/json']?.schema
}

function resultOf(document: Part, path: string): Part | undefined {
  const paths = document.paths as Record<string, { post?: Operation; get?: Operation }>
  const { post, get } = paths[path] ?? {}
  const content = (post ?? get)?.responses?.['200']?.content as Content | undefined
  const schema = content?.['application/json']?.schema
  const [success] = (schema?.oneOf as Part[] | undefined) ?? [schema]
  return ((success?.properties as Part | undefined)?.result as Part | undefined) ?? success
}

/** Two objects that are the same but for what is said of them. */
function textOf({ title: _, description: __, ...schema }: Part): string {
  return JSON.stringify(schema)
}

/** One object that has the fields of all; those that each requires are required. */
function merged(schemas: readonly Part[]): Part {
  const [first, ...others] = schemas
  const properties: Part = Object.assign({}, ...[first, ...others].toReversed().map(fieldsOf))
  const required = ((first!.required ?? []) as string[]).filter((name) =>
    others.every((one) => ((one.required ?? []) as string[]).includes(name)),
  )
  const ordered = [...Object.keys(fieldsOf(first)), ...Object.keys(properties)]
  return {
    ...first,
    required,
    properties: Object.fromEntries(ordered.map((name) => [name, properties[name]])),
  }
}

const fieldsOf = (schema: Part | undefined) => (schema?.properties ?? {}) as Part

/** The parts of a schema by their names. */
const inside = (schema: Part, names: ReadonlyMap<string, string>): Part =>
  Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, outside(value, names)]))

/** A value with every schema in it that has a name meant by that. */
function outside(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((one) => outside(one, names))
  if (value === null || typeof value !== 'object') return value
  const part = value as Part
  const name = 'properties' in part ? names.get(textOf(part)) : undefined
  if (name === undefined) return inside(part, names)
  const { description } = part
  return {
    $ref: `#/components/schemas/${name}`,
    ...(description !== undefined && { description }),
  }
}
