/** The middle one of some figures, and of an even number the upper of the two; NaN of none. */
export const median = (figures: readonly number[]): number =>
  figures.toSorted((a, b) => a - b)[figures.length >> 1] ?? Number.NaN
