// The meaning of each alert, and what to do about it, as they stand on the page:
// docs/operators/alerts.md is printed from here, and so are the rules that Prometheus goes by.

import type { ALERTS } from './alerts.ts'

export type AlertEntry = { means: string; act: string }

/** By the names of `ALERTS`, in the order of the page. */
export const ALERT_ENTRIES: Record<keyof typeof ALERTS, AlertEntry> = {
  database_went_back: {
    means:
      'the database lacks what it had acknowledged, by the memory of a process; it names the ' +
      'orders, checks and subscriptions that customers were told of. Nothing is sold ' +
      'meanwhile',
    act:
      'Find out which server is right (see [Standbys](standbys.md)); then `penstock-admin ' +
      'database accept --reason ...`',
  },
  backup_old: {
    means:
      'the newest backup that the database knows of is more than a day old, or something was ' +
      'wrong with it when it was looked at. There is no alert before the first backup',
    act: '`penstock-admin backup`, `penstock-admin backup check`; see [backup.md](backup.md)',
  },
  standby_missing: {
    means:
      'fewer standbys confirm commits than `PENSTOCK_STANDBYS` asks for. With none left every ' +
      'commit waits, and nothing is sold',
    act: 'Look at the standbys: `select * from pg_stat_replication` on the primary',
  },
  commit_unreplicated: {
    means:
      'the database went on with a commit that no standby had confirmed, because somebody ' +
      'cancelled its wait; the caller was told that its outcome is unknown. It is there for ' +
      'as long as this primary is. The alert ends a day after the process did',
    act:
      'Do not fail over before a standby has caught up. Nobody but the server may cancel a ' +
      'wait for a standby: find out who does',
  },
  clock_off: {
    means:
      "a machine's clock is more than a second off that of the database. What processes " +
      "decide together goes by the database's clock; above 30 s the process is not ready",
    act: "Let NTP set the clock of that machine, and of the database's",
  },
  data_folder_unwritten: {
    means:
      'a process cannot write in its data folder, mostly because the disk is full. What the ' +
      'database has acknowledged to it is not written down, so that a database that goes back ' +
      'while the process is restarted may not be noticed. A worker signs nothing meanwhile: ' +
      'orders wait, and are given back after 10 minutes',
    act:
      'Make room on that disk, or let the process write there; it goes on by itself. Start no ' +
      'process anew before',
  },
  chain_unknown: {
    means: 'no block was ever followed',
    act: 'Is a worker running (`--role worker` or `all`), and does it reach a node?',
  },
  chain_silent: {
    means:
      'no node has answered for 30 s. Purchases are refused with 35 meanwhile; nothing is ' +
      'lost',
    act: "Look at the nodes and at the worker's log (`step_failed`, `follow`)",
  },
  chain_behind: {
    means: 'the newest followed block is more than 2 minutes old',
    act:
      'The node is behind or stands still, or the follower is catching up: `penstock-admin ' +
      'chain show` twice says which. Purchases are refused with 35 when no new block has come ' +
      'for a minute, or more than 5 are not followed yet',
  },
  solid_behind: {
    means: 'more than 60 blocks are not solid (18 to 20 are usual)',
    act: 'The network or the node has trouble. Deposits wait; wait too',
  },
  nodes_disagree: {
    means:
      'nodes said different things about a solid block in the last day: named are those that ' +
      'the majority is against, or, without one, all',
    act:
      'One of them lies or is broken. Without a majority nothing is sold or credited: look ' +
      'the block up elsewhere, remove the node, restart the workers',
  },
  second_node_silent: {
    means: 'for 3 minutes no second node has confirmed the solid blocks: deposits wait',
    act:
      'Look at the nodes; with two of them, the second must answer on its solid side too, ' +
      'receipts included',
  },
  internal_transfers_hidden: {
    means:
      'a node does not show what contracts send, or an address holds more than was seen to ' +
      'come',
    act:
      'Set `vm.saveInternalTx`, or use another node. What was missed was credited to nobody: ' +
      'look the address up elsewhere, correct the account, and end the alert: [C13](books.md)',
  },
  reader_behind: {
    means: 'a reader of blocks is more than 200 solid blocks behind',
    act: 'It catches up after a long stop; otherwise its step fails: the log says why',
  },
  order_waits: {
    means: 'an order is open for more than 5 minutes. After 10 it is given back',
    act:
      '`penstock-admin orders list --open`, then `penstock-admin orders show ORDER`: no room ' +
      'in the pool, an activation under way, or an attempt that waits',
  },
  order_owed: {
    means:
      'a fork took back what had been delivered and charged, and it is not delivered again ' +
      'after 5 minutes. It is tried until it works',
    act:
      "`penstock-admin orders show ORDER`: no room in the pool, or the receiver's account is " +
      'gone too (then its owner must activate it again, or you pay back)',
  },
  attempt_unsigned: {
    means: 'a transaction waits for its signature for more than a minute',
    act: 'Signing is refused: the wallets file lacks the wallet, or the log names the limit',
  },
  signing_stopped: {
    means:
      'an operator, or a file on a machine, stopped signing: nothing is delivered or taken ' +
      'back',
    act: '`penstock-admin signer status` says who, when and why; `penstock-admin signer go`',
  },
  signing_refused: {
    means:
      'within a day the signer refused a transaction that an attempt asked for: no order, ' +
      'delegation or deposit wants it, or it is above a limit',
    act:
      'Think of a thief first: `penstock-admin signer status` has the reasons. See [The ' +
      'signer](signer.md)',
  },
  wallet_key_wide: {
    means:
      'a hot key can do more than its line says, or less; when more, nothing is signed for ' +
      'its wallet',
    act: '`penstock-admin wallets check`, then `wallets permit` or `wallets forbid`',
  },
  wallet_key_unchecked: {
    means: 'no worker has looked at the hot keys for 3 hours',
    act: 'No worker runs, or no node answers: the log says why (`step_failed`, `check_wallets`)',
  },
  price_floor_refused: {
    means:
      'a rule of prices asks for a floor that is ten times a price or more, so that it is not ' +
      'put in force: what is sold may cost more than it brings',
    act:
      '`penstock-admin pool costs` says what it costs. If that is so, set higher prices (see ' +
      '[prices.md](prices.md)), else find out what was paid for; the rule looks again within ' +
      'ten minutes',
  },
  letters_late: {
    means: 'a letter to somebody who signs up has not gone out for ten minutes',
    act:
      '`penstock-admin sign-ups list` has the reason. The mail server is down, or refuses the ' +
      'login of `PENSTOCK_SMTP_URL` or the sender of `PENSTOCK_LETTERS_FROM`; without a reason ' +
      'no worker runs that may send',
  },
  attempt_unknown: {
    means:
      'it is not known whether a block has a transaction that ran out 5 minutes ago. Its ' +
      'money stays held, and nothing is sent in its place',
    act:
      'A configured node does not answer or is behind. Never send such a transaction again by ' +
      'hand: `penstock-admin attempts show ATTEMPT` has its id, look that up elsewhere',
  },
  delegation_overdue: {
    means: 'an hour was over 10 minutes ago and the stake is not back',
    act:
      '`penstock-admin delegations list --overdue`; has the pool wallet bandwidth, or TRX to ' +
      'burn for it, and is it still in the wallets file?',
  },
  books_broken: {
    means: 'a scheduled check of the books found something that no operator has accepted',
    act:
      'See [The books](books.md); everything is off sale, and no refund and no activation is ' +
      'signed, until you have put it on again (`services on --all`)',
  },
  books_unchecked: {
    means: 'the scheduled check of the books is half an hour late',
    act: 'No worker runs, or the check fails: the log says why (`step_failed`, `watch_books`)',
  },
  journal_behind: {
    means: 'entries older than an hour are not sealed',
    act:
      'No worker runs, or a transaction on the ledger was left open: look at ' +
      '`pg_stat_activity`',
  },
  deposit_held: {
    means: 'money arrived that nothing could be done with, and you have not decided about it',
    act:
      '[Held money](held_money.md): `penstock-admin deposits list --state held`, then ' +
      '`deposits resolve`',
  },
  deposit_waits: {
    means:
      'a recharge or a refund is on its way for more than 10 minutes, or a deposit waits to be ' +
      'screened for so long, where the policy holds money of high risk',
    act:
      "`penstock-admin deposits show TX_ID`: its order, or the refund's transaction, waits; or " +
      'the index is behind or missing, or the log has failures of the step `screen_deposits`',
  },
  freezes_not_asked: {
    means:
      "no node has said whether a token's issuer froze an address before the first block " +
      'that was followed; answers say so, and deposits are credited as if it had not',
    act:
      'Look at the nodes: they must answer `triggerconstantcontract` on the solid side. It is ' +
      'over when one has answered, or ten minutes after the last address that was not asked ' +
      'about',
  },
  lists_none: {
    means:
      'checks were answered within a day, and no list of labels is loaded: nothing is known ' +
      'of who addresses belong to, and no sanctioned address is recognised',
    act: '`penstock-admin lists update ofac_sdn`, then `lists schedule ofac_sdn --hours 24`',
  },
  list_old: {
    means:
      'a list was not read for twice the hours of its schedule, or an official one without a ' +
      'schedule for seven days',
    act:
      '`penstock-admin lists list`; load it (`lists update`, `lists import`) or give it a ' +
      'schedule. Reading it ends the alert, also when it says what it said before',
  },
  list_failing: {
    means:
      'a list with a schedule could not be loaded from its publisher; the version before ' +
      'stays in force, and it is tried again every ten minutes',
    act:
      "The alert has the publisher's answer, or what is wrong with the file. Has the address " +
      'changed (`lists schedule LIST --url URL`), or has the list lost more than half of its ' +
      'entries, or of those that bar (`lists update LIST --shrink`, when that is right)?',
  },
  index_behind: {
    means:
      'the index of a process lacks more than 20 blocks of the log: a minute of the chain, ' +
      'which checks wait for; or one that started more than a minute ago has none yet',
    act:
      '`penstock-admin aml index`. After a start it reads its checkpoint first. Else: is the ' +
      'machine out of processor or memory, or is the log full of failures of the step ' +
      '`index`?',
  },
  index_missing: {
    means:
      'every worker has `--index none`, and no process with `--role index` runs: checks fail ' +
      'after ten minutes and cost nothing, and deposits wait where the policy holds money of ' +
      'high risk. All else goes on',
    act: 'Start a process with `--role index`, or a worker without `--index none`',
  },
  sent_old: {
    means:
      'no worker has been through with the nightly reading, of where addresses sent, for two ' +
      'days. Answers go by the last one, and their evidence says as of when',
    act:
      'Is the index behind (`index_behind`), or is the log full of failures of the step ' +
      '`read_sent`?',
  },
  archive_behind: {
    means:
      'nothing was copied to ClickHouse for an hour, though blocks wait, or copies are not found ' +
      'there for two hours, and are put there again and again. The database grows; everything ' +
      'else goes on, but for checks that need transfers that are there',
    act:
      'Does ClickHouse answer, has it room, and does the worker have `PENSTOCK_CLICKHOUSE_URL`? ' +
      'The log has failures of the step `archive_transfers`',
  },
  checks_failing: {
    means:
      'more than one in twenty checks that ended within ten minutes failed though they could ' +
      'have been answered: the index was behind, time ran out, or a provider failed. Checks ' +
      'of transactions that do not exist do not count',
    act:
      '`penstock-admin aml days` counts them, `aml show CHECK` has the reason of one; see ' +
      '`index_behind` and `provider_down`',
  },
  review_waits: {
    means: 'answers whose level is high have waited for a decision for more than a day',
    act: '`penstock-admin aml reviews list --state open`, then `aml reviews decide`',
  },
  cases_late: {
    means: 'cases were due more than an hour ago and are not closed',
    act:
      '`penstock-admin aml cases list`, then decide them, hand them over (`aml cases assign`), ' +
      'or say until when they wait (`aml cases wait`)',
  },
  provider_down: {
    means:
      'an outside provider was asked within ten minutes, failed three times or more and ' +
      'answered nothing',
    act:
      '`penstock-admin aml providers` has its last error: is its key still good, is what was ' +
      'paid for used up? A policy can do without it: `aml publish`',
  },
  webhooks_failing: {
    means:
      'webhooks have failed for an hour, or were disabled within a day: they answered 410, or ' +
      'nothing but errors for five days. Their owners are told as well',
    act:
      '`penstock-admin webhooks list --state disabled`, `penstock-admin webhooks show ' +
      'WEBHOOK`, `penstock-admin notices list CUSTOMER --webhook WEBHOOK`: is it the ' +
      'receiver, or our way out?',
  },
  safety_loosened: {
    means:
      'a process runs with a setting that allows what is refused otherwise ' +
      '(`PENSTOCK_ALLOW_…`), or acts on direct recharges before they are solid ' +
      '(`PENSTOCK_RECHARGE_AT=inclusion`)',
    act:
      'Mend what made you set it, and take it away. It goes 5 minutes after the last such ' +
      'process',
  },
  wallet_cannot_pay: {
    means:
      'a pool wallet can pay for fewer than 200 more transactions. With fewer than 20 it ' +
      'sells nothing',
    act: 'Send it TRX to burn, or stake for bandwidth in it and sell less bandwidth',
  },
  pool_low: {
    means: 'less is free than the smallest amount that is sold',
    act:
      'Stake more, wait (what comes back within the hour is free at once unless it was used, ' +
      'and then over a day: `penstock-admin pool forecast`), or take the resource off sale',
  },
}
