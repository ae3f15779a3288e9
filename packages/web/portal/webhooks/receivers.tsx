// Whole programs that receive calls and verify them, as the documentation has them.

import { useSignal } from '@preact/signals'
import { Copy } from '../../shared/parts/address.tsx'
import { say } from '../../shared/words/words.ts'
import receivers from './receivers.json'

/** Code for a receiver, in a language of the reader's choice. */
export function Receivers() {
  const chosen = useSignal(0)
  const { language, text } = receivers[chosen.value]!
  return (
    <details class="code">
      <summary>{say('webhook.receiver')}</summary>
      <p>{say('webhook.receiver_sentence')}</p>
      <p class="actions">
        {receivers.map((one, i) => (
          <button
            key={one.language}
            type="button"
            class="small"
            aria-pressed={i === chosen.value}
            onClick={() => {
              chosen.value = i
            }}
          >
            {one.language}
          </button>
        ))}
        <Copy text={text} what={language} />
      </p>
      <pre tabIndex={0}>
        <code>{text}</code>
      </pre>
    </details>
  )
}
