// Fields of forms: label, hint and what is wrong belong together for those who hear the page. The
// browser's own checks are left to us, so that they speak the chosen language.

import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { named, say } from '../words/words.ts'
import { Progress } from './answer.tsx'

export type FieldProps = {
  label: string
  hint?: ComponentChildren
  /** What is wrong with it. */
  wrong?: string | undefined
  /** Draws the control with what it must carry. */
  children: (control: ControlProps) => ComponentChildren
}

export type ControlProps = {
  id: string
  'aria-describedby'?: string
  'aria-invalid'?: boolean
}

/** A label with any control. */
export function Field({ label, hint, wrong, children }: FieldProps) {
  const id = useId()
  const described = [hint && `${id}-hint`, wrong && `${id}-wrong`].filter(Boolean).join(' ')
  const control: ControlProps = { id }
  if (described !== '') control['aria-describedby'] = described
  if (wrong !== undefined) control['aria-invalid'] = true
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {hint && (
        <span class="quiet" id={`${id}-hint`}>
          {hint}
        </span>
      )}
      {children(control)}
      {wrong && (
        <span class="wrong" id={`${id}-wrong`}>
          {wrong}
        </span>
      )}
    </div>
  )
}

export type TextFieldProps = Omit<FieldProps, 'children'> & {
  value: string
  onText: (text: string) => void
  /** What browsers and password managers are told of it. */
  type?: 'text' | 'password' | 'date' | 'number' | 'url' | 'email'
  name?: string
  autocomplete?: AutoComplete
  inputMode?: 'numeric' | 'decimal'
  placeholder?: string
  /** Words of a language; ids and addresses are none. */
  spellcheck?: boolean
}
type AutoComplete =
  | 'off'
  | 'username'
  | 'current-password'
  | 'new-password'
  | 'one-time-code'
  | 'email'
  | 'organization'

/** A field of one line. */
export function TextField({ label, hint, wrong, value, onText, ...input }: TextFieldProps) {
  const attributes: object = { autocomplete: 'off', spellcheck: false, ...input }
  return (
    <Field label={label} hint={hint} wrong={wrong}>
      {(control) => (
        <input
          {...attributes}
          {...control}
          value={value}
          onInput={({ currentTarget }) => onText(currentTarget.value)}
        />
      )}
    </Field>
  )
}

export type LinesFieldProps = Omit<FieldProps, 'children'> & {
  value: string
  onText: (text: string) => void
  rows?: number
}

/** A field of several lines. */
export function LinesField({ label, hint, wrong, value, onText, rows = 3 }: LinesFieldProps) {
  return (
    <Field label={label} hint={hint} wrong={wrong}>
      {(control) => (
        <textarea
          {...control}
          rows={rows}
          spellcheck={false}
          value={value}
          onInput={({ currentTarget }) => onText(currentTarget.value)}
        />
      )}
    </Field>
  )
}

/** The lines of such a field that have something on them. */
export const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

export type CheckFieldProps = {
  label: ComponentChildren
  is_on: boolean
  onCheck: (is_on: boolean) => void
}

/** Yes or no. */
export const CheckField = ({ label, is_on, onCheck }: CheckFieldProps) => (
  <label class="check">
    <input
      type="checkbox"
      checked={is_on}
      onChange={({ currentTarget }) => onCheck(currentTarget.checked)}
    />{' '}
    {label}
  </label>
)

export type ChecksFieldProps = {
  label: string
  hint?: ComponentChildren
  /** Those that are chosen. */
  values: readonly string[]
  choices: readonly Choice[]
  onChoice: (values: string[]) => void
}

/** Any of several, in the order in which they are listed. */
export function ChecksField({ label, hint, values, choices, onChoice }: ChecksFieldProps) {
  const id = useId()
  return (
    <fieldset {...(hint && { 'aria-describedby': id })}>
      <legend>{label}</legend>
      {hint && (
        <p class="quiet" id={id}>
          {hint}
        </p>
      )}
      {choices.map(({ value, text }) => (
        <CheckField
          key={value}
          label={text}
          is_on={values.includes(value)}
          onCheck={(is_on) =>
            onChoice(
              choices
                .map((one) => one.value)
                .filter((one) => (one === value ? is_on : values.includes(one))),
            )
          }
        />
      ))}
    </fieldset>
  )
}

export type Choice = { value: string; text: string }

/** Puts what was copied into a field; nothing where the browser does not let pages read it. */
export function Paste({ onText }: { onText: (text: string) => void }) {
  // Not in pages that came over http, whatever the types say.
  const clipboard = navigator.clipboard as Clipboard | undefined
  if (!clipboard?.readText) return null
  const paste = async () => {
    // Where that is refused, it is typed.
    const text = (await clipboard.readText().catch(() => '')).trim()
    if (text !== '') onText(text)
  }
  return (
    <button type="button" class="small" onClick={() => void paste()}>
      {say('paste')}
    </button>
  )
}

/** Words of the wire as choices, each as the reader calls it. */
export const namedChoices = (
  family: Parameters<typeof named>[0],
  values: readonly string[],
): Choice[] => values.map((value) => ({ value, text: named(family, value) }))

export type ChoiceFieldProps = Omit<FieldProps, 'children'> & {
  value: string
  choices: readonly Choice[]
  onChoice: (value: string) => void
}

/** One of several. */
export function ChoiceField({ label, hint, wrong, value, choices, onChoice }: ChoiceFieldProps) {
  return (
    <Field label={label} hint={hint} wrong={wrong}>
      {(control) => (
        <select
          {...control}
          value={value}
          onChange={({ currentTarget }) => onChoice(currentTarget.value)}
        >
          {choices.map((choice) => (
            <option key={choice.value} value={choice.value}>
              {choice.text}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

export type FormProps = {
  onSubmit: () => void
  /** What is wrong as a whole, above the fields; it gets the focus. */
  wrong?: ComponentChildren
  children: ComponentChildren
}

/** A form that goes nowhere by itself. When it was sent, the first field that is wrong gets the
 *  focus. */
export function Form({ onSubmit, wrong, children }: FormProps) {
  const form = useRef<HTMLFormElement>(null)
  const summary = useRef<HTMLDivElement>(null)
  const sent = useSignal(0)
  useEffect(() => {
    if (wrong) summary.current?.focus()
  }, [Boolean(wrong)])
  // After what is wrong has been drawn.
  useEffect(() => {
    form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }, [sent.value])
  return (
    <form
      ref={form}
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        onSubmit()
        sent.value++
      }}
    >
      {wrong && (
        <div ref={summary} tabIndex={-1} class="form-summary">
          {wrong}
        </div>
      )}
      {children}
    </form>
  )
}

export type SubmitProps = {
  is_busy?: boolean
  children: ComponentChildren
  off?: string | undefined
  /** `minor`: another button of the page is the main one; `danger`: it cannot be taken back. */
  kind?: 'main' | 'minor' | 'danger'
}

const SUBMIT_CLASSES = { main: 'main', minor: '', danger: 'main danger' } as const

/** The one main button of a form. `off` says why it cannot be used. */
export function Submit({ is_busy = false, off, kind = 'main', children }: SubmitProps) {
  const id = useId()
  return (
    <p class="actions">
      <button
        class={SUBMIT_CLASSES[kind]}
        type="submit"
        disabled={is_busy || off !== undefined}
        {...(off !== undefined && { 'aria-describedby': id })}
      >
        {children}
      </button>
      {is_busy && <Progress text={say('busy')} />}
      {off !== undefined && (
        <span class="quiet" id={id}>
          {off}
        </span>
      )}
    </p>
  )
}
