// What everybody is told on the status page, and what of that page is not shown.

import { useSignal } from '@preact/signals'
import { Answer } from '../../shared/parts/answer.tsx'
import { Block } from '../../shared/parts/block.tsx'
import { ChecksField, LinesField, namedChoices, TextField } from '../../shared/parts/field.tsx'
import { Shape } from '../../shared/parts/state.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { named, say } from '../../shared/words/words.ts'
import { type Body, type Row, useRun } from '../calls/calls.ts'
import { ReasonButton } from '../calls/reason_button.tsx'
import { Rows } from '../calls/rows.tsx'

type Part = NonNullable<Body<'incidents post'>['part']>[number]

const PARTS: readonly Part[] = ['buying', 'delivering', 'deposits', 'screening', 'events']

type Incident = Row<'incidents list'>

const partNames = (parts: readonly string[]) => parts.map((one) => named('part', one)).join(', ')

export function Incidents() {
  const incidents = useRun('incidents list', { limit: 20 })
  const again = () => void incidents.again()
  return (
    <Block title={say('incidents')} why={say('incidents.why')} action={<Post onDone={again} />}>
      <Rows
        question={incidents}
        none={say('incidents.none')}
        caption={say('incidents')}
        keyOf={({ id }) => id}
        columns={[
          {
            title: say('incident'),
            cell: ({ title, closed_at }) => (
              <>
                <Shape mark={closed_at === null ? 'look' : 'done'} /> {title}
              </>
            ),
          },
          { title: say('incident.what'), cell: ({ what }) => what },
          { title: say('incident.parts'), cell: ({ parts }) => partNames(parts) },
          { title: say('since'), cell: ({ began_at }) => <Time at={began_at} relative /> },
          {
            title: say('incident.until'),
            cell: (one) =>
              one.closed_at === null ? (
                <Changes incident={one} onDone={again} />
              ) : (
                <>
                  <Time at={one.closed_at} relative /> {one.outcome}
                </>
              ),
          },
        ]}
      />
    </Block>
  )
}

function Post({ onDone }: { onDone: () => void }) {
  const title = useSignal('')
  const what = useSignal('')
  const parts = useSignal<readonly string[]>([])
  return (
    <ReasonButton
      text={say('incident.post')}
      words="incidents post"
      body={{ title: title.value, what: what.value, part: parts.value as Part[] }}
      onDone={() => {
        title.value = ''
        what.value = ''
        parts.value = []
        onDone()
      }}
    >
      <TextField
        label={say('incident.title')}
        value={title.value}
        onText={(text) => {
          title.value = text
        }}
        spellcheck
      />
      <LinesField
        label={say('incident.what')}
        hint={say('incident.what.hint')}
        value={what.value}
        onText={(text) => {
          what.value = text
        }}
      />
      <ChecksField
        label={say('incident.parts')}
        values={parts.value}
        choices={namedChoices('part', PARTS)}
        onChoice={(values) => {
          parts.value = values
        }}
      />
    </ReasonButton>
  )
}

/** What there is to say more while it lasts, and that it is over. */
function Changes({ incident, onDone }: { incident: Incident; onDone: () => void }) {
  const what = useSignal(incident.what)
  const outcome = useSignal('')
  const { id, title } = incident
  return (
    <span class="actions">
      <ReasonButton
        text={say('incident.update')}
        about={title}
        words="incidents update"
        body={{ id, what: what.value }}
        onDone={onDone}
      >
        <LinesField
          label={say('incident.what')}
          hint={say('incident.what.hint')}
          value={what.value}
          onText={(text) => {
            what.value = text
          }}
        />
      </ReasonButton>
      <ReasonButton
        text={say('incident.close')}
        about={title}
        words="incidents close"
        body={{ id, ...(outcome.value.trim() !== '' && { outcome: outcome.value }) }}
        onDone={onDone}
      >
        <TextField
          label={say('incident.outcome')}
          value={outcome.value}
          onText={(text) => {
            outcome.value = text
          }}
          spellcheck
        />
      </ReasonButton>
    </span>
  )
}

const switchName = (what: 'pool' | 'prices') =>
  say(what === 'pool' ? 'status_page.pool' : 'status_page.prices')

export function StatusPage() {
  const settings = useRun('status-page show', {})
  const button = (what: 'pool' | 'prices', is_shown: boolean) => (
    <p class="actions">
      <span>
        {switchName(what)}: {say(is_shown ? 'status_page.shown' : 'status_page.hidden')}
      </span>
      <ReasonButton
        text={say(is_shown ? 'status_page.hide' : 'status_page.show')}
        about={switchName(what)}
        words="status-page set"
        body={{ [what]: is_shown ? 'hidden' : 'shown' }}
        onDone={() => void settings.again()}
      />
    </p>
  )
  return (
    <Block title={say('status_page')} why={say('status_page.why')}>
      <Answer question={settings} lines={3}>
        {({ pool_shown, prices_shown }) => (
          <>
            {button('pool', pool_shown)}
            {button('prices', prices_shown)}
            <p class="quiet">{say('status_page.outages')}</p>
          </>
        )}
      </Answer>
    </Block>
  )
}
