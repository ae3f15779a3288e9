// What a key or a user has made, and what that has made in turn: shown before the maker is ended,
// and to those who look what somebody has left behind.

import { type Signal, useSignal } from '@preact/signals'
import type { Result } from 'penstock-sdk'
import { useQuestion } from '../calls/question.ts'
import { Answer } from '../parts/answer.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { CheckField } from '../parts/field.tsx'
import { nameText } from '../words/name.ts'
import { say } from '../words/words.ts'

type Creations = Result<'/v1/made/check'>

const KINDS = [
  ['keys', 'made.key'],
  ['users', 'made.user'],
  ['webhooks', 'made.webhook'],
] as const

const isNothing = (made: Creations): boolean => KINDS.every(([kind]) => made[kind].length === 0)

function MadeList({ made }: { made: Creations }) {
  if (isNothing(made)) return <p class="quiet">{say('made.none')}</p>
  return (
    <ul>
      {KINDS.flatMap(([kind, word]) =>
        made[kind].map(({ id, name }) => (
          <li key={`${kind} ${id}`}>
            {say(word)} <strong>{nameText(name)}</strong>
          </li>
        )),
      )}
    </ul>
  )
}

/** Whether what somebody has made is to end as well: it is, unless that is taken back. */
export const useWithMade = (): Signal<boolean> => useSignal(true)

/** The list, and the choice below it. */
export function WithMade({ id, chosen }: { id: string; chosen: Signal<boolean> }) {
  const question = useQuestion('/v1/made/check', { id })
  return (
    <Answer question={question}>
      {(made) => (
        <>
          <h3>{say('made.heading')}</h3>
          <MadeList made={made} />
          {!isNothing(made) && (
            <CheckField
              label={say('made.end_too')}
              is_on={chosen.value}
              onCheck={(is_on) => {
                chosen.value = is_on
              }}
            />
          )}
        </>
      )}
    </Answer>
  )
}

/** `name`: of the key or the user. */
export function MadeDialog({ id, name, onClose }: { id: string; name: string; onClose(): void }) {
  const question = useQuestion('/v1/made/check', { id })
  return (
    <Dialog title={say('made.title', { name })} onClose={onClose}>
      <p>{say('made.sentence')}</p>
      <Answer question={question}>{(made) => <MadeList made={made} />}</Answer>
    </Dialog>
  )
}
