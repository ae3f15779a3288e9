// One check: its level and score as soon as they are there, what they rest on, and the way of the
// money.

import './report_words.ts'
import type { Result } from 'penstock-sdk'
import type { ComponentChildren, VNode } from 'preact'
import { ask } from '../../shared/calls/ask.ts'
import { useQuestion } from '../../shared/calls/question.ts'
import { useSubmission } from '../../shared/calls/submission.ts'
import { saveFile } from '../../shared/files/csv.ts'
import type { PageProps } from '../../shared/frame/face.ts'
import { Title } from '../../shared/frame/title.tsx'
import { toast } from '../../shared/frame/toasts.tsx'
import { Hash, LongText } from '../../shared/parts/address.tsx'
import { Answer, FaultNote } from '../../shared/parts/answer.tsx'
import { Facts, Table } from '../../shared/parts/table.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/portal.ts'
import { named, nameIfKnown, say } from '../../shared/words/words.ts'
import { Limits, ListsAsked } from './basis.tsx'
import { type Evidence, type Factor, percentText, readEvidence } from './evidence.ts'
import { type Check, CheckOutcome } from './level.tsx'
import { Verdict } from './verdict.tsx'
import { MoneyFlow, type NamedFactor, WayTable } from './way.tsx'

export default function OneCheck({ params }: PageProps) {
  const id = params.id!
  const question = useQuestion(
    '/v1/aml-checks/check',
    { id },
    {
      patch: (known, event) =>
        'subject' in event && event.subject === `aml_check:${id}` ? 'again' : known,
    },
  )
  return (
    <>
      <Title title={say('check.title')} section={say('screening')} />
      <Answer question={question} lines={12}>
        {(check) => (
          <div class="stack">
            {check.status === 'completed' ? (
              <Report check={check} />
            ) : (
              <>
                <p class="outcome" role="status">
                  <CheckOutcome check={check} />
                </p>
                {check.status === 'failed' && <p class="note warn">{say('check.failed')}</p>}
                <section class="panel">
                  <CheckFacts check={check} />
                  {check.network === 'TRX' && <WatchIt address={check.address} />}
                </section>
              </>
            )}
          </div>
        )}
      </Answer>
    </>
  )
}

function CheckFacts({ check }: { check: Check }) {
  const { id, address, hash, direction, network, checked_at } = check
  return (
    <Facts
      facts={[
        [
          say('order.address'),
          <LongText key="address" text={address} what={say('copy.address')} />,
        ],
        ...(hash === undefined
          ? []
          : [[say('order.hash'), <Hash key="hash" tx_id={hash} />] as [string, VNode]]),
        ...(direction
          ? [[say('check.direction'), named('direction', direction)] as [string, string]]
          : []),
        [say('check.network'), network],
        [say('order.created'), <Time key="time" at={checked_at} relative />],
        [say('id'), <LongText key="id" text={id} what={say('id')} />],
      ]}
    />
  )
}

function WatchIt({ address }: { address: string }) {
  const submission = useSubmission()
  const watch = async () => {
    if (await submission.run(() => ask('/v1/aml-watch/new', { address }))) toast(say('watch.begun'))
  }
  return (
    <>
      <p class="actions">
        <button type="button" disabled={submission.is_busy.value} onClick={() => void watch()}>
          {say('watch')}
        </button>
      </p>
      {submission.fault.value && <FaultNote fault={submission.fault.value} />}
    </>
  )
}

type SharesProps = { title: string; none?: string; factors: Check['risk_factors'] }

/** Of what the money is, or where it ended, as bars with their figures. */
function Shares({ title, none, factors }: SharesProps) {
  return (
    <section class="panel">
      <h2>{title}</h2>
      {factors.length === 0 ? (
        <p>{none}</p>
      ) : (
        <Table
          caption={title}
          rows={factors}
          keyOf={({ name }) => name}
          columns={[
            { title: say('check.category'), cell: ({ name, label }) => labelText(name, label) },
            { title: say('check.level'), cell: ({ group }) => named('level', group) },
            {
              title: say('check.share'),
              is_figure: true,
              cell: ({ score, group }) => (
                <>
                  {percentText(score)} <ShareBar share={score} group={group} />
                </>
              ),
            },
          ]}
        />
      )}
    </section>
  )
}

/** What a category is called here; what its maker calls it where there is no word. */
const labelText = (name: string, label: string): string => nameIfKnown('category', name) ?? label

const BAR = { width: 80, height: 10 }

/** The figure stands beside it. */
const ShareBar = ({ share, group }: { share: number; group: string }) => (
  <svg
    class="share"
    viewBox={`0 0 ${BAR.width} ${BAR.height}`}
    width={BAR.width}
    aria-hidden="true"
  >
    <rect class="track" width={BAR.width} height={BAR.height} />
    <rect class={group} width={Math.max(1, share * BAR.width)} height={BAR.height} />
  </svg>
)

/** Where the evidence is not kept any more, what the check itself says stays. */
function Report({ check }: { check: Check }) {
  const question = useQuestion('/v1/aml-check/report', { id: check.id })
  return (
    <>
      <Answer question={question} lines={8}>
        {(report) => <Document check={check} report={report} />}
      </Answer>
      {question.fault.value && (
        <>
          <p class="outcome">
            <CheckOutcome check={check} />
          </p>
          <SharesOfCheck check={check} />
          <CheckFacts check={check} />
        </>
      )}
    </>
  )
}

type ReportOfCheck = Result<'/v1/aml-check/report'>

function Document({ check, report }: { check: Check; report: ReportOfCheck }) {
  const evidence = readEvidence(report.evidence)
  const save = () => saveFile(`evidence-${check.id}.json`, 'application/json', report.evidence)
  const followed = evidence.factors
    .filter(({ path }) => path.length > 0)
    .map((factor) => nameFactor(factor, check))
  return (
    <>
      <Verdict check={check} evidence={evidence} levels={report.levels}>
        <p class="actions">
          <a class="button" href={path.paperOfCheck(check.id)} target="_blank" rel="noopener">
            {say('print')}
          </a>
          <button type="button" onClick={save}>
            {say('check.save_evidence')}
          </button>
        </p>
      </Verdict>
      <section class="panel">
        <h2>{say('way')}</h2>
        {followed.length === 0 ? <p>{say('way.none')}</p> : <MoneyFlow factors={followed} />}
      </section>
      <SharesOfCheck check={check} />
      <section class="panel">
        <CheckFacts check={check} />
        {check.network === 'TRX' && <WatchIt address={check.address} />}
      </section>
      {followed.length > 0 && (
        <Folded title={say('check.transfers')}>
          {followed.map((factor) => (
            <WayTable key={factor.category} factor={factor} />
          ))}
        </Folded>
      )}
      <Folded title={say('check.evidence')}>
        <EvidenceFacts evidence={evidence} report={report} />
        <ListsAsked {...evidence} />
      </Folded>
      <Limits {...evidence} />
    </>
  )
}

const nameFactor = (factor: Factor, { risk_factors }: Check): NamedFactor => {
  const { category } = factor
  const { label = category, group = '' } = risk_factors.find(({ name }) => name === category) ?? {}
  return { ...factor, label: labelText(category, label), group }
}

const Folded = ({ title, children }: { title: string; children: ComponentChildren }) => (
  <section class="panel">
    <details>
      <summary>
        <h2>{title}</h2>
      </summary>
      <div class="stack">{children}</div>
    </details>
  </section>
)

const SharesOfCheck = ({ check }: { check: Check }) => (
  <>
    <Shares
      title={say('check.shares')}
      none={say('check.no_shares')}
      factors={check.risk_factors}
    />
    {check.sent_factors.length > 0 && (
      <Shares title={say('check.sent_shares')} factors={check.sent_factors} />
    )}
  </>
)

type EvidenceProps = { evidence: Evidence; report: ReportOfCheck }

const EvidenceFacts = ({ evidence, report }: EvidenceProps) => (
  <Facts
    facts={[
      [say('check.as_of'), evidence.index.last_block],
      [say('check.reasons'), reasonsText(evidence)],
      ['SHA-256', <LongText key="sha256" text={report.sha256} what="SHA-256" />],
      ...linkTo(say('check.supersedes'), report.supersedes),
      ...linkTo(say('check.superseded_by'), report.superseded_by),
    ]}
  />
)

const linkTo = (name: string, id: string | null): [string, VNode][] =>
  id === null
    ? []
    : [
        [
          name,
          <a key="link" href={path.check(id)}>
            {id}
          </a>,
        ],
      ]

/** Why it is barred, and the rules that have raised the score. */
function reasonsText({ blacklisted_by, floors }: Evidence): string {
  const rules = floors.map(({ rule, category, points }) => {
    const named_rule = { rule: named('rule', rule), points }
    return category === null
      ? say('check.rule_alone', named_rule)
      : say('check.rule', { ...named_rule, category: labelText(category, category) })
  })
  return [...blacklisted_by.map((one) => named('barred', one)), ...rules].join('; ') || say('none')
}
