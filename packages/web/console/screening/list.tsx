// One list of labels: a file is looked at before it is loaded, and a version that was loaded before
// can be put in force again.

import { useSignal } from '@preact/signals'
import type { PageProps } from '../../shared/frame/face.ts'
import { Title } from '../../shared/frame/title.tsx'
import { Shape } from '../../shared/parts/state.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { count, say } from '../../shared/words/words.ts'
import { type Body, mayChange, type Row, useRun } from '../calls/calls.ts'
import { Reason } from '../calls/reason.tsx'
import { Rows } from '../calls/rows.tsx'
import { Import } from './import.tsx'

type Version = Row<'lists show'>

export default function OneList({ params }: PageProps) {
  const list = params.id as Body<'lists show'>['list']
  const versions = useRun('lists show', { list })
  const chosen = useSignal<Version | undefined>(undefined)
  const newest = Math.max(...(versions.answer.value ?? []).map(({ last_set }) => last_set ?? 0))
  const again = () => void versions.again()
  return (
    <>
      <Title title={list} section={say('screening')} />
      <div class="stack">
        {mayChange() && <Import list={list} onDone={again} />}
        <Rows
          question={versions}
          none={say('lists.not_loaded')}
          caption={say('lists.versions')}
          caption_shown
          keyOf={({ id }) => String(id)}
          columns={[
            { title: say('number'), is_figure: true, cell: ({ id }) => count(id) },
            { title: say('lists.entries'), is_figure: true, cell: (one) => count(one.entries) },
            { title: say('lists.loaded'), cell: ({ loaded_at }) => <Time at={loaded_at} /> },
            { title: say('by'), cell: ({ loaded_by }) => loaded_by },
            { title: say('lists.origin'), cell: ({ origin }) => origin },
            {
              title: say('lists.in_force'),
              cell: (one) =>
                one.last_set === newest ? (
                  <>
                    <Shape mark="done" /> {say('lists.in_force')}
                  </>
                ) : (
                  <button
                    type="button"
                    class="small"
                    disabled={!mayChange()}
                    onClick={() => {
                      chosen.value = one
                    }}
                  >
                    {say('lists.revert')}
                  </button>
                ),
            },
          ]}
        />
      </div>
      {chosen.value && (
        <Reason
          title={say('lists.revert')}
          words="lists revert"
          body={{ list, version: chosen.value.id }}
          onDone={again}
          onClose={() => {
            chosen.value = undefined
          }}
        >
          <p>{say('lists.revert.sentence', { n: chosen.value.entries })}</p>
        </Reason>
      )}
    </>
  )
}
