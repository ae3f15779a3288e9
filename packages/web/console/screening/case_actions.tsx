// What can be done about a case as it stands, each with its reason, which stands in the case too.

import { useSignal } from '@preact/signals'
import { session } from '../../shared/calls/session.ts'
import { ChoiceField, Field, TextField } from '../../shared/parts/field.tsx'
import { say } from '../../shared/words/words.ts'
import { mayChange, run } from '../calls/calls.ts'
import { ReasonDialog } from '../calls/reason.tsx'
import { ReasonButton } from '../calls/reason_button.tsx'

const CODES = ['false_positive', 'explained', 'barred', 'reported'] as const
type Code = (typeof CODES)[number]

export type CaseActionsProps = {
  id: string
  state: string
  owner: string | null
  onDone: () => void
}

export function CaseActions(props: CaseActionsProps) {
  const { id, state, owner, onDone } = props
  const change = { body: { case: id }, onDone }
  if (state === 'closed')
    return (
      <p class="actions">
        <ReasonButton text={say('case.reopen')} words="aml cases reopen" {...change} />
      </p>
    )
  return (
    <p class="actions">
      <Assign {...props} />
      {owner !== null && <Wait {...props} />}
      {state !== 'escalated' && (
        <ReasonButton text={say('case.escalate')} words="aml cases escalate" {...change} />
      )}
      <Note {...props} />
      <Attach {...props} />
      <Report {...props} />
      {owner !== null && <Close {...props} />}
    </p>
  )
}

function Assign({ id, onDone }: CaseActionsProps) {
  const { name, sign_in_name } = session.value?.user ?? { name: '', sign_in_name: null }
  const owner = useSignal(sign_in_name ?? name)
  return (
    <ReasonButton
      text={say('case.assign')}
      words="aml cases assign"
      body={{ case: id, owner: owner.value }}
      onDone={onDone}
    >
      <TextField
        label={say('case.owner')}
        value={owner.value}
        onText={(text) => {
          owner.value = text
        }}
      />
    </ReasonButton>
  )
}

function Wait({ id, onDone }: CaseActionsProps) {
  const until = useSignal('')
  return (
    <ReasonButton
      text={say('case.wait')}
      words="aml cases wait"
      body={{ case: id, until: until.value }}
      onDone={onDone}
    >
      <Field label={say('case.until')}>
        {(control) => (
          <input
            {...control}
            type="date"
            value={until.value}
            onInput={({ currentTarget }) => {
              until.value = currentTarget.value
            }}
          />
        )}
      </Field>
    </ReasonButton>
  )
}

/** The text of a note is all that is asked for: it is in the record as the reason too. */
function Note({ id, onDone }: CaseActionsProps) {
  const is_open = useSignal(false)
  return (
    <>
      <OpenButton
        text={say('case.note')}
        onClick={() => {
          is_open.value = true
        }}
      />
      {is_open.value && (
        <ReasonDialog
          title={say('case.note')}
          act={(text) => run('aml cases note', { case: id, text, reason: text })}
          onDone={onDone}
          onClose={() => {
            is_open.value = false
          }}
        />
      )}
    </>
  )
}

type OpenButtonProps = { text: string; onClick: () => void }
const OpenButton = ({ text, onClick }: OpenButtonProps) => (
  <button
    type="button"
    disabled={!mayChange()}
    {...(!mayChange() && { title: say('role.needed') })}
    onClick={onClick}
  >
    {text}
  </button>
)

function Attach({ id, onDone }: CaseActionsProps) {
  const file = useSignal<{ name: string; text: string } | undefined>(undefined)
  return (
    <ReasonButton
      text={say('case.attach')}
      words="aml cases attach"
      body={{ case: id, ...(file.value ?? { name: '', text: '' }) }}
      off={file.value === undefined ? say('case.file.needed') : undefined}
      onDone={onDone}
    >
      <Field label={say('case.file')} hint={say('case.file.hint')}>
        {(control) => (
          <input
            {...control}
            type="file"
            onChange={async ({ currentTarget }) => {
              const [chosen] = currentTarget.files ?? []
              file.value = chosen && { name: chosen.name, text: await chosen.text() }
            }}
          />
        )}
      </Field>
    </ReasonButton>
  )
}

function Report({ id, onDone }: CaseActionsProps) {
  const report = useSignal('')
  return (
    <ReasonButton
      text={say('case.report')}
      words="aml cases set"
      body={{ case: id, report: report.value }}
      onDone={onDone}
    >
      <TextField
        label={say('case.report')}
        value={report.value}
        onText={(text) => {
          report.value = text
        }}
      />
    </ReasonButton>
  )
}

function Close({ id, onDone }: CaseActionsProps) {
  const code = useSignal<Code>('false_positive')
  return (
    <ReasonButton
      text={say('case.close')}
      words="aml cases close"
      body={{ case: id, code: code.value }}
      onDone={onDone}
    >
      <ChoiceField
        label={say('case.code')}
        hint={say('case.close.hint')}
        value={code.value}
        choices={CODES.map((value) => ({ value, text: codeText(value) }))}
        onChoice={(value) => {
          code.value = value as Code
        }}
      />
    </ReasonButton>
  )
}

const codeText = (code: Code) =>
  ({
    false_positive: say('case.false_positive'),
    explained: say('case.explained'),
    barred: say('case.barred'),
    reported: say('case.reported'),
  })[code]
