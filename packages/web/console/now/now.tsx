// The first page: whether it is well, what it earned and how fast it was, above all else; what a
// person should look at; the course of the last hours or days.

import type { PageProps } from '../../shared/frame/face.ts'
import { Title } from '../../shared/frame/title.tsx'
import { Answer } from '../../shared/parts/answer.tsx'
import { Shape } from '../../shared/parts/state.tsx'
import { named, say } from '../../shared/words/words.ts'
import { type Figures, useFigures } from '../calls/figures.ts'
import { Alerts } from './alerts.tsx'
import { Course, useHistory } from './course.tsx'
import { Processes } from './processes.tsx'
import { Tiles } from './tiles.tsx'

export default function Now({ query }: PageProps) {
  const figures = useFigures()
  const history = useHistory(query.range)
  return (
    <>
      <Title title={say('now')} />
      <Answer question={figures} lines={10}>
        {(known) => (
          <div class="stack">
            <Sentence {...known} />
            <Tiles figures={known} past={history.past} />
            {known.alerts.length > 0 && (
              <Alerts alerts={known.alerts} again={() => void figures.again()} />
            )}
            <Course {...history} />
            <Processes />
          </div>
        )}
      </Answer>
    </>
  )
}

function Sentence({ off_sale, signing_stopped, alerts }: Figures) {
  const sells = off_sale.length === 0 && !signing_stopped
  const what = sells
    ? say('now.selling')
    : signing_stopped
      ? say('now.signing_stopped')
      : say('now.off_sale', { names: off_sale.map((one) => named('service', one)).join(', ') })
  const is_well = sells && alerts.length === 0
  return (
    <p role="status" class={is_well ? 'note good' : 'note warn'}>
      <span class="verdict">
        <span>
          <Shape mark={is_well ? 'done' : 'look'} /> <strong>{what}</strong>
        </span>
        <span>
          {alerts.length === 0 ? say('now.nothing') : say('now.things', { n: alerts.length })}
        </span>
      </span>
    </p>
  )
}
