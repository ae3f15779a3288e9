// What a form is about to do, as code for those who would rather have a program do it.

import { useSignal } from '@preact/signals'
import { type ShellCall, shellLines } from '../calls/shell.ts'
import { say } from '../words/words.ts'
import { Copy } from './address.tsx'

export type Samples = {
  /** Instead of the usual words. */
  title?: string
  /** The call, over HTTP. */
  call?: Omit<ShellCall, 'origin'>
  /** An expression on `penstock`, of the SDK. */
  sdk: string
  /** The command line. */
  cli: string
}

/** The same as code: curl, the SDK, the command line. */
export function CodeSamples({ title = say('code'), call, sdk, cli }: Samples) {
  const texts: Record<string, string> = { SDK: sdkText(sdk), CLI: cli }
  if (call) texts.curl = shellLines({ origin: location.origin, ...call })
  const chosen = useSignal(call ? 'curl' : 'SDK')
  const text = texts[chosen.value]!
  return (
    <details class="code">
      <summary>{title}</summary>
      <p class="actions">
        {Object.keys(texts).map((name) => (
          <button
            key={name}
            type="button"
            class="small"
            aria-pressed={chosen.value === name}
            onClick={() => {
              chosen.value = name
            }}
          >
            {name}
          </button>
        ))}
        <Copy text={text} what={title} worded />
      </p>
      <pre tabIndex={0}>
        <code>{text}</code>
      </pre>
    </details>
  )
}

const sdkText = (call: string): string =>
  [
    "import { Penstock } from 'penstock-sdk'",
    '',
    'const penstock = Penstock.fromEnv()',
    `const answer = await ${call}`,
  ].join('\n')
