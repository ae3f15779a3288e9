// The switch in the header of every page: takes everything off sale, and puts it on again. Where
// some is off, either can be meant: one that is never sold must not keep others on sale.

import { useSignal } from '@preact/signals'
import { Icon } from '../../shared/icons/icon.tsx'
import { say } from '../../shared/words/words.ts'
import { mayChange } from '../calls/calls.ts'
import { useFigures } from '../calls/figures.ts'
import { Reason } from '../calls/reason.tsx'

export function OffSale() {
  const figures = useFigures()
  /** What was asked for: figures that come while the question stands do not turn it round. */
  const asked = useSignal<'on' | 'off' | undefined>(undefined)
  const off = figures.answer.value?.off_sale
  if (off === undefined) return null
  const ways = off.length > 0 ? (['on', 'off'] as const) : (['off'] as const)
  return (
    <>
      {ways.map((way) => (
        <button
          key={way}
          type="button"
          class="switch"
          disabled={!mayChange()}
          title={mayChange() ? titleOf(way) : say('role.needed')}
          onClick={() => {
            asked.value = way
          }}
        >
          <Icon name={way === 'on' ? 'check' : 'ban'} />{' '}
          <span class="wide-only">{titleOf(way)}</span>
        </button>
      ))}
      {asked.value && (
        <Reason
          title={titleOf(asked.value)}
          words={`services ${asked.value}`}
          body={{ all: true }}
          is_danger={asked.value === 'off'}
          onDone={() => void figures.again()}
          onClose={() => {
            asked.value = undefined
          }}
        >
          <p>{say(asked.value === 'on' ? 'sale.on.sentence' : 'sale.off.sentence')}</p>
        </Reason>
      )}
    </>
  )
}

const titleOf = (way: 'on' | 'off'): string => say(way === 'on' ? 'sale.on' : 'sale.off')
