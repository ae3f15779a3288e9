// Whether customers are told of an order when it is placed.

import { Answer } from '../../shared/parts/answer.tsx'
import { say } from '../../shared/words/words.ts'
import { useRun } from '../calls/calls.ts'
import { ReasonButton } from '../calls/reason_button.tsx'

export function OrderEvents() {
  const rule = useRun('events show', {})
  return (
    <section class="panel">
      <h2>{say('told')}</h2>
      <Answer question={rule} lines={3}>
        {({ order_created: is_told }) => (
          <>
            <p>{say(is_told ? 'told.on' : 'told.off')}</p>
            <p class="actions">
              <ReasonButton
                text={say(is_told ? 'told.untell' : 'told.tell')}
                words="events set"
                body={{ order_created: is_told ? 'untold' : 'told' }}
                onDone={() => void rule.again()}
              />
            </p>
          </>
        )}
      </Answer>
    </section>
  )
}
