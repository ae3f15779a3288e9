/** One change of a source: this text in place of what stands from start to end. */
export type Edit = { start: number; end: number; text: string; kind: string }
