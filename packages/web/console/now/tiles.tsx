// The figures that answer first, each with its course of the last hours.

import type { ComponentChildren } from 'preact'
import { Spark } from '../../shared/charts/series.tsx'
import { Icon } from '../../shared/icons/icon.tsx'
import type { IconName } from '../../shared/icons/names.ts'
import { Money } from '../../shared/parts/money.tsx'
import { Shape } from '../../shared/parts/state.tsx'
import { path } from '../../shared/paths/console.ts'
import { isAhead, lagText, spanText } from '../../shared/words/span.ts'
import { count, named, say } from '../../shared/words/words.ts'
import { trx } from '../calls/calls.ts'
import type { Figures } from '../calls/figures.ts'
import type { PastFigures } from './course.tsx'

type TileProps = {
  icon: IconName
  name: string
  note?: ComponentChildren
  href: string
  /** Its course; of fewer than two hours there is none. */
  course?: readonly number[]
  children: ComponentChildren
}

const Tile = ({ icon, name, note, href, course, children }: TileProps) => (
  <a class="tile" href={href}>
    <span class="tile-name">
      <Icon name={icon} /> {name}
    </span>
    <span class="headline">{children}</span>
    <span class="tile-note">{note}</span>
    {course && course.length > 1 && course.some((value) => value > 0) && <Spark values={course} />}
  </a>
)

type TilesProps = { figures: Figures; past: readonly PastFigures[] }

export function Tiles({ figures, past }: TilesProps) {
  const { ended, delivered, orders_last_minute, orders_open, chain } = figures
  const courseOf = (value: (one: PastFigures) => number) => past.map(value)
  const is_whole = delivered === ended
  return (
    <div class="tiles">
      <Tile
        icon="coins"
        name={say('now.earned')}
        href={path.money}
        course={courseOf(({ spent_sun }) => spent_sun)}
        note={say('now.orders', { n: orders_last_minute })}
      >
        <Money trx={trx(figures.earned_today_sun)} />
      </Tile>
      <Tile
        icon="check"
        name={say('now.delivered')}
        href={path.orders}
        course={courseOf(({ orders }) => orders)}
        note={say('now.open', { n: orders_open })}
      >
        <span class="figure">
          <Shape mark={ended === 0 ? 'waiting' : is_whole ? 'done' : 'look'} />{' '}
          {say('now.of', { some: count(delivered), all: count(ended) })}
        </span>
      </Tile>
      <Tile
        icon="clock"
        name={say('now.block')}
        href={path.chain}
        course={courseOf(({ block_p95_ms }) => block_p95_ms ?? 0)}
        note={most(figures.block_p95_ms)}
      >
        <span class="figure">
          {figures.block_p50_ms === null ? '–' : spanText(figures.block_p50_ms)}
        </span>
      </Tile>
      <Tile icon="layers" name={say('now.room')} href={path.pool} note={roomText(figures)}>
        <span class="figure">{freeOf(figures, 'energy')}</span>
      </Tile>
      <Tile
        icon="blocks"
        name={say('now.chain')}
        href={path.chain}
        note={
          chain
            ? isAhead(chain.behind_seconds)
              ? lagText(chain.behind_seconds)
              : say('now.head', { ago: lagText(chain.behind_seconds) })
            : say('not_known')
        }
      >
        <span class="figure">{chain ? count(chain.head_number) : '–'}</span>
      </Tile>
    </div>
  )
}

const most = (ms: number | null): string =>
  ms === null ? say('not_known') : say('now.most', { span: spanText(ms) })

/** Large numbers in few digits: `850 M`. */
function freeOf({ pool }: Figures, wanted: string): string {
  const found = pool.find(({ resource }) => resource === wanted)
  if (!found) return '–'
  const free = found.room - found.reserved
  const [size, unit] = free >= 1e9 ? [1e9, 'G'] : free >= 1e6 ? [1e6, 'M'] : [1, '']
  const digits = free < 10 * size && size > 1 ? 10 : 1
  return `${count(Math.floor((digits * free) / size) / digits)} ${unit}`
}

function roomText(figures: Figures): string {
  const energy = named('resource', 'energy')
  return `${energy} · ${freeOf(figures, 'bandwidth')} ${named('resource', 'bandwidth')}`
}
