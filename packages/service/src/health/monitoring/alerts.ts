// What a person should look at. docs/operators/alerts.md says for each alert what it means.

import { ARCHIVE_SIZES } from '../../chain/transfers/archiving.ts'
import { firstIdAt } from '../../lib/ids.ts'
import {
  type Fragment,
  joinFragments,
  type WriteFragment,
  writeFragment,
} from '../../platform/database/fragments.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { PROVIDERS } from '../../screening/providers/configured.ts'
import { DUST_SUN } from '../../treasury/deposits/deposit_step.ts'
import { GONE_SECONDS } from './processes.ts'

export type Alert = { alert: string; since: Date | null; what: string }

type AlertNeeds<Tag> = { sql: Tag; now: Date }

/** Fewer transactions than this are soon used up; at CARRIES_MIN the wallet sells nothing. */
const WALLET_CARRIES_MIN = 200

/** A reclaim is in a block long before. */
const BLOCKS_FOR_RECLAIM = 20

/** A backup is made every day, and takes its time. */
const BACKUP_HOURS_MAX = 25

/** Blocks of a minute: checks that are asked for now wait as long. */
const INDEX_BLOCKS_MAX = 20
/** Those that stay, a portion, and as many as come in an hour. */
const ARCHIVE_BLOCKS_MAX = ARCHIVE_SIZES.stay + ARCHIVE_SIZES.portion + 1_200

/** Why a check fails that nobody could answer. */
const QUESTIONS_FAULTS = ['tx_not_found', 'no_transfer', 'not_in_transaction', 'not_covered']

/** A provider that fails so often is left alone soon. */
const PROVIDER_FAILURES = 3

const daysBefore = (now: Date, days: number) => new Date(now.getTime() - days * 86_400_000)

/** What is looked for, by the name of the alert: lines with `since` and `what`. */
export const ALERTS: Record<string, (look: AlertNeeds<WriteFragment>) => Fragment> = {
  chain_unknown: ({ sql }) => sql`
    select null as since, 'no block has been followed yet' as what
      where not exists (select 1 from chain)`,
  chain_silent: ({ sql, now }) => sql`
    select seen_at as since, 'no node has answered since' as what from chain
    where seen_at < ${now}::timestamptz - interval '30 seconds'`,
  chain_behind: ({ sql, now }) => sql`
    select head_time as since, format('block %s is the newest that was followed',
      head_number) as what from chain
    where head_time < ${now}::timestamptz - interval '2 minutes'`,
  solid_behind: ({ sql }) => sql`
    select null as since, format('blocks that are not solid yet: %s',
      head_number - solid_number) as what from chain
    where head_number - solid_number > 60`,
  nodes_disagree: ({ sql, now }) => sql`
    select min(first_at) as since, string_agg(
        format('%s: otherwise than %s about block %s (%s), %s times',
          array_to_string(dissenting, ' and '),
          coalesce(nullif(array_to_string(against, ', '), ''), 'each other'), number, what,
            times), '; ' order by last_at desc) as what
    from node_dispute where last_at > ${now}::timestamptz - interval '1 day' having count(*) > 0`,
  second_node_silent: ({ sql, now }) => sql`
    select unconfirmed_since as since,
           format('no second node confirms the solid blocks after %s: deposits wait',
             confirmed_number) as what
    from chain where unconfirmed_since < ${now}::timestamptz - interval '3 minutes'
      and disputed_number is null`,
  internal_transfers_hidden: ({ sql, now }) => sql`
    select min(since) as since, string_agg(said, '; ' order by since) as what from (
      (select seen_at as since,
        format('%s does not show what contracts send (block %s, transaction %s)', node, number,
        tx_id) as said
       from node_hiding where seen_at > ${now}::timestamptz - interval '1 hour')
      union all
      (select null, format('%s holds %s sun more than was seen to come', address, surplus_sun)
       from holding where surplus_sun >= ${DUST_SUN} order by address limit 10)) as hidden
    having count(*) > 0`,
  reader_behind: ({ sql }) => sql`
    select null as since, format('%s has %s solid blocks to read', name,
      confirmed_number - number) as what from cursor, chain
    where confirmed_number - number > 200 order by number limit 1`,
  order_waits: ({ sql, now }) => sql`
    select min(created_at) as since, format('orders open for more than 5 minutes: %s',
      count(*)) as what from orders
    where state in ('new', 'pending') and created_at < ${now}::timestamptz
      - interval '5 minutes' having count(*) > 0`,
  order_owed: ({ sql, now }) => sql`
    select min(created_at) as since,
      format('orders of which a fork took a part back that is not delivered again: %s',
      count(*)) as what
    from orders where to_delegate and state = 'success'
      and created_at < ${now}::timestamptz - interval '5 minutes' having count(*) > 0`,
  attempt_unsigned: ({ sql, now }) => sql`
    select min(made_at) as since, format('transactions that wait for a signature: %s',
      count(*)) as what from attempt
    where state = 'new' and made_at < ${now}::timestamptz - interval '1 minute' having count(*)
      > 0`,
  // What was looked at hours before the others is a wallet that no worker has any more.
  signing_stopped: ({ sql }) => sql`
    select made_at as since, format('%s stopped signing: %s', made_by,
      coalesce(reason, 'no reason given')) as what
    from (select * from operator_action where subject = 'signing' order by number desc
      limit 1) as last
    where (after ->> 'stopped')::boolean
    union all
    select null, 'signing is stopped, and no record says by whom'
    where coalesce((select stopped from signing), true) and not coalesce((
      select (after ->> 'stopped')::boolean from operator_action where subject = 'signing'
      order by number desc limit 1), false)
    union all
    select min(checked_at), 'signing is stopped on a machine by its file signing.stopped'
    from wallet_check where stopped_here
      and checked_at > (select max(checked_at)
        from wallet_check) - interval '3 hours' having count(*) > 0`,
  signing_refused: ({ sql, now }) => sql`
    select min(refused_at) as since,
      format('transactions that the signer refused within a day: %s, the last for %s: %s', count(*),
             (array_agg(subject order by refused_at desc))[1], (array_agg(answer
               order by refused_at desc))[1]) as what
    from attempt where refused_at > ${now}::timestamptz - interval '1 day' having count(*) > 0`,
  wallet_key_wide: ({ sql }) => sql`
    select checked_at as since, complaints[1] || case when stopped then ' Nothing is signed for it.'
      else '' end as what
    from wallet_check where cardinality(complaints) > 0
      and checked_at > (select max(checked_at) from wallet_check) - interval '3 hours'
        order by address`,
  wallet_key_unchecked: ({ sql, now }) => sql`
    select min(checked_at) as since, 'what hot keys may do was not looked at since' as what
    from wallet_check having max(checked_at) < ${now}::timestamptz - interval '3 hours'`,
  price_floor_refused: ({ sql }) => sql`
    select floor_at as since, format('%s: by what it costs 1000 units should be %s sun at least, '
      'ten times a price or more: prices stay', resource, refused_sun) as what
    from price_rule where refused_sun is not null order by resource`,
  letters_late: ({ sql, now }) => sql`
    select min(made_at) as since,
      format('letters to those who sign up that have waited for ten minutes: %s', count(*)) as what
    from sign_up where state = 'asked' and sealed_token is not null
      and made_at < ${now}::timestamptz - interval '10 minutes' having count(*) > 0`,
  attempt_unknown: ({ sql }) => sql`
    select min(expires_at) as since,
      format('transactions of which it is not known whether a block has them: %s', count(*)) as what
    from attempt where state in ('signed', 'sent')
      -- Nothing is known of the blocks after that one.
      and expires_at < (select time - interval '5 minutes' from block, chain
        where number = confirmed_number) having count(*) > 0`,
  delegation_overdue: ({ sql }) => sql`
    select min(d.expires_at) as since, format('delegations that should have been taken back: %s',
      count(*)) as what
    from delegation as d
    -- Each by its index: there are very many whose hour is not over.
    where (d.state = 'active' or d.state = 'reclaiming')
      -- It is due by the confirmed block, and there have been some since: a chain that stood still
      -- goes on at a later time.
      and d.expires_at < (select time - interval '10 minutes' from block, chain
        where number = confirmed_number - ${BLOCKS_FOR_RECLAIM}::bigint)
    having count(*) > 0`,
  books_broken: ({ sql }) => sql`
    select min(found_at) as since,
      format('findings of the last check of the books: %s, the first about %s%s',
        count(*) filter (where gone_at is null), min(rule || ' ' || subject),
        case when bool_or(accepted_at is null or accepted_at < found_at)
          then '; no refund and no activation is signed before services on --all' end) as what
    from books_finding
    where gone_at is null or accepted_at is null or accepted_at < found_at having count(*) > 0`,
  books_unchecked: ({ sql, now }) => sql`
    select checked_at as since, 'the books were not checked since' as what from books_check
    where due_at < ${now}::timestamptz - interval '30 minutes'`,
  journal_behind: ({ sql, now }) => sql`
    select min(made_at) as since, 'entries of the ledger are not sealed' as what from transfer
    -- Between two numbers: by one of them the plan for any would read all entries.
    where number between coalesce((select max(last_entry) from journal), 0) + 1
        and 9223372036854775807 and made_at < ${now}::timestamptz - interval '1 hour'
    having count(*) > 0`,
  deposit_held: ({ sql }) => sql`
    select min(block_time) as since, format('deposits that wait for your decision: %s',
      count(*)) as what from deposit
    where state = 'held' having count(*) > 0`,
  deposit_waits: ({ sql, now }) => sql`
    select min(at) as since, format('deposits on their way for more than 10 minutes: %s',
      count(*)) as what
    from (
      select seen_at as at from deposit
      where state in ('received', 'delivering', 'returning', 'refunding')
      union all
      select queued_at from deposit_screening join deposit using (tx_id, position)
      where ways is null and screened_at is null and solid_at is null) as waiting
    where at < ${now}::timestamptz - interval '10 minutes' having count(*) > 0`,
  // Over as soon as any issuer has answered since.
  freezes_not_asked: ({ sql, now }) => sql`
    select asked_at as since, format('the issuer of %s was not asked whether it froze an address '
      'before the first block that was followed: %s', token, error) as what
    from issuer_word where said = 'not_asked' and asked_at > ${now}::timestamptz
      - interval '10 minutes' and not exists (select 1 from issuer_word as later
        where later.said <> 'not_asked' and later.token = issuer_word.token
          and later.asked_at > issuer_word.asked_at)
    order by asked_at limit 1`,
  lists_none: ({ sql, now }) => sql`
    select null as since, 'checks are answered, and no list is loaded: nothing is known of who '
      'addresses belong to' as what
    where not exists (select 1 from label_set_version
        where label_set = (select max(number) from label_set))
      and exists (select 1 from aml_check where id >= ${firstIdAt(daysBefore(now, 1))}
        and state = 'completed')`,
  list_old: ({ sql, now }) => sql`
    select min(read_at) as since, format('lists that were not read for too long: %s',
      string_agg(code, ', ' order by code)) as what
    from list
    where read_at < ${now}::timestamptz - case
        when refresh_hours is not null then make_interval(hours => 2 * refresh_hours)
        when kind = 'authority' then interval '7 days' end
    having count(*) > 0`,
  list_failing: ({ sql }) => sql`
    select min(failing_since) as since, string_agg(format('%s is not loaded: %s', code, error), '; '
      order by code) as what
    from list where failing_since is not null having count(*) > 0`,
  // Of each process the last it said of itself, some seconds old.
  index_behind: ({ sql, now }) => sql`
    select null as since, format('the index of %s (%s) lacks %s blocks of the log', host, role,
      log.last_number - coalesce(known.block_number, log.first_number - 1)) as what
    from flow_log_ends as log, process as p left join lateral (
        select (i ->> 'block_number')::bigint as block_number
        from jsonb_array_elements(p.report -> 'indexes') as i
        where (i ->> 'in_use')::boolean) as known on true
    where p.role in ('all', 'worker', 'index') and p.report ? 'indexes'
      and p.seen_at > clock_timestamp() - make_interval(secs => ${GONE_SECONDS})
      and p.started_at < ${now}::timestamptz - interval '1 minute'
      and log.last_number - coalesce(known.block_number, log.first_number - 1)
        > ${INDEX_BLOCKS_MAX}::bigint
    order by host, id limit 1`,
  // A report names the nodes as soon as there is one.
  index_missing: ({ sql, now }) => sql`
    select null as since, format('the worker on %s leaves the index to others (--index none), and '
      'no process has one', min(host) filter (where is_without)) as what
    from (
      select host, started_at, report ? 'indexes' as has_index,
        report ? 'nodes' and not report ? 'indexes' as is_without
      from process where role in ('all', 'worker', 'index')
        and seen_at > clock_timestamp() - make_interval(secs => ${GONE_SECONDS})) as p
    having bool_or(is_without and started_at < ${now}::timestamptz - interval '1 minute')
      and not bool_or(has_index)`,
  sent_old: ({ sql, now }) => sql`
    select max(read_at) as since,
      'where addresses sent was not read back for more than two days' as what
    from flow_sent where index_rules_in_force() >= 2
    having min(begun_at) < ${now}::timestamptz - interval '2 days'
      and coalesce(max(read_at), '-infinity') < ${now}::timestamptz - interval '2 days'`,
  archive_behind: ({ sql, now }) => sql`
    select least(p.unreleased_at, case when p.waiting > ${ARCHIVE_BLOCKS_MAX}::bigint
        then greatest(p.copied_at, a.begun_at) end) as since,
      format('%s blocks wait to be copied to ClickHouse, %s to be released', p.waiting,
        p.unreleased) as what
    from flow_archive as a, (
      select max(log.last_number) - coalesce(max(p.last_number), max(log.first_number) - 1)
          as waiting,
        max(p.copied_at) as copied_at,
        min(p.copied_at) filter (where p.released_at is null) as unreleased_at,
        coalesce(sum(p.last_number - p.first_number + 1) filter (where p.released_at is null), 0)
          as unreleased
      from flow_log_ends as log left join flow_archive_portion as p on true) as p
    where a.state = 'begun' and (
      p.unreleased_at < ${now}::timestamptz - interval '2 hours'
      or p.waiting > ${ARCHIVE_BLOCKS_MAX}::bigint
        and greatest(p.copied_at, a.begun_at) < ${now}::timestamptz - interval '1 hour')`,
  checks_failing: ({ sql, now }) => sql`
    select min(ended_at) filter (where failing) as since,
      format('checks that failed within 10 minutes, by no fault of the question: %s of %s',
        count(*) filter (where failing), count(*)) as what
    from (
      select ended_at, state = 'failed' and error <> all(${QUESTIONS_FAULTS}::text[]) as failing
      from aml_check
      where id >= ${firstIdAt(daysBefore(now, 1 / 72))} and state in ('completed', 'failed')
        and ended_at > ${now}::timestamptz - interval '10 minutes') as ended
    having count(*) filter (where failing) * 20 > count(*)`,
  review_waits: ({ sql, now }) => sql`
    select min(opened_at) as since, format('answers that have waited for a decision for a day: %s',
      count(*)) as what
    from aml_review where state = 'open' and opened_at < ${now}::timestamptz - interval '1 day'
    having count(*) > 0`,
  cases_late: ({ sql, now }) => sql`
    select min(due_at) as since, format('cases that should have been closed: %s, of which nobody '
      'owns %s', count(*), count(*) filter (where owner is null)) as what
    from aml_case where state <> 'closed' and due_at < ${now}::timestamptz - interval '1 hour'
    having count(*) > 0`,
  provider_down: ({ sql, now }) => sql`
    select failed.since, format('%s was asked within 10 minutes, failed %s times and answered '
      'nothing', provider, failed.times) as what
    from unnest(${PROVIDERS}::text[]) as p (provider)
    cross join lateral (
      select count(*) as times, min(received_at) as since from aml_answer as a
      where a.provider = p.provider and received_at > ${now}::timestamptz - interval '10 minutes'
        and outcome in ('transient', 'permanent', 'auth', 'quota')) as failed
    where failed.times >= ${PROVIDER_FAILURES}::integer and not exists (
      select 1 from aml_answer as a where a.provider = p.provider and outcome = 'answered'
        and received_at > ${now}::timestamptz - interval '10 minutes')
    order by provider limit 1`,
  webhooks_failing: ({ sql, now }) => sql`
    select min(failing_since) as since,
      format('webhooks that are not called any more, or fail for an hour: %s, the first %s',
        count(*), min(id)) as what
    from webhook
    where state = 'disabled' and called_at > ${now}::timestamptz - interval '1 day'
       or state = 'on' and failing_since < ${now}::timestamptz - interval '1 hour'
    having count(*) > 0`,
  database_went_back: ({ sql }) => sql`
    select min(found_at) as since, coalesce('the database was restored as of '
        || max(restored_to) || ': what came later is gone; ', '')
        || format('the database lacks what it had acknowledged; customers '
        'were told of %s', coalesce(nullif(string_agg(array_to_string(missing, ', '), ', '
        order by found_at) filter (where cardinality(missing) > 0), ''), 'none of it')) as what
    from database_loss where accepted_at is null having count(*) > 0`,
  backup_old: ({ sql, now }) => sql`
    select made_at as since, case
        when made_at < ${now}::timestamptz - ${BACKUP_HOURS_MAX} * interval '1 hour'
          then format('the newest backup, %s in %s, is more than a day old', id, place)
        else format('the newest backup, %s in %s: %s', id, place, array_to_string(found, '; ')) end
      as what
    from (select * from backup order by made_at desc limit 1) as newest
    where cardinality(found) > 0
      or made_at < ${now}::timestamptz - ${BACKUP_HOURS_MAX} * interval '1 hour'`,
  standby_missing: ({ sql }) => sql`
    select null as since,
      format('standbys that confirm commits: %s, asked for: %s', confirming, asked) as what
    from (select max(standbys) as asked from process
        where seen_at > clock_timestamp() - make_interval(secs => ${GONE_SECONDS})) as told,
      (select case when current_setting('synchronous_standby_names') = '' then 0 else (
        select count(*) from pg_stat_replication where sync_state in ('sync', 'quorum'))
        end as confirming) as now
    where confirming < asked`,
  commit_unreplicated: ({ sql }) => sql`
    select min(started_at) as since,
      format('commits that no standby has confirmed and that went on: %s',
        sum(unreplicated_commits)) as what
    from process where unreplicated_commits > 0 having count(*) > 0`,
  clock_off: ({ sql }) => sql`
    select null as since, format('the clock of %s (%s) is %s s off the clock of the database',
      host, role, round(clock_offset_ms / 1000.0, 1)) as what
    from process
    where abs(clock_offset_ms) > 1000
      and seen_at > clock_timestamp() - make_interval(secs => ${GONE_SECONDS})
    order by host, id`,
  data_folder_unwritten: ({ sql }) => sql`
    select unwritten_since as since, format('%s (%s) cannot write in its data folder', host, role)
      as what
    from process
    where unwritten_since is not null
      and seen_at > clock_timestamp() - make_interval(secs => ${GONE_SECONDS})
    order by host, id`,
  safety_loosened: ({ sql, now }) => sql`
    select null as since, format('a process runs with %s', string_agg(name, ', '
      order by name)) as what
    from loosened_setting where seen_at > ${now}::timestamptz - interval '5 minutes' having count(*)
      > 0`,
  wallet_cannot_pay: ({ sql }) => sql`
    select null as since, format('%s can pay for %s transactions more', address, least) as what
    from (select address, min(carries) as least from pool_wallet group by address) as w
      where least < ${WALLET_CARRIES_MIN}
    order by least limit 1`,
  pool_low: ({ sql }) => sql`
    select null as since, format('the pool can deliver %s %s, the smallest sold amount is %s',
      room - reserved, resource, least_sold) as what
    from pool join (select resource, min(min_amount) as least_sold from price where until is null
      group by resource) as p using (resource)
    -- Before the first survey nothing is known of it, and a start raises no alert.
    where room - reserved < least_sold and exists (select from pool_wallet)
    order by resource`,
}

/** All in one statement: somebody looks every few seconds. */
export async function alerts({ sql, now }: AlertNeeds<Sql>): Promise<Alert[]> {
  const queries = Object.entries(ALERTS).flatMap(([name, find], i) => [
    `${i === 0 ? '' : ' union all '}(select '${name}' as alert, since::timestamptz, what from (`,
    find({ sql: writeFragment, now }),
    ') as found)',
  ])
  return sql<Alert>(...joinFragments(queries))
}
