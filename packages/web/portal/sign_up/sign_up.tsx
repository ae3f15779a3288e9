// Making an account: an e-mail is typed, and the link of the letter that comes leads back here,
// where the account gets its name. From there on it is as for anyone who was invited. The token
// stands behind the # so that no log has it, and leaves the address.

import { useSignal } from '@preact/signals'
import { useLayoutEffect } from 'preact/hooks'
import { post } from '../../shared/calls/ask.ts'
import { useSubmission } from '../../shared/calls/submission.ts'
import { Title } from '../../shared/frame/title.tsx'
import { FaultNote, Skeleton } from '../../shared/parts/answer.tsx'
import { Form, Submit, TextField } from '../../shared/parts/field.tsx'
import { say } from '../../shared/words/words.ts'

export default function SignUp() {
  const token = useSignal('')
  // Before this is painted: who looks at it, or takes a picture, would have the token as well. A
  // link that is put into the address of this very page loads nothing, and changes the hash alone.
  useLayoutEffect(() => {
    const take = () => {
      if (location.hash === '') return
      token.value = location.hash.slice(1)
      history.replaceState(null, '', location.pathname)
    }
    take()
    addEventListener('hashchange', take)
    return () => removeEventListener('hashchange', take)
  }, [])
  return (
    <>
      <Title title={say('sign_up')} />
      {token.value === '' ? (
        <EmailForm />
      ) : (
        <LetterForm
          key={token.value}
          token={token.value}
          again={() => {
            token.value = ''
          }}
        />
      )}
    </>
  )
}

function EmailForm() {
  const email = useSignal('')
  const sent_to = useSignal<string | undefined>(undefined)
  const submission = useSubmission()
  const ask = () =>
    submission.run(async () => {
      const typed = email.value.trim()
      await post('/session/sign_up', { email: typed, language: document.documentElement.lang })
      sent_to.value = typed
    })
  if (sent_to.value !== undefined)
    return (
      <div class="stack narrow" role="status">
        <p>{say('sign_up.sent', { email: sent_to.value })}</p>
        <p class="quiet">{say('sign_up.nothing_came')}</p>
      </div>
    )
  const fault = submission.fault.value
  return (
    <div class="panel narrow">
      <p>{say('sign_up.sentence')}</p>
      <Form onSubmit={ask} wrong={fault && <FaultNote fault={fault} />}>
        <TextField
          label={say('sign_up.email')}
          name="email"
          type="email"
          autocomplete="email"
          wrong={fault?.key.endsWith('.email') ? say('sign_up.email_wrong') : undefined}
          value={email.value}
          onText={(typed) => {
            email.value = typed
          }}
        />
        <Submit is_busy={submission.is_busy.value}>{say('sign_up.send')}</Submit>
      </Form>
    </div>
  )
}

type Letter = { state: 'letter' | 'opening' | 'opened'; email: string; name: string | null }

const LOOK_MS = 500

/** Until the account is there, which takes a moment; then the token is a link that lets in. */
async function enter(token: string, name: string | undefined): Promise<Letter> {
  const said = await post<Letter>('/session/sign_up/open', { token, ...(name && { name }) })
  if (said.state === 'opened') location.replace(`/portal/join#${token}`)
  if (said.state !== 'opening') return said
  await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  return enter(token, undefined)
}

function LetterForm({ token, again }: { token: string; again: () => void }) {
  const letter = useSignal<Letter | undefined>(undefined)
  const name = useSignal('')
  const is_wrong = useSignal(false)
  const submission = useSubmission()
  const go = (chosen?: string) =>
    submission.run(async () => {
      letter.value = await enter(token, chosen)
    })
  const choose = () => {
    const chosen = name.value.trim()
    is_wrong.value = chosen === ''
    if (!is_wrong.value) void go(chosen)
  }
  useLayoutEffect(() => void go(), [])
  const fault = submission.fault.value
  if (letter.value === undefined)
    return fault ? (
      <div class="stack narrow">
        <FaultNote fault={fault} />
        <p class="actions">
          <button type="button" onClick={again}>
            {say('sign_up.again')}
          </button>
        </p>
      </div>
    ) : (
      <Skeleton lines={4} />
    )
  return (
    <div class="panel narrow">
      <p>{say('sign_up.proved', { email: letter.value.email })}</p>
      <Form onSubmit={choose} wrong={fault && <FaultNote fault={fault} />}>
        <TextField
          label={say('sign_up.name')}
          hint={say('sign_up.name_hint')}
          wrong={is_wrong.value ? say('sign_up.name_wrong') : undefined}
          name="organization"
          autocomplete="organization"
          value={name.value}
          onText={(typed) => {
            name.value = typed
          }}
        />
        <Submit is_busy={submission.is_busy.value}>{say('sign_up.open')}</Submit>
      </Form>
    </div>
  )
}
