// A key that somebody pastes into the reference. It stays in the page until that is left: of the
// secret only signatures are sent, both of them, so that every key can be tried.

import { useSignal } from '@preact/signals'
import { signer } from 'penstock-sdk'
import { type AskOptions, type Envelope, NOT_ANSWERED } from '../../shared/calls/ask.ts'
import { TextField } from '../../shared/parts/field.tsx'
import { path } from '../../shared/paths/portal.ts'
import { say } from '../../shared/words/words.ts'

export function useKey() {
  const token = useSignal('')
  const secret = useSignal('')
  const typed = { token: token.value.trim(), secret: secret.value.trim() }
  const is_whole = typed.token !== '' && typed.secret !== ''

  /** Calls an endpoint of the API itself, signed when there is a key. Never throws. */
  async function call(
    url: string,
    value: unknown,
    { idempotency_key }: AskOptions = {},
  ): Promise<Envelope> {
    const body = JSON.stringify(value)
    const stamp = { path: url, body, now_ms: Date.now(), idempotency_key }
    const signed = is_whole ? await signer(typed.token, typed.secret)(stamp) : {}
    const headers = {
      'content-type': 'application/json',
      ...signed,
      ...(idempotency_key !== undefined && { 'idempotency-key': idempotency_key }),
    }
    try {
      const answer = await fetch(url, { method: 'POST', headers, body })
      return (await answer.json()) as Envelope
    } catch {
      return { code: NOT_ANSWERED, key: 'offline', error: '' }
    }
  }
  return { token, secret, is_whole, call }
}

/** Where it is pasted, for who is not signed in. */
export function KeyFields({ typed: { token, secret } }: { typed: ReturnType<typeof useKey> }) {
  return (
    <>
      <p>
        {say('reference.key_sentence')} <a href={path.home}>{say('sign_in')}</a>
      </p>
      {!globalThis.crypto?.subtle && <p class="note warn">{say('reference.insecure')}</p>}
      <TextField
        label={say('key.token')}
        value={token.value}
        onText={(text) => {
          token.value = text
        }}
      />
      <TextField
        label={say('key.secret')}
        type="password"
        value={secret.value}
        onText={(text) => {
          secret.value = text
        }}
      />
    </>
  )
}
