// Whether customers are told of an order when it is placed.

import { Answer } from '../../shared/parts/answer.tsx'
import { Block } from '../../shared/parts/block.tsx'
import { say } from '../../shared/words/words.ts'
import { useRun } from '../calls/calls.ts'
import { ReasonButton } from '../calls/reason_button.tsx'

export function OrderEvents() {
  const rule = useRun('events show', {})
  return (
    <Block
      title={say('told')}
      why={say('told.why')}
      action={
        rule.answer.value && (
          <Switch is_told={rule.answer.value.order_created} onDone={() => void rule.again()} />
        )
      }
    >
      <Answer question={rule} lines={3}>
        {({ order_created }) => <p>{say(order_created ? 'told.on' : 'told.off')}</p>}
      </Answer>
    </Block>
  )
}

const Switch = ({ is_told, onDone }: { is_told: boolean; onDone: () => void }) => (
  <ReasonButton
    text={say(is_told ? 'told.untell' : 'told.tell')}
    words="events set"
    body={{ order_created: is_told ? 'untold' : 'told' }}
    onDone={onDone}
  />
)
