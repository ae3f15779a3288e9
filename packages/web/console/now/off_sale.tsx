// The switch in the header of every page: takes everything off sale, and puts it on again.

import { useSignal } from '@preact/signals'
import { Icon } from '../../shared/icons/icon.tsx'
import { say } from '../../shared/words/words.ts'
import { mayChange } from '../calls/calls.ts'
import { useFigures } from '../calls/figures.ts'
import { Reason } from '../calls/reason.tsx'

export function OffSale() {
  const figures = useFigures()
  const is_open = useSignal(false)
  const off = figures.answer.value?.off_sale
  if (off === undefined) return null
  const on = off.length > 0
  const title = say(on ? 'sale.on' : 'sale.off')
  return (
    <>
      <button
        type="button"
        class="switch"
        disabled={!mayChange()}
        title={mayChange() ? title : say('role.needed')}
        onClick={() => {
          is_open.value = true
        }}
      >
        <Icon name={on ? 'check' : 'ban'} /> <span class="wide-only">{title}</span>
      </button>
      {is_open.value && (
        <Reason
          title={title}
          words={on ? 'services on' : 'services off'}
          body={{ all: true }}
          is_danger={!on}
          onDone={() => void figures.again()}
          onClose={() => {
            is_open.value = false
          }}
        >
          <p>{say(on ? 'sale.on.sentence' : 'sale.off.sentence')}</p>
        </Reason>
      )}
    </>
  )
}
