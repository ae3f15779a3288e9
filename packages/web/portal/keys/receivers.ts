// The addresses for which alone a key or a user buys, as a field of a call.

/** Nothing when they are as they were: a key that may buy for no address has no line in its form,
 *  either, and would buy for anybody after its name was changed. */
export function receiversField(
  typed: readonly string[],
  before: readonly string[] | null,
): { receivers?: string[] } {
  const was = before ?? []
  if (typed.length === was.length && typed.every((one, i) => one === was[i])) return {}
  return { receivers: typed.length === 0 ? ['any'] : [...typed] }
}
