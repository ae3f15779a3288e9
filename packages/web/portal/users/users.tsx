// The people who sign in for the customer: let in, given another role, given a new link, taken out.

import { session } from '../../shared/calls/session.ts'
import { FilteredList } from '../../shared/files/filtered_list.tsx'
import type { PageProps } from '../../shared/frame/face.ts'
import { Title } from '../../shared/frame/title.tsx'
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
import { CUSTOMER_ROLES, USER_STATES, userState } from '../../shared/users/user.ts'
import { nameText } from '../../shared/words/name.ts'
import { named, say } from '../../shared/words/words.ts'
import { Receivers } from '../keys/receivers.tsx'
import type { User } from './user.ts'
import { ChangeUser, InviteUser, NewLink, RemoveUser } from './user_dialogs.tsx'

type Task = { what: 'invite' } | { what: 'change' | 'link' | 'remove' | 'made'; user: User }

const filterFields = (): FilterField[] => [
  {
    name: 'role',
    label: say('settings.role'),
    choices: namedChoices('role', CUSTOMER_ROLES),
  },
  {
    name: 'state',
    label: say('order.state'),
    choices: namedChoices('state', USER_STATES),
  },
]

export default function Users({ query }: PageProps) {
  const { task, version, begin, on } = useTask<Task>()
  return (
    <>
      <Title title={say('users')} section={say('settings')}>
        <button type="button" class="main" onClick={() => begin({ what: 'invite' })}>
          {say('user.invite')}
        </button>
      </Title>
      <FilteredList<User>
        path="/v1/users/list"
        address={path.users}
        query={query}
        fields={filterFields()}
        file="users"
        caption={say('users')}
        columns={columns(begin)}
        keyOf={({ id }) => id}
        isStale={({ type }) => type.startsWith('user.')}
        version={version}
        none={
          <Empty>
            <p>{say('user.none')}</p>
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
  if (task.what === 'invite') return <InviteUser {...done} />
  const { user } = task
  if (task.what === 'change') return <ChangeUser user={user} {...done} />
  if (task.what === 'link') return <NewLink user={user} {...done} />
  if (task.what === 'made') return <MadeDialog {...user} {...done} />
  return <RemoveUser user={user} {...done} />
}

const TASKS = [
  ['change', 'user.change', true],
  ['link', 'user.new_link', false],
  ['remove', 'user.remove', false],
  ['made', 'made.show', false],
] as const

const columns = (begin: (task: Task) => void): Column<User>[] => [
  { title: say('key.name'), cell: ({ name }) => name },
  { title: say('sign_in.name'), cell: ({ sign_in_name }) => sign_in_name ?? '–' },
  { title: say('settings.role'), cell: ({ role }) => named('role', role) },
  {
    title: say('order.state'),
    cell: (user) => (
      <State state={userState(user)} mark={userState(user) === 'active' ? 'done' : 'waiting'} />
    ),
  },
  {
    title: say('user.cap'),
    is_figure: true,
    cell: ({ daily_cap, receivers }) => (
      <>
        {daily_cap === null ? say('key.no_cap') : <Money trx={daily_cap} />}
        {receivers !== null && (
          <div>
            <Receivers addresses={receivers} />
          </div>
        )}
      </>
    ),
  },
  { title: say('user.invited'), cell: ({ invited_at }) => <Time at={invited_at} /> },
  {
    title: say('do'),
    is_actions: true,
    cell: (user) =>
      user.id !== session.value?.user.id && (
        <RowActions
          of={nameText(user.name)}
          actions={TASKS.filter(([what]) => what === 'made' || user.ended_at === null).map(
            ([what, word, is_first]) => ({
              text: say(word),
              run: () => begin({ what, user }),
              is_first,
            }),
          )}
        />
      ),
  },
]
