// People who sign in: for a customer, or at the console.

import { State } from '../../shared/parts/state.tsx'
import type { Column } from '../../shared/parts/table.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { userState } from '../../shared/users/user.ts'
import { named, say } from '../../shared/words/words.ts'
import type { Row } from './calls.ts'

export type Person = Row<'operators list'>

/** The columns of a list of people; a function, as words are not known before the page runs. */
export const personColumns = (): Column<Person>[] => [
  { title: say('name'), cell: ({ name }) => name },
  { title: say('role'), cell: ({ role }) => named('role', role) },
  { title: say('state'), cell: (person) => <State state={userState(person)} /> },
  { title: say('person.sign_in_name'), cell: ({ sign_in_name }) => sign_in_name ?? say('none') },
  { title: say('person.invited'), cell: ({ invited_at }) => <Time at={invited_at} /> },
]
