// The world around a command.

/** What a command has of the world around it. */
export type Io = {
  readonly env: Readonly<Record<string, string | undefined>>
  out(text: string): void
  err(text: string): void
  /** Standard input, to its end. */
  input(): Promise<string>
  /** Asks a person; undefined when nobody sits there. */
  readonly ask: ((question: string, hidden?: boolean) => Promise<string>) | undefined
  /** Standard output is a terminal with colours. */
  readonly color: boolean
  /** How wide the terminal is; undefined when standard output is none. */
  readonly columns: number | undefined
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal
}
