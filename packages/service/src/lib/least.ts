/** The least of some whole numbers; Math.min() takes no bigint. */
export const least = (first: bigint, ...others: readonly bigint[]): bigint =>
  others.reduce((one, other) => (one < other ? one : other), first)
