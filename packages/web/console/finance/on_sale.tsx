// The services that are on sale or off, by whose word; and a switch for each.

import { Block } from '../../shared/parts/block.tsx'
import { Shape } from '../../shared/parts/state.tsx'
import { named, say } from '../../shared/words/words.ts'
import { useRun } from '../calls/calls.ts'
import { ReasonButton } from '../calls/reason_button.tsx'
import { Rows } from '../calls/rows.tsx'

export function OnSale() {
  const services = useRun('services list', {})
  const again = () => void services.again()
  return (
    <Block title={say('on_sale')}>
      <Rows
        question={services}
        none={say('none')}
        caption={say('on_sale')}
        keyOf={({ name }) => name}
        columns={[
          { title: say('service'), cell: ({ name }) => named('service', name) },
          {
            title: say('state'),
            cell: ({ on_sale }) => (
              <span class="state">
                <Shape mark={on_sale ? 'done' : 'look'} />{' '}
                {say(on_sale ? 'on_sale.yes' : 'on_sale.no')}
              </span>
            ),
          },
          { title: say('by'), cell: ({ changed_by }) => changed_by },
          {
            title: say('do'),
            is_actions: true,
            cell: ({ name, on_sale }) => (
              <ReasonButton
                text={say(on_sale ? 'on_sale.stop' : 'on_sale.start')}
                about={named('service', name)}
                words={on_sale ? 'services off' : 'services on'}
                body={{ names: [name] }}
                onDone={again}
              >
                <p>{named('service', name)}</p>
              </ReasonButton>
            ),
          },
        ]}
      />
    </Block>
  )
}
