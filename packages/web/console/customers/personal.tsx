// Personal data, for whoever asks: a copy of all that is kept, and erasure, which cannot be taken
// back.

import { useSignal } from '@preact/signals'
import { saveFile } from '../../shared/files/csv.ts'
import { Dialog } from '../../shared/parts/dialog.tsx'
import { say } from '../../shared/words/words.ts'
import type { Reply } from '../calls/calls.ts'
import { ReasonButton } from '../calls/reason_button.tsx'

type Copy = Reply<'customers export'>
type Stays = Reply<'customers erase'>['stays']

const save = (name: string, copy: Copy) =>
  saveFile(`${name}.json`, 'application/json', JSON.stringify(copy, null, 2))

type PersonalDataProps = { customer: string; is_closed: boolean; onDone: () => void }

export function PersonalData({ customer, is_closed, onDone }: PersonalDataProps) {
  const stays = useSignal<Stays | undefined>(undefined)
  return (
    <section class="panel">
      <div class="panel-head">
        <h2>{say('personal')}</h2>
        <span class="actions">
          <ReasonButton
            text={say('personal.copy')}
            words="customers export"
            body={{ customer }}
            onDone={(copy) => save(`customer-${customer}`, copy)}
          >
            <p>{say('personal.copy.sentence')}</p>
          </ReasonButton>
          {is_closed && (
            <ReasonButton
              text={say('personal.erase')}
              words="customers erase"
              body={{ customer }}
              for_admins
              is_danger
              onDone={(erased) => {
                stays.value = erased.stays
                onDone()
              }}
            >
              <p>{say('personal.erase.sentence')}</p>
            </ReasonButton>
          )}
        </span>
      </div>
      <p class="quiet">{say(is_closed ? 'personal.sentence' : 'personal.close_first')}</p>
      <Kept stays={stays.value} onClose={() => (stays.value = undefined)} />
    </section>
  )
}

type UserDataProps = { user: string; name: string; is_out: boolean; onDone: () => void }

/** The same of one user; erased is one who was taken out. */
export function UserData({ user, name, is_out, onDone }: UserDataProps) {
  const stays = useSignal<Stays | undefined>(undefined)
  return (
    <span class="actions">
      <ReasonButton
        text={say('personal.copy')}
        about={name}
        words="users export"
        body={{ user }}
        onDone={(copy) => save(`user-${user}`, copy)}
      >
        <p>{say('personal.copy.sentence')}</p>
      </ReasonButton>
      {is_out && (
        <ReasonButton
          text={say('personal.erase')}
          about={name}
          words="users erase"
          body={{ user }}
          for_admins
          is_danger
          onDone={(erased) => {
            stays.value = erased.stays
            onDone()
          }}
        >
          <p>{say('personal.erase.sentence')}</p>
        </ReasonButton>
      )}
      <Kept stays={stays.value} onClose={() => (stays.value = undefined)} />
    </span>
  )
}

/** The rows that an erasure leaves, and why. */
const Kept = ({ stays, onClose }: { stays: Stays | undefined; onClose: () => void }) =>
  stays === undefined ? null : (
    <Dialog title={say('personal.stays')} onClose={onClose}>
      <ul>
        {stays.map(({ what, why }) => (
          <li key={what}>
            {what}: {why}
          </li>
        ))}
      </ul>
    </Dialog>
  )
