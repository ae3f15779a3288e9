// Texts of the reference, which are in English whatever language the page is in.

/** A text in which names stand between backticks. */
export const Prose = ({ text }: { text: string }) => (
  <span lang="en">
    {text.split('`').map((part, i) => (i % 2 === 1 ? <code key={i}>{part}</code> : part))}
  </span>
)

/** JSON, to be read. */
export const JsonText = ({ value, what }: { value: unknown; what: string }) => (
  <pre tabIndex={0} aria-label={what}>
    <code>{JSON.stringify(value, null, 2)}</code>
  </pre>
)
