// What a form is about to do, as code for those who would rather have a program do it.

import { useSignal } from '@preact/signals'
import { say } from '../words/words.ts'
import { Copy } from './address.tsx'

export type Samples = {
  /** Instead of the usual words. */
  title?: string
  /** The call, over HTTP. Left out where the second signature is required, which a line of the
   *  shell cannot make. */
  call?: { path: string; body: unknown }
  /** An expression on `penstock`, of the SDK. */
  sdk: string
  /** The command line. */
  cli: string
}

/** The same as code: curl, the SDK, the command line. */
export function CodeSamples({ title = say('code'), call, sdk, cli }: Samples) {
  const texts: Record<string, string> = { SDK: sdkText(sdk), CLI: cli }
  if (call) texts.curl = curlText(call.path, call.body)
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
        <Copy text={text} what={title} />
      </p>
      <pre tabIndex={0}>
        <code>{text}</code>
      </pre>
    </details>
  )
}

/** Lines for `sh` with everything that the call needs; the secret stays in the environment, and
 *  out of the arguments of programs. */
function curlText(path: string, body: unknown): string {
  return [
    `BODY=${shellText(JSON.stringify(body))}`,
    'SIGNATURE=$(printf %s "$BODY$PENSTOCK_SECRET" | openssl dgst -sha256 | sed "s/.* //")',
    `printf 'Authorization: Bearer %s\\n' "$PENSTOCK_TOKEN" |`,
    `  curl -s ${location.origin}${path} -H @- -H "X-Signature: $SIGNATURE" \\`,
    '    -H "Content-Type: application/json" --data-binary "$BODY"',
  ].join('\n')
}

/** A text as `sh` reads it, whatever is in it. */
export const shellText = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

const sdkText = (call: string): string =>
  [
    "import { Penstock } from 'penstock-sdk'",
    '',
    'const penstock = Penstock.fromEnv()',
    `const answer = await ${call}`,
  ].join('\n')
