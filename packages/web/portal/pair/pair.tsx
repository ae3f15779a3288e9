// Giving a key to a program that asks for one: its code is typed, what asks and from where is
// shown, and what the key may do is chosen. The code is in no address, so that no link brings it
// along.

import { useSignal } from '@preact/signals'
import type { Result } from 'penstock-sdk'
import { ask } from '../../shared/calls/ask.ts'
import { useSubmission } from '../../shared/calls/submission.ts'
import { Title } from '../../shared/frame/title.tsx'
import { FaultNote } from '../../shared/parts/answer.tsx'
import { CodeSamples } from '../../shared/parts/code.tsx'
import { Form, Submit, TextField } from '../../shared/parts/field.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/portal.ts'
import { named, say } from '../../shared/words/words.ts'
import { KeyFieldsView, type Scope, useKeyFields } from '../keys/key_form.tsx'

type Program = Result<'/v1/pairing/check'> & { code: string }
type Decision = { name: string; is_approved: boolean }

export default function Pair() {
  const program = useSignal<Program | undefined>(undefined)
  const decision = useSignal<Decision | undefined>(undefined)
  const again = () => {
    program.value = undefined
    decision.value = undefined
  }
  return (
    <>
      <Title title={say('pair')} section={say('developers')} />
      {decision.value ? (
        <Decided {...decision.value} again={again} />
      ) : program.value ? (
        <Approval
          program={program.value}
          onDecision={(made) => {
            decision.value = made
          }}
        />
      ) : (
        <CodeForm
          onFound={(found) => {
            program.value = found
          }}
        />
      )}
    </>
  )
}

const LETTERS = 8

function CodeForm({ onFound }: { onFound: (program: Program) => void }) {
  const typed = useSignal('')
  const is_wrong = useSignal(false)
  const submission = useSubmission()
  const look = () => {
    const code = typed.value.trim()
    is_wrong.value = code.replace(/[\s-]/g, '').length !== LETTERS
    if (is_wrong.value) return
    void submission.run(async () =>
      onFound({ ...(await ask('/v1/pairing/check', { code })), code }),
    )
  }
  return (
    <div class="stack narrow">
      <p>{say('pair.sentence')}</p>
      <Form
        onSubmit={look}
        wrong={submission.fault.value && <FaultNote fault={submission.fault.value} />}
      >
        <TextField
          label={say('pair.code')}
          hint={say('pair.code_hint')}
          wrong={is_wrong.value ? say('pair.code_wrong') : undefined}
          value={typed.value}
          onText={(text) => {
            typed.value = text
          }}
        />
        <Submit is_busy={submission.is_busy.value}>{say('pair.look')}</Submit>
      </Form>
    </div>
  )
}

type ApprovalProps = { program: Program; onDecision: (made: Decision) => void }

function Approval({ program, onDecision }: ApprovalProps) {
  const { code, name } = program
  const asked_scopes = (program.scopes ?? ['read']) as Scope[]
  // What pairs is the command line, or a program made with the SDK.
  const start = { name, scopes: asked_scopes, require_v2: true }
  const fields = useKeyFields(undefined, start)
  const was_sent = useSignal(false)
  const submission = useSubmission()
  const decide = (is_approved: boolean) =>
    void submission.run(async () => {
      if (is_approved) await ask('/v1/pairing/approve', { code, ...fields.body })
      else await ask('/v1/pairing/refuse', { code })
      onDecision({ name, is_approved })
    })
  const approve = () => {
    was_sent.value = true
    if (Object.keys(fields.wrong).length === 0) decide(true)
  }
  const { value: fault } = submission.fault
  return (
    <div class="stack narrow">
      <ProgramFacts program={program} />
      <p class="note warn">{say('pair.warning')}</p>
      <h2>{say('pair.key')}</h2>
      <Form onSubmit={approve} wrong={fault && <FaultNote fault={fault} />}>
        <KeyFieldsView fields={fields} shows_wrong={was_sent.value} />
        <Submit is_busy={submission.is_busy.value}>{say('pair.approve')}</Submit>
      </Form>
      <p>
        <button type="button" disabled={submission.is_busy.value} onClick={() => decide(false)}>
          {say('pair.refuse')}
        </button>
      </p>
      <CodeSamples
        sdk={`penstock.pairings.approve(${JSON.stringify({ code, ...fields.body }, null, 2)})`}
        cli={`penstock pairings approve ${code} --scopes ${fields.body.scopes.join(',')}`}
      />
    </div>
  )
}

function ProgramFacts({ program }: { program: Program }) {
  const { name, ip, scopes, made_at, ends_at } = program
  const wish = scopes?.map((scope) => named('scope', scope)).join(', ')
  return (
    <dl class="facts">
      <div>
        <dt>{say('pair.program')}</dt>
        <dd>{name}</dd>
      </div>
      <div>
        <dt>{say('pair.from')}</dt>
        <dd>
          <code>{ip}</code>
        </dd>
      </div>
      <div>
        <dt>{say('pair.asks_for')}</dt>
        <dd>{wish ?? say('pair.asks_nothing')}</dd>
      </div>
      <div>
        <dt>{say('pair.asked')}</dt>
        <dd>
          <Time at={made_at} relative />
        </dd>
      </div>
      <div>
        <dt>{say('pair.ends')}</dt>
        <dd>
          <Time at={ends_at} />
        </dd>
      </div>
    </dl>
  )
}

const Decided = ({ name, is_approved, again }: Decision & { again: () => void }) => (
  <div class="stack narrow">
    <p class={is_approved ? 'note good' : 'note warn'} role="status">
      {say(is_approved ? 'pair.approved' : 'pair.refused', { name })}
    </p>
    <p class="actions">
      {is_approved && <a href={path.keys}>{say('keys')}</a>}
      <button type="button" onClick={again}>
        {say('pair.another')}
      </button>
    </p>
  </div>
)
