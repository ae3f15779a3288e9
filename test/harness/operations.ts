// Calls of the operators' operations, on a world where each finds something: of all that need no
// file, index or node of their own.

import { signingTerms } from 'penstock-service/chain/wallets/signing_terms.ts'
import { insertLoss } from 'penstock-service/health/monitoring/database_losses.ts'
import { watchAlertsStep } from 'penstock-service/health/monitoring/watch_alerts.ts'
import { insertWorker } from './process_rows.ts'
import { sender, subscribe, wanted } from './subscribers.ts'
import type { World } from './world.ts'

export type OperationRunner = {
  /** Runs what is typed, whatever it comes to. */
  run(words: readonly string[]): Promise<void>
  /** The answer of what succeeds, as JSON. */
  ask<Value>(...words: string[]): Promise<Value>
}

/** Runs them in an order in which each has something to do. Returns what was typed. */
export async function runMostOperations(
  world: World,
  { run: runOne, ask }: OperationRunner,
): Promise<readonly (readonly string[])[]> {
  const { address } = world.person('bob', 1)
  const anna = await world.customer({ trx: 500 })
  const order = await anna.buyEnergy(address, 65_000)
  const supplied = sender(world)
  const { id: subscription } = await subscribe(world, anna, wanted(supplied.address))
  await world.settle()
  await world.solidify()
  const [attempt] = await ask<{ id: string }[]>('attempts', 'list')
  const [deposit] = await ask<{ tx_id: string }[]>('deposits', 'list', '--customer', anna.id)
  const { wallets } = await ask<{ wallets: { address: string }[] }>('pool', 'show')
  const { id: entry } = await ask<{ id: string }>('aml', 'deny', address, 'a thief')
  const { key_id: key } = await ask<{ key_id: string }>('keys', 'issue', anna.id)
  await ask('webhooks', 'allow', 'house', '10.1.0.0/16')
  const { id: house } = await ask<{ id: string }>('webhooks', 'add', 'http://10.1.0.1/hook')
  const post = ['incidents', 'post', 'Slow', 'A node is away.', '--part', 'delivering']
  const { id: incident } = await ask<{ id: string }>(...post)
  const { id: user } = await ask<{ id: string }>('users', 'invite', anna.id, 'Anna')
  const { id: olga } = await ask<{ id: string }>('operators', 'invite', 'Olga')
  await ask('users', 'recover', user)
  await ask('operators', 'recover', olga)
  const lost = { process_id: 'p', host: 'h', role: 'api', beat: 2n, beat_found: 1n }
  await insertLoss(world.sql, { ...lost, found_at: new Date(0), missing: [`order:${order.id}`] })
  await ask('signer', 'stop')
  await watchAlertsStep({ sql: world.sql, clock: { now: () => world.now } }).run()
  await insertWorker(world.sql, { signing: signingTerms(world.wallets, undefined) })
  const reason = ['--reason', 'a test']
  const opening = ['aml', 'cases', 'open', address, '--customer', anna.id, ...reason]
  const { id: opened } = await ask<{ id: string }>(...opening)
  const of_case = (verb: string, ...more: string[]) => ['aml', 'cases', verb, opened, ...more]
  const run: string[][] = [
    ['find', address],
    ...[
      'status',
      'figures show',
      'figures history --last 2',
      'figures history --last 2 --days',
      'earnings list',
      'alerts list',
      'processes list',
      'nodes requests',
      'retention list',
      'steps list',
      'actions list',
      'actions prove',
      'customers list',
      'customers activity',
      'sign-ups list',
      'orders list',
      'orders list --service energy',
      'delegations list',
    ].map(split),
    ...[
      'treasury show',
      'treasury list',
      'votes show',
      'subscriptions list',
      'pool show',
      'pool forecast',
      'pool costs',
      'pool capital 7.5',
      'chain show',
      'signer status',
    ].map(split),
    ...[
      'lists list',
      'lists show operator',
      'lists diff 0',
      'aml status',
      'aml entries',
      'aml deposits',
    ].map(split),
    ...[
      'aml reviews list',
      'aml policy',
      'aml policies',
      'aml days',
      'aml watches',
      'aml providers',
      'aml index',
      'aml keep-counterparties',
      `aml counterparties ${address}`,
      'aml forget-counterparties',
      'archive show',
      'archive end',
      'aml changes --since 2026-01-01',
      'books findings',
      'books roots',
    ].map(split),
    ...[
      'prices list',
      'prices preview energy 32000-130999=0.05',
      'prices set energy 32000-130999=0.05',
      'prices history',
    ].map(split),
    ...['prices remove energy 32000-130999', 'fees list', 'fees history'].map(split),
    ...['fees set aml_hash 1.6', 'plans list', 'plans set unlimited_energy --price 3'].map(split),
    ...['plans history', 'plans remove energy_pack_100', 'services list'].map(split),
    ...['price-rules show', 'price-rules preview energy 80=10 --margin 20'].map(split),
    ...['price-rules set energy 80=10 --margin 20', 'price-rules show'].map(split),
    ...['services off energy', 'services on --all', 'services history'].map(split),
    ...[
      'offers show',
      'offers set --quote-seconds 120',
      'alerts seen signing_stopped',
      'signer stop',
      'signer go',
      'lists make court --kind authority --reader table --title Court --licence own',
      'lists schedule operator --off',
      'keys reseal',
      'receipts rotate',
    ].map(split),
    ['customers', 'show', anna.id],
    ['customers', 'suspend', anna.id],
    ['customers', 'resume', anna.id],
    ['customers', 'statement', anna.id],
    ['customers', 'note', anna.id, 'pays by the month'],
    ['customers', 'notes', anna.id],
    ['customers', 'activity', '--customer', anna.id],
    ['customers', 'export', anna.id],
    ['customers', 'limits', anna.id, '--subscriptions', '7'],
    ['keys', 'rotate', key, '--overlap-hours', '1'],
    ['aml', 'allow', address, 'a friend', '--customer', anna.id],
    ['approvals', 'set', 'name', '--from', '4'],
    ['customers', 'credit', anna.id, '1', ...reason],
    ['customers', 'debit', anna.id, '1', ...reason],
    ['customers', 'corrections', anna.id],
    ['customers', 'credit', anna.id, '2', '--id', 'ticket 1', ...reason],
    ['approvals', 'list', '--open'],
    ['approvals', 'give', 'ticket 1', '--by', 'bea'],
    ['approvals', 'show'],
    ['approvals', 'operations'],
    ['invoices', 'list', '--month', '2026-10'],
    ['accounts', 'show', '2026-05'],
    ['accounts', 'export', '--month', '2026-05'],
    ['invoices', 'reissue', '--dry-run', ...reason],
    ['keys', 'list', anna.id],
    ['keys', 'change', key, '--name', 'shop'],
    ['keys', 'revoke', key],
    ['orders', 'show', order.id],
    ['deposits', 'show', deposit!.tx_id],
    ['deposits', 'recount', anna.deposit_address, ...reason],
    ['attempts', 'show', attempt!.id],
    ['subscriptions', 'show', subscription],
    ['subscriptions', 'stop', subscription],
    ['aml', 'revoke-deposit', address, 'a person'],
    ['aml', 'withdraw', entry],
    ['aml', 'watch', anna.id, address],
    ['aml', 'unwatch', anna.id, address],
    ['aml', 'cases', 'list', '--state', 'open'],
    of_case('add', '--deposit', deposit!.tx_id),
    of_case('note', 'It is a shop.'),
    of_case('set', '--priority', 'urgent', '--report', 'FIU 17'),
    of_case('assign', 'bob', ...reason),
    of_case('wait', '2026-12-24', ...reason),
    of_case('escalate', ...reason),
    of_case('assign', 'bea', ...reason),
    of_case('show'),
    of_case('close', 'reported', '--by', 'bea', ...reason),
    of_case('reopen', ...reason),
    ['wallets', 'show', wallets[0]!.address],
    ['books', 'check'],
    ['database', 'losses'],
    ['database', 'accept', ...reason],
    ['webhooks', 'list', '--customer', 'house'],
    ['webhooks', 'show', house],
    ['webhooks', 'rotate', house],
    ['webhooks', 'disable', house, ...reason],
    ['webhooks', 'enable', house, '--from-now'],
    ['webhooks', 'remove', house],
    ['webhooks', 'networks', 'house'],
    ['webhooks', 'deny', 'house', '10.1.0.0/16'],
    ['notices', 'list', 'house'],
    ['events', 'show'],
    ['events', 'set', '--order-created', 'untold'],
    ['events', 'list', anna.id],
    ['incidents', 'list'],
    ['incidents', 'update', incident, 'The node is away; another one is asked.'],
    ['incidents', 'close', incident, 'it was the node'],
    ['status-page', 'show'],
    ['status-page', 'set', '--pool', 'hidden'],
    ['brand', 'show'],
    ['brand', 'set', '--name', 'Example Energy', '--accent', '#cc8800'],
    ['users', 'list', anna.id],
    ['users', 'change', user, '--role', 'reader'],
    ['users', 'remove', user],
    ['operators', 'list'],
    ['operators', 'change', olga, '--name', 'Olga B'],
    ['operators', 'remove', olga],
    ['sessions', 'list', '--customer', anna.id],
    ['customers', 'close', anna.id],
  ]
  for (const words of run) await runOne(words)
  return run
}

const split = (line: string) => line.split(' ')
