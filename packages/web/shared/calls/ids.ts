// Ids that the page makes, before the first try of what must not be done twice.

/** Of a purchase: 64 bits of chance, short enough to read, and met once. */
export const newExternalId = () => `portal-${crypto.randomUUID().replaceAll('-', '').slice(16)}`

/** An id for each thing that a form has asked for. What is typed anew, and then as it was, has the
 *  id of its first try: the answer to that may have been lost. */
export function idsBy(newId: () => string): (asked: unknown) => string {
  const ids = new Map<string, string>()
  return (asked) => {
    const text = JSON.stringify(asked)
    const id = ids.get(text) ?? newId()
    ids.set(text, id)
    return id
  }
}
