// Queries that are written apart and asked in one statement: each costs what it costs, and there is
// one round trip, one transaction and one plan for all of them.

/** A query, or a part of one, with its values. */
export type Fragment = {
  readonly strings: readonly string[]
  readonly values: readonly unknown[]
}
/** Takes the place of a tag that asks: what is written with it is asked later. */
export type WriteFragment = (strings: TemplateStringsArray, ...values: unknown[]) => Fragment

export const writeFragment: WriteFragment = (strings, ...values) => ({ strings, values })

/** Some hundred at most, of steps and alerts; each is known again, as if it were written out. */
const templates = new Map<string, TemplateStringsArray>()

/** One after the other: a template, and the values in it. */
export function joinFragments(
  parts: readonly (string | Fragment)[],
): [template: TemplateStringsArray, ...values: unknown[]] {
  const strings: string[] = []
  const values: unknown[] = []
  let open = ''
  for (const part of parts) {
    const { strings: texts, values: more } =
      typeof part === 'string' ? { strings: [part], values: [] } : part
    for (const text of texts.slice(0, -1)) {
      strings.push(open + text)
      open = ''
    }
    open += texts.at(-1) ?? ''
    values.push(...more)
  }
  strings.push(open)
  const text = strings.join('$')
  let template = templates.get(text)
  if (!template) {
    template = Object.assign(strings, { raw: strings })
    templates.set(text, template)
  }
  return [template, ...values]
}
