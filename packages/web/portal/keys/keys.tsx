// The keys with which programs call: what each may do, how to give it another secret, its end.

import { FilteredList } from '../../shared/files/filtered_list.tsx'
import type { PageProps } from '../../shared/frame/face.ts'
import { Title } from '../../shared/frame/title.tsx'
import { LongText } from '../../shared/parts/address.tsx'
import { Empty } from '../../shared/parts/answer.tsx'
import { useTask } from '../../shared/parts/dialog.tsx'
import { namedChoices } from '../../shared/parts/field.tsx'
import type { FilterField } from '../../shared/parts/list.tsx'
import { Money } from '../../shared/parts/money.tsx'
import { State } from '../../shared/parts/state.tsx'
import { type Column, RowActions } from '../../shared/parts/table.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/portal.ts'
import { MadeDialog } from '../../shared/users/made.tsx'
import { nameText } from '../../shared/words/name.ts'
import { named, say } from '../../shared/words/words.ts'
import type { Key } from './key.ts'
import { ChangeKey, NewKey, RevokeKey, RotateKey } from './key_dialogs.tsx'
import { Receivers } from './receivers.tsx'

/** What is being done, and to which key. */
type Task = { what: 'new' } | { what: 'change' | 'rotate' | 'revoke' | 'made'; key: Key }

const filterFields = (): FilterField[] => [
  {
    name: 'state',
    label: say('order.state'),
    choices: namedChoices('state', STATES),
  },
]

export default function Keys({ query }: PageProps) {
  const { task, version, begin, on } = useTask<Task>()
  return (
    <>
      <Title title={say('keys')} section={say('developers')}>
        <span class="actions">
          <a class="button" href={path.pair}>
            {say('pair')}
          </a>
          <button type="button" class="main" onClick={() => begin({ what: 'new' })}>
            {say('key.new')}
          </button>
        </span>
      </Title>
      <FilteredList<Key>
        path="/v1/keys/list"
        address={path.keys}
        query={query}
        fields={filterFields()}
        file="keys"
        caption={say('keys')}
        columns={columns((what, key) => begin({ what, key }))}
        keyOf={({ id }) => id}
        isStale={({ type }) => type.startsWith('key.')}
        version={version}
        none={
          <Empty>
            <p>{say('keys.none')}</p>
          </Empty>
        }
      />
      <TaskDialog task={task} {...on} />
    </>
  )
}

type TaskDialogProps = { task: Task | undefined; onDone: () => void; onClose: () => void }

function TaskDialog({ task, ...done }: TaskDialogProps) {
  if (!task) return null
  if (task.what === 'new') return <NewKey {...done} />
  const { key } = task
  if (task.what === 'change') return <ChangeKey subject={key} {...done} />
  if (task.what === 'rotate') return <RotateKey subject={key} {...done} />
  if (task.what === 'made') return <MadeDialog {...key} {...done} />
  return <RevokeKey subject={key} {...done} />
}

const STATES = ['active', 'ended', 'revoked'] as const

/** What a key is now. */
function keyState({ revoked_at, ends_at }: Key): (typeof STATES)[number] {
  if (revoked_at !== null) return 'revoked'
  return ends_at !== null && new Date(ends_at).getTime() <= Date.now() ? 'ended' : 'active'
}

/** First what one does at once when a secret has leaked. */
const TASKS = [
  ['rotate', 'key.rotate', true],
  ['revoke', 'key.revoke', true],
  ['change', 'key.change', false],
  ['made', 'made.show', false],
] as const

type TaskName = (typeof TASKS)[number][0]

const columns = (begin: (what: TaskName, key: Key) => void): Column<Key>[] => [
  {
    title: say('key.name'),
    cell: ({ name, id }) => (
      <>
        {nameText(name)}
        <br />
        <LongText text={id} what={say('key.id')} />
      </>
    ),
  },
  {
    title: say('order.state'),
    cell: (key) => (
      <State state={keyState(key)} mark={keyState(key) === 'active' ? 'done' : 'waiting'} />
    ),
  },
  {
    title: say('key.scopes'),
    is_long: true,
    cell: ({ scopes }) =>
      (scopes ?? UNNAMED_SCOPES).map((scope) => named('scope', scope)).join(', '),
  },
  { title: say('key.limits'), is_long: true, cell: Limits },
  { title: say('key.secrets'), cell: Secrets },
  {
    title: say('do'),
    is_actions: true,
    cell: (key) => (
      <RowActions
        of={nameText(key.name)}
        actions={TASKS.filter(([what]) => what === 'made' || keyState(key) !== 'revoked').map(
          ([what, word, is_first]) => ({
            text: say(word),
            run: () => begin(what, key),
            is_first,
          }),
        )}
      />
    ),
  },
]

/** From where, for whom, how much and until when; which signature it needs. */
function Limits({ networks, receivers, daily_cap, spent_today, require_v2, ends_at }: Key) {
  return (
    <ul>
      <li>{networks === null ? say('key.any') : networks.join(', ')}</li>
      <li>
        {daily_cap === null ? (
          say('key.no_cap')
        ) : (
          <>
            {spent_today !== null && (
              <>
                {say('key.spent')} <Money trx={spent_today} /> {say('key.of')}{' '}
              </>
            )}
            <Money trx={daily_cap} />
          </>
        )}
      </li>
      {receivers !== null && (
        <li>
          <Receivers addresses={receivers} />
        </li>
      )}
      {require_v2 && <li>{say('key.needs_v2')}</li>}
      {ends_at !== null && (
        <li>
          {say('key.ends')} <Time at={ends_at} />
        </li>
      )}
    </ul>
  )
}

/** What a key may do for which nothing was named. */
const UNNAMED_SCOPES = ['read', 'buy', 'aml']

/** Since when its secret signs, until when the one before does, and when one did last. */
function Secrets({ secrets, last_used_at }: Key) {
  const [newest, before] = secrets
  if (!newest) return null
  return (
    <>
      <Time at={newest.made_at} />
      {before?.until && (
        <p class="quiet">
          {say('key.before_until')} <Time at={before.until} />
        </p>
      )}
      <p class="quiet">
        {say('key.last_used')}:{' '}
        {last_used_at === null ? say('never') : <Time at={last_used_at} relative />}
      </p>
    </>
  )
}
