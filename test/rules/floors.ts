/** The rooms of the service from the ground up; rooms of one floor do not know each other. The
 *  files directly in src/ are the roof. */
const FLOORS = [
  ['lib', 'flow'],
  ['database', 'node', 'wire', 'limits', 'providers', 'postgres'],
  ['steps', 'signing', 'http', 'backups', 'reads', 'names'],
  ['ledger', 'chain', 'labels', 'wallets', 'web'],
  ['events', 'receivers'],
  ['pool', 'customers', 'tracing', 'prices', 'webhooks', 'settings'],
  ['market', 'screening', 'keys', 'statements', 'invoices'],
  [
    'treasury',
    'deposits',
    'subscriptions',
    'checks',
    'reports',
    'transactions',
    'refusals',
    'pairing',
    'quotes',
    'receipts',
    'users',
  ],
  ['audit', 'sign_in', 'uptime'],
  ['monitoring', 'portal', 'status'],
  ['processes'],
  ['operation'],
  ['operators'],
  ['aml_operators', 'money_operators', 'user_operators', 'page_operators', 'database_operators'],
  ['program'],
  ['commands'],
  ['console'],
]
const ROOF = FLOORS.length

/** The floor and the room of a file of the service. */
export function floorOf(path: string): { floor: number; room: string } {
  const [, , , room = '', file] = path.split('/')
  if (file === undefined) return { floor: ROOF, room: '' }
  return { floor: FLOORS.findIndex((rooms) => rooms.includes(room)), room }
}
