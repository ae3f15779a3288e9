// The reference as an OpenAPI 3.0 document for programs that generate clients: many read no 3.1,
// give up at a choice of two forms, or make a class of each object that has no name. So here each
// object is a schema with a name, of its own or shared with its equals; an answer is one object
// with `code` and either `result` or `key` and `error`; and the headers that sign are left out,
// since every call has them: a hook adds them. Events are schemas, told apart by `type`.

type Part = Record<string, unknown>
type Operation = {
  operationId: string
  tags: string[]
  summary: string
  description?: string
  security?: Part[]
  parameters?: Part[]
  requestBody?: { required?: boolean; content: Content }
  responses: Record<string, Part & { content?: Content }>
}
type Content = Record<string, { schema: Part; examples?: Part }>
type Paths = Record<string, { post?: Operation; get?: Operation }>
type Document = {
  info: Part
  servers: Part[]
  tags: Part[]
  paths: Paths
  components: Record<string, Part>
}

/** The 3.0 document, as text, of the 3.1 document. */
export function printOpenapi30(text: string): string {
  const { info, servers, tags, paths, components } = JSON.parse(text) as Document
  const schemas = new Schemas(components.schemas as Record<string, Part>)
  const operations = Object.entries(paths).map(([path, { post, get }]) => [
    path,
    post ? { post: call(post, schemas) } : { get: look(get!, schemas) },
  ])
  const { identifier: _, ...license } = info.license as Part
  const { parameters, ...others } = components
  const kept = { IdempotencyKey: parameters!.IdempotencyKey }
  const document = {
    openapi: '3.0.3',
    info: { ...info, license },
    servers,
    tags,
    paths: Object.fromEntries(operations),
    components: { ...others, parameters: kept, schemas: schemas.all },
  }
  return `${JSON.stringify(document, null, 2)}\n`
}

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
const jsonOf = (content: Content) => content['application/json']!
/** Without these, generators take half of the bits, which is too little for money and for times. */
const FORMATS: Readonly<Record<string, string>> = { integer: 'int64', number: 'double' }
const pascal = (name: string) =>
  name.replace(/(?:^|[^A-Za-z0-9]+)([A-Za-z0-9])/g, (_, letter: string) => letter.toUpperCase())

function call(post: Operation, schemas: Schemas): Part {
  const name = pascal(post.operationId)
  const { content, ...body } = post.requestBody!
  const found = post.responses['200']!
  const { oneOf } = jsonOf(found.content!).schema as { oneOf: Part[] }
  const success = oneOf.find(({ title }) => title === 'Success')
  const { result } = (success?.properties ?? {}) as { result?: Part }
  const answer = schemas.add(`${name}Answer`, {
    type: 'object',
    description: 'With code 0 there is `result`; with any other, `key` and `error`.',
    required: ['code', 'request_id'],
    properties: {
      code: { type: 'integer', format: 'int64' },
      request_id: ref('RequestId'),
      ...(result && { result: schemas.converted(`${name}Result`, result) }),
      key: { type: 'string' },
      error: { type: 'string', description: 'For people' },
    },
  })
  const wanted = jsonOf(content)
  const schema = ref(schemas.named(`${name}Body`, wanted.schema))
  const { 'x-refusals': _, ...kept } = post as Operation & { 'x-refusals': unknown }
  return {
    ...kept,
    parameters: (post.parameters ?? []).filter(({ $ref }) => /IdempotencyKey$/.test(String($ref))),
    requestBody: { ...body, content: { 'application/json': { ...wanted, schema } } },
    responses: {
      ...post.responses,
      200: {
        ...found,
        content: {
          ...(success ? {} : { 'text/event-stream': { schema: { type: 'string' } } }),
          'application/json': { ...jsonOf(found.content!), schema: ref(answer) },
        },
      },
    },
  }
}

function look(get: Operation, schemas: Schemas): Part {
  const found = get.responses['200']!
  const name = schemas.named(`${pascal(get.operationId)}Answer`, jsonOf(found.content!).schema)
  const content = { 'application/json': { schema: ref(name) } }
  return { ...get, responses: { ...get.responses, 200: { ...found, content } } }
}

/** Schemas by their names, in the words of 3.0. */
class Schemas {
  readonly all: Record<string, Part> = {}
  readonly #names = new Map<string, string>()

  constructor(others: Record<string, Part>) {
    for (const [name, schema] of Object.entries(others)) this.#take(name, schema)
  }

  /** Keeps one that has a name already. */
  #take(name: string, schema: Part): void {
    const converted = schema.properties ? this.#object(name, schema) : schema
    this.#names.set(JSON.stringify(converted), name)
    this.all[name] = converted
  }

  /** Keeps a schema that is converted. Returns the name of its equal, if there is one. */
  add(name: string, schema: Part): string {
    const text = JSON.stringify(schema)
    const known = this.#names.get(text)
    if (known) return known
    if (name in this.all) throw new Error(`Two schemas would be ${name}.`)
    this.#names.set(text, name)
    this.all[name] = schema
    return name
  }

  /** The name under which an object is kept. */
  named(name: string, schema: Part): string {
    const { $ref } = this.converted(name, schema) as { $ref?: string }
    return $ref ? $ref.split('/').at(-1)! : this.add(name, this.converted(name, schema))
  }

  /** A schema in the words of 3.0; the objects in it by their names. */
  converted(name: string, { title: _, ...schema }: Part): Part {
    if ('$ref' in schema) return ref(String(schema.$ref).split('/').at(-1)!)
    if ('anyOf' in schema) return this.#choice(name, schema as Part & { anyOf: Part[] })
    const { const: only, properties, patternProperties, items, ...kept } = schema
    if (kept.enum && kept.type) return kept
    if (only !== undefined) return { ...kept, type: typeof only, enum: [only] }
    if (kept.enum && !kept.type) return { type: typeof (kept.enum as unknown[])[0], ...kept }
    if (items) return { ...kept, items: this.converted(itemName(name), items as Part) }
    if (patternProperties) {
      const [each] = Object.values(patternProperties)
      return { ...kept, additionalProperties: this.converted(itemName(name), each as Part) }
    }
    const format = FORMATS[String(kept.type)]
    if (format) return { ...kept, format }
    if (!properties || Object.keys(properties).length === 0) return kept
    return ref(this.add(name, this.#object(name, schema)))
  }

  /** An object; what is in it by names. What a description says of a field says nothing of the
   *  object's equals elsewhere. */
  #object(name: string, { title: _, description: __, properties, ...kept }: Part): Part {
    const converted = Object.entries(properties as Part).map(([key, one]) => [
      key,
      this.converted(`${name}${pascal(key)}`, one as Part),
    ])
    return { ...kept, properties: Object.fromEntries(converted) }
  }

  /** A nullable schema; or any JSON value, since 3.0 has no other word for two types. */
  #choice(name: string, { anyOf, ...kept }: Part & { anyOf: Part[] }): Part {
    const others = anyOf.filter(({ type }) => type !== 'null')
    const nullable = others.length < anyOf.length ? { nullable: true } : {}
    // Without a type it may be anything, null included.
    if (others.length > 1) return kept
    const one = this.converted(name, others[0]!)
    if (!('$ref' in one)) return { ...one, ...kept, ...('type' in one && nullable) }
    return { ...kept, ...('nullable' in nullable && { type: 'object' }), ...nullable, allOf: [one] }
  }
}

/** The name of one of a list: `...Items` has it already. */
const itemName = (name: string) => (name.endsWith('Items') ? name.slice(0, -1) : `${name}Item`)
