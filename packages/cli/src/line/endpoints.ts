// Printed by `npm run print` from the endpoints of the service; a test says that
// it is fresh.

/** The option for a field of a body. */
export type Field = {
  /** Where it is in the body: `params.address`. */
  readonly name: string
  /** `list`: several words, with commas between; `lines`: several texts. */
  readonly type: 'text' | 'whole' | 'number' | 'yes' | 'list' | 'lines' | 'number or word'
  readonly words?: readonly string[]
  /** The value when it is typed without one. */
  readonly bare?: string
  readonly help: string
  readonly needed: boolean
}

export type EndpointFields = {
  readonly summary: string
  /** It changes something. */
  readonly changes: boolean
  readonly fields: readonly Field[]
}

export const ENDPOINTS: { readonly [path: string]: EndpointFields } = {
  '/v1/services': {
    summary: "Services on sale and their prices",
    changes: false,
    fields: [],
  },
  '/v1/calculate': {
    summary: "What a purchase would cost",
    changes: false,
    fields: [
      {
        name: 'type',
        type: 'text',
        words: ['energy', 'bandwidth'],
        help: "`energy` when left out",
        needed: false,
      },
      {
        name: 'address',
        type: 'text',
        help: "Who would receive it",
        needed: true,
      },
      {
        name: 'duration',
        type: 'whole',
        help: "Hours; only 1",
        needed: true,
      },
      {
        name: 'amount',
        type: 'whole',
        help: "How much energy or bandwidth; required",
        needed: false,
      },
    ],
  },
  '/v1/estimate-energy': {
    summary: "The energy that a transfer of a token needs, and its price",
    changes: false,
    fields: [
      {
        name: 'from_address',
        type: 'text',
        help: "Who sends the tokens",
        needed: true,
      },
      {
        name: 'to_address',
        type: 'text',
        help: "Who receives them",
        needed: true,
      },
      {
        name: 'contract_address',
        type: 'text',
        help: "The token's contract; USDT (TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t) when left out",
        needed: false,
      },
    ],
  },
  '/v1/address-info': {
    summary: "The resources and balances of an address",
    changes: false,
    fields: [
      {
        name: 'address',
        type: 'text',
        help: "",
        needed: true,
      },
    ],
  },
  '/v1/transaction/new': {
    summary: "Buy energy, bandwidth, both, or the activation of an address",
    changes: true,
    fields: [
      {
        name: 'service',
        type: 'text',
        words: ['energy', 'bandwidth', 'resource_bundle', 'activate_address'],
        help: "",
        needed: true,
      },
      {
        name: 'params.address',
        type: 'text',
        help: "Who receives it",
        needed: true,
      },
      {
        name: 'params.duration',
        type: 'whole',
        help: "Hours; only 1. Required except for activate_address",
        needed: false,
      },
      {
        name: 'params.amounts.energy',
        type: 'whole',
        help: "",
        needed: false,
      },
      {
        name: 'params.amounts.bandwidth',
        type: 'whole',
        help: "",
        needed: false,
      },
      {
        name: 'params.amount',
        type: 'whole',
        help: "For energy and bandwidth, instead of amounts",
        needed: false,
      },
      {
        name: 'params.activate_address',
        type: 'yes',
        help: "Activate the address too, if it is not active",
        needed: false,
      },
      {
        name: 'external_id',
        type: 'text',
        help:
          "The caller's own id: the same id again, with the same meaning, returns the same " +
          "transaction",
        needed: false,
      },
    ],
  },
  '/v1/transaction/check': {
    summary: "The state of a purchase",
    changes: false,
    fields: [
      {
        name: 'id',
        type: 'text',
        help: "",
        needed: false,
      },
      {
        name: 'external_id',
        type: 'text',
        help: "Beside id, or instead of it; when both are given, both must match",
        needed: false,
      },
    ],
  },
  '/v1/subscriptions': {
    summary: "The plans on sale, by their keys; none while subscriptions are off sale",
    changes: false,
    fields: [],
  },
  '/v1/subscription/start': {
    summary: "Keep an address supplied with energy",
    changes: true,
    fields: [
      {
        name: 'subscription_id',
        type: 'text',
        help: "The key of the plan",
        needed: true,
      },
      {
        name: 'params.address',
        type: 'text',
        help: "Who is kept supplied",
        needed: true,
      },
      {
        name: 'params.duration',
        type: 'whole',
        help: "Days; 0: as the plan says",
        needed: false,
      },
      {
        name: 'params.transactions_limit',
        type: 'whole',
        help: "0: as the plan says",
        needed: false,
      },
      {
        name: 'params.activate_address',
        type: 'yes',
        help: "Activate the address too, if it is not active",
        needed: false,
      },
      {
        name: 'external_id',
        type: 'text',
        help: "",
        needed: false,
      },
    ],
  },
  '/v1/subscription/check': {
    summary: "The state of a subscription",
    changes: false,
    fields: [
      {
        name: 'id',
        type: 'text',
        help: "",
        needed: false,
      },
      {
        name: 'external_id',
        type: 'text',
        help: "Beside id, or instead of it; when both are given, both must match",
        needed: false,
      },
    ],
  },
  '/v1/subscription/stop': {
    summary: "Stop a subscription that has no limit of transactions, also before it is active",
    changes: true,
    fields: [
      {
        name: 'id',
        type: 'text',
        help: "",
        needed: false,
      },
      {
        name: 'external_id',
        type: 'text',
        help: "Beside id, or instead of it; when both are given, both must match",
        needed: false,
      },
    ],
  },
  '/v1/subscriptions/history': {
    summary: "The customer's subscriptions, newest first",
    changes: false,
    fields: [
      {
        name: 'page',
        type: 'whole',
        help: "",
        needed: false,
      },
      {
        name: 'per_page',
        type: 'whole',
        help: "",
        needed: false,
      },
      {
        name: 'status',
        type: 'text',
        words: ['new', 'pending', 'error', 'active', 'stopped', 'expired'],
        help: "",
        needed: false,
      },
    ],
  },
  '/v1/transactions/list': {
    summary: "Your purchases, newest first",
    changes: false,
    fields: [
      {
        name: 'status',
        type: 'text',
        words: ['new', 'pending', 'success', 'failed'],
        help: "",
        needed: false,
      },
      {
        name: 'service',
        type: 'text',
        words: ['energy', 'bandwidth', 'resource_bundle', 'activate_address'],
        help: "",
        needed: false,
      },
      {
        name: 'address',
        type: 'text',
        help: "The receiver",
        needed: false,
      },
      {
        name: 'external_id_prefix',
        type: 'text',
        help: "",
        needed: false,
      },
      {
        name: 'key_id',
        type: 'text',
        help: "Bought with this key, if it has a daily cap: only then that is noted",
        needed: false,
      },
      {
        name: 'since',
        type: 'text',
        help: "Placed from then on: a day in UTC, or `2026-11-01T12:00:00Z`",
        needed: false,
      },
      {
        name: 'until',
        type: 'text',
        help: "Placed before then: a day in UTC, or `2026-11-01T12:00:00Z`",
        needed: false,
      },
      {
        name: 'limit',
        type: 'whole',
        help: "1 to 100; 25 when left out",
        needed: false,
      },
      {
        name: 'before',
        type: 'text',
        help: "`next` of the page before",
        needed: false,
      },
    ],
  },
  '/v1/transaction/timeline': {
    summary: "What became of a purchase, step by step, and what it waits for",
    changes: false,
    fields: [
      {
        name: 'id',
        type: 'text',
        help: "",
        needed: false,
      },
      {
        name: 'external_id',
        type: 'text',
        help: "Beside id, or instead of it; both must match",
        needed: false,
      },
    ],
  },
  '/v1/subscription/uses': {
    summary: "The transactions that a subscription has served, newest first",
    changes: false,
    fields: [
      {
        name: 'id',
        type: 'text',
        help: "",
        needed: false,
      },
      {
        name: 'external_id',
        type: 'text',
        help: "Beside id, or instead of it; when both are given, both must match",
        needed: false,
      },
      {
        name: 'limit',
        type: 'whole',
        help: "1 to 100; 25 when left out",
        needed: false,
      },
      {
        name: 'before',
        type: 'text',
        help: "`next` of the page before",
        needed: false,
      },
    ],
  },
  '/v1/prices/history': {
    summary: "What things cost, and have cost, newest first",
    changes: false,
    fields: [
      {
        name: 'resource',
        type: 'text',
        words: ['energy', 'bandwidth'],
        help: "Both, and the flat prices, when left out",
        needed: false,
      },
      {
        name: 'since',
        type: 'text',
        help: "Prices that were in force then or later: a day in UTC, or `2026-11-01T12:00:00Z`",
        needed: false,
      },
    ],
  },
  '/v1/quote/new': {
    summary: "A price that binds us for a while",
    changes: true,
    fields: [
      {
        name: 'service',
        type: 'text',
        words: ['energy', 'bandwidth', 'resource_bundle', 'activate_address'],
        help: "",
        needed: false,
      },
      {
        name: 'params.address',
        type: 'text',
        help: "Who receives it",
        needed: false,
      },
      {
        name: 'params.duration',
        type: 'whole',
        help: "Hours; only 1. Required except for activate_address",
        needed: false,
      },
      {
        name: 'params.amounts.energy',
        type: 'whole',
        help: "",
        needed: false,
      },
      {
        name: 'params.amounts.bandwidth',
        type: 'whole',
        help: "",
        needed: false,
      },
      {
        name: 'params.amount',
        type: 'whole',
        help: "For energy and bandwidth, instead of amounts",
        needed: false,
      },
      {
        name: 'params.activate_address',
        type: 'yes',
        help: "Activate the address too, if it is not active",
        needed: false,
      },
      {
        name: 'transfer.from',
        type: 'text',
        help: "Who sends the tokens, and gets the energy",
        needed: false,
      },
      {
        name: 'transfer.to',
        type: 'text',
        help: "Who receives them",
        needed: false,
      },
      {
        name: 'transfer.contract',
        type: 'text',
        help: "The token's contract; USDT when left out",
        needed: false,
      },
      {
        name: 'seconds',
        type: 'whole',
        help: "For how long; 60 when left out",
        needed: false,
      },
    ],
  },
  '/v1/quote/accept': {
    summary: "Buys what was quoted, for no more than that; twice: the same transaction",
    changes: true,
    fields: [
      {
        name: 'id',
        type: 'text',
        help: "Of the quote",
        needed: true,
      },
      {
        name: 'external_id',
        type: 'text',
        help:
          "The caller's own id: the same id again, with the same meaning, returns the same " +
          "transaction",
        needed: false,
      },
    ],
  },
  '/v1/pool-forecast': {
    summary: "What can be delivered now and in the coming hours, if nothing more is sold",
    changes: false,
    fields: [
      {
        name: 'resource',
        type: 'text',
        words: ['energy', 'bandwidth'],
        help: "",
        needed: true,
      },
      {
        name: 'hours',
        type: 'whole',
        help: "",
        needed: true,
      },
    ],
  },
  '/v1/receipt': {
    summary: "What an order got on the chain, signed",
    changes: false,
    fields: [
      {
        name: 'id',
        type: 'text',
        help: "",
        needed: false,
      },
      {
        name: 'external_id',
        type: 'text',
        help: "Beside id, or instead of it; both must match",
        needed: false,
      },
    ],
  },
  '/v1/balance': {
    summary: "What can be spent, and where to send more",
    changes: false,
    fields: [],
  },
  '/v1/direct-recharge-info': {
    summary: "The address to which anybody may send TRX for energy, and the rates",
    changes: false,
    fields: [],
  },
  '/v1/deposits/list': {
    summary: "What arrived at your address, newest first",
    changes: false,
    fields: [
      {
        name: 'state',
        type: 'text',
        words: ['seen', 'unproven', 'credited', 'held', 'ignored', 'resolved', 'gone'],
        help: "",
        needed: false,
      },
      {
        name: 'since',
        type: 'text',
        help: "Of blocks from then on: a day in UTC, or `2026-11-01T12:00:00Z`",
        needed: false,
      },
      {
        name: 'until',
        type: 'text',
        help: "Of blocks before: a day in UTC, or `2026-11-01T12:00:00Z`",
        needed: false,
      },
      {
        name: 'limit',
        type: 'whole',
        help: "1 to 100; 25 when left out",
        needed: false,
      },
      {
        name: 'before',
        type: 'text',
        help: "`next` of the page before",
        needed: false,
      },
    ],
  },
  '/v1/deposit/check': {
    summary: "What a transaction on the chain brought to your address",
    changes: false,
    fields: [
      {
        name: 'tx_id',
        type: 'text',
        help: "",
        needed: true,
      },
    ],
  },
  '/v1/invoices/list': {
    summary: "Your invoices and credit notes, newest first",
    changes: false,
    fields: [
      {
        name: 'month',
        type: 'text',
        help: "That of what was charged, like `2026-10` (UTC)",
        needed: false,
      },
      {
        name: 'limit',
        type: 'whole',
        help: "1 to 100; 25 when left out",
        needed: false,
      },
      {
        name: 'before',
        type: 'text',
        help: "`next` of the page before",
        needed: false,
      },
    ],
  },
  '/v1/invoice/check': {
    summary: "An invoice or a credit note, line by line",
    changes: false,
    fields: [
      {
        name: 'number',
        type: 'whole',
        help: "",
        needed: true,
      },
    ],
  },
  '/v1/aml-checks': {
    summary: "Types of checks on sale and their prices",
    changes: false,
    fields: [],
  },
  '/v1/aml-checks/new': {
    summary: "Screen an address, or the other side of a transaction",
    changes: true,
    fields: [
      {
        name: 'type',
        type: 'text',
        words: ['address', 'hash'],
        help: "",
        needed: true,
      },
      {
        name: 'network',
        type: 'text',
        help: "TRX; others when the operator has a provider for them",
        needed: true,
      },
      {
        name: 'address',
        type: 'text',
        help: "What to screen; for a hash check, the recipient in the transaction",
        needed: true,
      },
      {
        name: 'hash',
        type: 'text',
        help: "Needed for a hash check: 64 hexadecimal characters",
        needed: false,
      },
      {
        name: 'direction',
        type: 'text',
        help:
          "For a hash check: deposit (the sender is judged by the money it sent; also when " +
          "absent) or withdrawal (the recipient is)",
        needed: false,
      },
    ],
  },
  '/v1/aml-checks/check': {
    summary: "The state and the result of a check",
    changes: false,
    fields: [
      {
        name: 'id',
        type: 'text',
        help: "",
        needed: true,
      },
    ],
  },
  '/v1/aml-checks/history': {
    summary: "The customer's checks, newest first",
    changes: false,
    fields: [
      {
        name: 'page',
        type: 'whole',
        help: "",
        needed: false,
      },
      {
        name: 'per_page',
        type: 'whole',
        help: "",
        needed: false,
      },
      {
        name: 'status',
        type: 'text',
        words: ['pending', 'processing', 'completed', 'failed'],
        help: "",
        needed: false,
      },
    ],
  },
  '/v1/aml-check/report': {
    summary: "What the result of a check rests on",
    changes: false,
    fields: [
      {
        name: 'id',
        type: 'text',
        help: "",
        needed: true,
      },
    ],
  },
  '/v1/aml-watches/list': {
    summary: "The addresses that are screened again whenever what is known changes",
    changes: false,
    fields: [
      {
        name: 'address',
        type: 'text',
        help: "",
        needed: false,
      },
      {
        name: 'level',
        type: 'text',
        words: ['low', 'medium', 'high'],
        help: "Of the newest check",
        needed: false,
      },
      {
        name: 'limit',
        type: 'whole',
        help: "1 to 100; 25 when left out",
        needed: false,
      },
      {
        name: 'before',
        type: 'text',
        help: "`next` of the page before",
        needed: false,
      },
    ],
  },
  '/v1/aml-watch/new': {
    summary: "Watch an address: it is screened now, and again whenever what is known changes",
    changes: true,
    fields: [
      {
        name: 'address',
        type: 'text',
        help: "",
        needed: true,
      },
      {
        name: 'reference',
        type: 'text',
        help: "What you call it",
        needed: false,
      },
      {
        name: 'rules.any_incoming_usd',
        type: 'whole',
        help: "A transfer to it of so many dollars or more",
        needed: false,
      },
      {
        name: 'rules.severe_share_bp',
        type: 'whole',
        help: "What it received of severe categories, in hundredths of a percent of all",
        needed: false,
      },
      {
        name: 'rules.severe_usd',
        type: 'whole',
        help: "The same in dollars",
        needed: false,
      },
      {
        name: 'rules.sent_to',
        type: 'yes',
        help: "It sent money to a severe category, or to who is barred",
        needed: false,
      },
    ],
  },
  '/v1/aml-watch/remove': {
    summary: "Watch an address no longer; its checks stay",
    changes: true,
    fields: [
      {
        name: 'address',
        type: 'text',
        help: "",
        needed: true,
      },
    ],
  },
  '/v1/statement': {
    summary: "Every entry of your account, newest first",
    changes: false,
    fields: [
      {
        name: 'since',
        type: 'text',
        help: "Entries from then on: a day in UTC, or `2026-11-01T12:00:00Z`",
        needed: false,
      },
      {
        name: 'until',
        type: 'text',
        help: "Entries before then: a day in UTC, or `2026-11-01T12:00:00Z`",
        needed: false,
      },
      {
        name: 'limit',
        type: 'whole',
        help: "1 to 1000; 25 when left out",
        needed: false,
      },
      {
        name: 'before',
        type: 'text',
        help: "`next` of the page before",
        needed: false,
      },
    ],
  },
  '/v1/summary': {
    summary: "What happened on your account, hour by hour or day by day",
    changes: false,
    fields: [
      {
        name: 'since',
        type: 'text',
        help:
          "The first hour or day is the one that this is in; 30 days ago: a day in UTC, or " +
          "`2026-11-01T12:00:00Z`",
        needed: false,
      },
      {
        name: 'until',
        type: 'text',
        help: "Hours or days that begin before then; now: a day in UTC, or `2026-11-01T12:00:00Z`",
        needed: false,
      },
      {
        name: 'bucket',
        type: 'text',
        words: ['hour', 'day'],
        help: "`day` when left out: 400 days at most; `hour`: 31 days at most",
        needed: false,
      },
    ],
  },
  '/v1/whoami': {
    summary: "Whose key this is, what it may do, and who answers",
    changes: false,
    fields: [],
  },
  '/v1/settings': {
    summary: "What you have set for yourself",
    changes: false,
    fields: [],
  },
  '/v1/settings/change': {
    summary: "Set what is given, and leave the rest as it is",
    changes: true,
    fields: [
      {
        name: 'ending_minutes',
        type: 'whole',
        help: "1 to 55; 0: never",
        needed: false,
      },
      {
        name: 'billing',
        type: 'lines',
        help: "At most 8 lines of 100 characters; `[]`: none",
        needed: false,
      },
      {
        name: 'balance_low',
        type: 'number',
        help: "TRX; 0: never",
        needed: false,
      },
    ],
  },
  '/v1/refusals/list': {
    summary: "What your calls were refused for in the last seven days, newest first",
    changes: false,
    fields: [
      {
        name: 'since',
        type: 'text',
        help: "Refused from then on: a day in UTC, or `2026-11-01T12:00:00Z`",
        needed: false,
      },
      {
        name: 'code',
        type: 'whole',
        help: "",
        needed: false,
      },
      {
        name: 'limit',
        type: 'whole',
        help: "1 to 100; 25 when left out",
        needed: false,
      },
      {
        name: 'before',
        type: 'text',
        help: "`next` of the page before",
        needed: false,
      },
    ],
  },
  '/v1/keys/list': {
    summary: "Your API keys, newest first, revoked ones too",
    changes: false,
    fields: [
      {
        name: 'state',
        type: 'text',
        words: ['active', 'ended', 'revoked'],
        help: "",
        needed: false,
      },
      {
        name: 'limit',
        type: 'whole',
        help: "1 to 100; 25 when left out",
        needed: false,
      },
      {
        name: 'before',
        type: 'text',
        help: "`next` of the page before",
        needed: false,
      },
    ],
  },
  '/v1/key/new': {
    summary: "A new API key, no wider than the one that asks",
    changes: true,
    fields: [
      {
        name: 'name',
        type: 'text',
        help: "What to call it",
        needed: true,
      },
      {
        name: 'scopes',
        type: 'list',
        words: ['read', 'buy', 'aml', 'money', 'webhooks', 'manage'],
        help: "What it may do",
        needed: true,
      },
      {
        name: 'networks',
        type: 'list',
        help: "Where it may be used from: addresses and networks, or `any` alone",
        needed: false,
      },
      {
        name: 'receivers',
        type: 'list',
        help: "The addresses that may receive what it buys, or `any` alone",
        needed: false,
      },
      {
        name: 'daily_cap',
        type: 'number or word',
        help: "The most that it may spend in a day (UTC), in TRX, or `none`",
        needed: false,
      },
      {
        name: 'require_v2',
        type: 'yes',
        help:
          "It refuses requests without the second signature, which the SDK and the command " +
          "line send; clients that know the first alone do not work with it",
        needed: false,
      },
      {
        name: 'require_external_id',
        type: 'yes',
        help:
          "It begins nothing without an `external_id` or an `Idempotency-Key`: what the first " +
          "signature alone leaves open, that a body is sent again, then buys nothing twice",
        needed: false,
      },
      {
        name: 'ends_at',
        type: 'text',
        help: "A time that is still to come, from which on it is refused, or `never`",
        needed: false,
      },
    ],
  },
  '/v1/key/change': {
    summary: "Puts other limits on a key; what is left out stays as it is",
    changes: true,
    fields: [
      {
        name: 'id',
        type: 'text',
        help: "",
        needed: true,
      },
      {
        name: 'name',
        type: 'text',
        help: "What to call it",
        needed: false,
      },
      {
        name: 'scopes',
        type: 'list',
        words: ['read', 'buy', 'aml', 'money', 'webhooks', 'manage'],
        help: "What it may do",
        needed: false,
      },
      {
        name: 'networks',
        type: 'list',
        help: "Where it may be used from: addresses and networks, or `any` alone",
        needed: false,
      },
      {
        name: 'receivers',
        type: 'list',
        help: "The addresses that may receive what it buys, or `any` alone",
        needed: false,
      },
      {
        name: 'daily_cap',
        type: 'number or word',
        help: "The most that it may spend in a day (UTC), in TRX, or `none`",
        needed: false,
      },
      {
        name: 'require_v2',
        type: 'yes',
        help:
          "It refuses requests without the second signature, which the SDK and the command " +
          "line send; clients that know the first alone do not work with it",
        needed: false,
      },
      {
        name: 'require_external_id',
        type: 'yes',
        help:
          "It begins nothing without an `external_id` or an `Idempotency-Key`: what the first " +
          "signature alone leaves open, that a body is sent again, then buys nothing twice",
        needed: false,
      },
      {
        name: 'ends_at',
        type: 'text',
        help: "A time that is still to come, from which on it is refused, or `never`",
        needed: false,
      },
    ],
  },
  '/v1/key/rotate': {
    summary: "A new secret for a key; the one before signs for a while",
    changes: true,
    fields: [
      {
        name: 'id',
        type: 'text',
        help: "",
        needed: true,
      },
      {
        name: 'overlap_hours',
        type: 'whole',
        help: "24 when left out; 0 ends those before at once",
        needed: false,
      },
    ],
  },
  '/v1/key/revoke': {
    summary: "Ends a key for good, whichever of yours: the one that asks, too",
    changes: true,
    fields: [
      {
        name: 'id',
        type: 'text',
        help: "",
        needed: true,
      },
      {
        name: 'keep_subscriptions',
        type: 'yes',
        help: "The subscriptions that it has started go on",
        needed: false,
      },
      {
        name: 'with_made',
        type: 'yes',
        help: "What it has made ends, too, and what that has made",
        needed: false,
      },
    ],
  },
  '/v1/made/check': {
    summary: "What a key or a user has made: keys, users and webhooks, and what those have made",
    changes: false,
    fields: [
      {
        name: 'id',
        type: 'text',
        help: "",
        needed: true,
      },
    ],
  },
  '/v1/pairing/new': {
    summary: "A program asks for a key of its own: a code for the user, a secret for the program",
    changes: true,
    fields: [
      {
        name: 'name',
        type: 'text',
        help: "What the program is called, and where it runs; 1 to 100 characters",
        needed: true,
      },
      {
        name: 'scopes',
        type: 'list',
        words: ['read', 'buy', 'aml', 'money', 'webhooks', 'manage'],
        help: "What the program would like to do; left out: the user chooses",
        needed: false,
      },
    ],
  },
  '/v1/pairing/check': {
    summary: "Which program waits with this code",
    changes: false,
    fields: [
      {
        name: 'code',
        type: 'text',
        help: "What the program shows; blanks, hyphens and small letters make no difference",
        needed: true,
      },
    ],
  },
  '/v1/pairing/approve': {
    summary: "Gives the program that waits with this code a key, no wider than the one that asks",
    changes: true,
    fields: [
      {
        name: 'code',
        type: 'text',
        help: "What the program shows; blanks, hyphens and small letters make no difference",
        needed: true,
      },
      {
        name: 'name',
        type: 'text',
        help: "What to call it",
        needed: false,
      },
      {
        name: 'scopes',
        type: 'list',
        words: ['read', 'buy', 'aml', 'money', 'webhooks', 'manage'],
        help: "What it may do",
        needed: true,
      },
      {
        name: 'networks',
        type: 'list',
        help: "Where it may be used from: addresses and networks, or `any` alone",
        needed: false,
      },
      {
        name: 'receivers',
        type: 'list',
        help: "The addresses that may receive what it buys, or `any` alone",
        needed: false,
      },
      {
        name: 'daily_cap',
        type: 'number or word',
        help: "The most that it may spend in a day (UTC), in TRX, or `none`",
        needed: false,
      },
      {
        name: 'require_v2',
        type: 'yes',
        help:
          "It refuses requests without the second signature, which the SDK and the command " +
          "line send; clients that know the first alone do not work with it",
        needed: false,
      },
      {
        name: 'require_external_id',
        type: 'yes',
        help:
          "It begins nothing without an `external_id` or an `Idempotency-Key`: what the first " +
          "signature alone leaves open, that a body is sent again, then buys nothing twice",
        needed: false,
      },
      {
        name: 'ends_at',
        type: 'text',
        help: "A time that is still to come, from which on it is refused, or `never`",
        needed: false,
      },
    ],
  },
  '/v1/pairing/take': {
    summary: "The key of a program that was approved, once; until then, how it stands",
    changes: true,
    fields: [
      {
        name: 'poll_secret',
        type: 'text',
        help: "",
        needed: true,
      },
    ],
  },
  '/v1/pairing/refuse': {
    summary: "Gives the program that waits with this code no key",
    changes: true,
    fields: [
      {
        name: 'code',
        type: 'text',
        help: "What the program shows; blanks, hyphens and small letters make no difference",
        needed: true,
      },
    ],
  },
  '/v1/users/list': {
    summary: "The people who sign in for you, newest first, removed ones too",
    changes: false,
    fields: [
      {
        name: 'role',
        type: 'text',
        words: ['owner', 'developer', 'finance', 'reader'],
        help: "What the person may do",
        needed: false,
      },
      {
        name: 'state',
        type: 'text',
        words: ['invited', 'active', 'ended'],
        help: "",
        needed: false,
      },
      {
        name: 'limit',
        type: 'whole',
        help: "1 to 100; 25 when left out",
        needed: false,
      },
      {
        name: 'before',
        type: 'text',
        help: "`next` of the page before",
        needed: false,
      },
    ],
  },
  '/v1/user/invite': {
    summary: "Lets somebody sign in for you: a link that works once, for 72 hours",
    changes: true,
    fields: [
      {
        name: 'name',
        type: 'text',
        help: "What to call the person",
        needed: true,
      },
      {
        name: 'role',
        type: 'text',
        words: ['owner', 'developer', 'finance', 'reader'],
        help: "What the person may do",
        needed: true,
      },
      {
        name: 'daily_cap',
        type: 'number or word',
        help: "The most that the user may spend in a day (UTC), in TRX, or `none`",
        needed: false,
      },
      {
        name: 'receivers',
        type: 'list',
        help: "The addresses that may receive what it buys, or `any` alone",
        needed: false,
      },
    ],
  },
  '/v1/user/check': {
    summary: "One of your users",
    changes: false,
    fields: [
      {
        name: 'id',
        type: 'text',
        help: "",
        needed: true,
      },
    ],
  },
  '/v1/user/change': {
    summary: "Changes a user; what is left out stays as it is",
    changes: true,
    fields: [
      {
        name: 'id',
        type: 'text',
        help: "",
        needed: true,
      },
      {
        name: 'name',
        type: 'text',
        help: "What to call the person",
        needed: false,
      },
      {
        name: 'role',
        type: 'text',
        words: ['owner', 'developer', 'finance', 'reader'],
        help: "What the person may do",
        needed: false,
      },
      {
        name: 'daily_cap',
        type: 'number or word',
        help: "The most that the user may spend in a day (UTC), in TRX, or `none`",
        needed: false,
      },
      {
        name: 'receivers',
        type: 'list',
        help: "The addresses that may receive what it buys, or `any` alone",
        needed: false,
      },
    ],
  },
  '/v1/user/recover': {
    summary: "A new link for a user who has lost everything, or never came",
    changes: true,
    fields: [
      {
        name: 'id',
        type: 'text',
        help: "",
        needed: true,
      },
    ],
  },
  '/v1/user/remove': {
    summary: "Takes a user out for good, with all sessions",
    changes: true,
    fields: [
      {
        name: 'id',
        type: 'text',
        help: "",
        needed: true,
      },
      {
        name: 'with_made',
        type: 'yes',
        help: "What it has made ends, too, and what that has made",
        needed: false,
      },
    ],
  },
  '/v1/sessions/list': {
    summary: "Who is signed in for you, newest first",
    changes: false,
    fields: [
      {
        name: 'name',
        type: 'text',
        help: "A part of the user's name; capital Latin letters are as small ones",
        needed: false,
      },
      {
        name: 'limit',
        type: 'whole',
        help: "1 to 100; 25 when left out",
        needed: false,
      },
      {
        name: 'before',
        type: 'text',
        help: "`next` of the page before",
        needed: false,
      },
    ],
  },
  '/v1/session/end': {
    summary: "Signs somebody out",
    changes: true,
    fields: [
      {
        name: 'id',
        type: 'text',
        help: "",
        needed: true,
      },
    ],
  },
  '/v1/actions/list': {
    summary: "What your users and keys have changed, newest first",
    changes: false,
    fields: [
      {
        name: 'user_id',
        type: 'text',
        help: "What this user has changed",
        needed: false,
      },
      {
        name: 'key_id',
        type: 'text',
        help: "What this key has changed; not beside `user_id`",
        needed: false,
      },
      {
        name: 'action',
        type: 'text',
        help: "Such as `key/new`",
        needed: false,
      },
      {
        name: 'subject',
        type: 'text',
        help: "Such as `key:…`, or `key` for all keys",
        needed: false,
      },
      {
        name: 'since',
        type: 'text',
        help: "Changed from then on: a day in UTC, or `2026-11-01T12:00:00Z`",
        needed: false,
      },
      {
        name: 'until',
        type: 'text',
        help: "Changed before then: a day in UTC, or `2026-11-01T12:00:00Z`",
        needed: false,
      },
      {
        name: 'limit',
        type: 'whole',
        help: "1 to 100; 25 when left out",
        needed: false,
      },
      {
        name: 'before',
        type: 'text',
        help: "`next` of the page before",
        needed: false,
      },
    ],
  },
  '/v1/events/list': {
    summary: "What happened, newest first; with `after` from there on, oldest first",
    changes: false,
    fields: [
      {
        name: 'after',
        type: 'whole',
        help: "",
        needed: false,
      },
      {
        name: 'limit',
        type: 'whole',
        help: "1 to 100; 25 when left out",
        needed: false,
      },
      {
        name: 'before',
        type: 'text',
        help: "`next` of the page before",
        needed: false,
      },
      {
        name: 'types',
        type: 'list',
        help: "",
        needed: false,
      },
      {
        name: 'subject',
        type: 'text',
        help: "",
        needed: false,
      },
    ],
  },
  '/v1/event/check': {
    summary: "One event",
    changes: false,
    fields: [
      {
        name: 'number',
        type: 'whole',
        help: "",
        needed: true,
      },
    ],
  },
  '/v1/events/stream': {
    summary: "Events as they are numbered, over one answer that stays open",
    changes: false,
    fields: [
      {
        name: 'after',
        type: 'whole',
        help: "",
        needed: false,
      },
      {
        name: 'types',
        type: 'list',
        help: "",
        needed: false,
      },
      {
        name: 'subject',
        type: 'text',
        help: "",
        needed: false,
      },
      {
        name: 'tests',
        type: 'yes',
        help: "Also events that did not happen",
        needed: false,
      },
    ],
  },
  '/v1/webhook/new': {
    summary: "A new webhook, which is told of what happens from now on",
    changes: true,
    fields: [
      {
        name: 'url',
        type: 'text',
        help: "https, of a public host",
        needed: true,
      },
      {
        name: 'description',
        type: 'text',
        help: "",
        needed: false,
      },
      {
        name: 'types',
        type: 'list',
        help: "Every type that the key may read when it is empty or left out",
        needed: false,
      },
      {
        name: 'at_once',
        type: 'whole',
        help: "",
        needed: false,
      },
      {
        name: 'per_second',
        type: 'whole',
        help: "Calls a second at most; 0: as fast as it answers",
        needed: false,
      },
    ],
  },
  '/v1/webhooks/list': {
    summary: "Your webhooks, newest first",
    changes: false,
    fields: [
      {
        name: 'state',
        type: 'text',
        words: ['on', 'off', 'disabled'],
        help: "",
        needed: false,
      },
      {
        name: 'limit',
        type: 'whole',
        help: "1 to 100; 25 when left out",
        needed: false,
      },
      {
        name: 'before',
        type: 'text',
        help: "`next` of the page before",
        needed: false,
      },
    ],
  },
  '/v1/webhook/check': {
    summary: "One of your webhooks",
    changes: false,
    fields: [
      {
        name: 'id',
        type: 'text',
        help: "",
        needed: true,
      },
    ],
  },
  '/v1/webhook/change': {
    summary: "Changes a webhook; what is left out stays as it is",
    changes: true,
    fields: [
      {
        name: 'id',
        type: 'text',
        help: "",
        needed: true,
      },
      {
        name: 'url',
        type: 'text',
        help: "https, of a public host",
        needed: false,
      },
      {
        name: 'description',
        type: 'text',
        help: "",
        needed: false,
      },
      {
        name: 'types',
        type: 'list',
        help: "Every type that the key may read when it is empty or left out",
        needed: false,
      },
      {
        name: 'at_once',
        type: 'whole',
        help: "",
        needed: false,
      },
      {
        name: 'per_second',
        type: 'whole',
        help: "Calls a second at most; 0: as fast as it answers",
        needed: false,
      },
      {
        name: 'state',
        type: 'text',
        words: ['on', 'off'],
        help: "",
        needed: false,
      },
      {
        name: 'from_now',
        type: 'yes',
        help: "Put on again, it goes on from now and not where it stopped",
        needed: false,
      },
    ],
  },
  '/v1/webhook/rotate': {
    summary: "A new secret; the one before stays valid for a while",
    changes: true,
    fields: [
      {
        name: 'id',
        type: 'text',
        help: "",
        needed: true,
      },
      {
        name: 'overlap_hours',
        type: 'whole',
        help: "24 when left out; 0 ends those before at once",
        needed: false,
      },
    ],
  },
  '/v1/webhook/test': {
    summary: "Calls a webhook once with a sample, and says what it answered",
    changes: true,
    fields: [
      {
        name: 'id',
        type: 'text',
        help: "",
        needed: true,
      },
      {
        name: 'type',
        type: 'text',
        help: "",
        needed: true,
      },
    ],
  },
  '/v1/event/trigger': {
    summary: "An event that did not happen, for those who stream with `tests`",
    changes: true,
    fields: [
      {
        name: 'type',
        type: 'text',
        help: "",
        needed: true,
      },
      {
        name: 'webhook_id',
        type: 'text',
        help: "",
        needed: false,
      },
    ],
  },
  '/v1/webhook/replay': {
    summary: "Tells a webhook once more what it was told, or should have been",
    changes: true,
    fields: [
      {
        name: 'id',
        type: 'text',
        help: "",
        needed: true,
      },
      {
        name: 'after',
        type: 'whole',
        help: "From the event after this number on",
        needed: false,
      },
      {
        name: 'since',
        type: 'text',
        help: "What happened at this time or later; either this or `after`",
        needed: false,
      },
      {
        name: 'until',
        type: 'text',
        help: "What happened until then; until now when left out",
        needed: false,
      },
      {
        name: 'types',
        type: 'list',
        help: "Every type that the key may read when it is empty or left out",
        needed: false,
      },
      {
        name: 'which',
        type: 'text',
        words: ['dead', 'all'],
        help: "Only what was not delivered (when left out), or all",
        needed: false,
      },
    ],
  },
  '/v1/notices/list': {
    summary: "What your webhooks were told, or are to be told, newest event first",
    changes: false,
    fields: [
      {
        name: 'webhook_id',
        type: 'text',
        help: "",
        needed: false,
      },
      {
        name: 'state',
        type: 'text',
        words: ['due', 'delivered', 'dead', 'passed'],
        help: "",
        needed: false,
      },
      {
        name: 'event',
        type: 'whole',
        help: "The number of an event",
        needed: false,
      },
      {
        name: 'limit',
        type: 'whole',
        help: "1 to 100; 25 when left out",
        needed: false,
      },
      {
        name: 'before',
        type: 'text',
        help: "`next` of the page before",
        needed: false,
      },
    ],
  },
  '/v1/notice/check': {
    summary: "One notice with all of its calls, newest first",
    changes: false,
    fields: [
      {
        name: 'webhook_id',
        type: 'text',
        help: "",
        needed: true,
      },
      {
        name: 'number',
        type: 'whole',
        help: "Of the event",
        needed: true,
      },
    ],
  },
  '/v1/notice/retry': {
    summary: "Tells a webhook once more of one event",
    changes: true,
    fields: [
      {
        name: 'webhook_id',
        type: 'text',
        help: "",
        needed: true,
      },
      {
        name: 'number',
        type: 'whole',
        help: "Of the event",
        needed: true,
      },
    ],
  },
  '/v1/webhook/remove': {
    summary: "Removes a webhook; it is told of nothing more",
    changes: true,
    fields: [
      {
        name: 'id',
        type: 'text',
        help: "",
        needed: true,
      },
    ],
  },
}

/** The types of events. */
export const EVENT_TYPES = [
  'order.created',
  'order.succeeded',
  'order.delayed',
  'order.failed',
  'order.reverted',
  'order.solid',
  'order.ending',
  'order.ended',
  'subscription.started',
  'subscription.supplied',
  'subscription.used',
  'subscription.stopped',
  'subscription.expired',
  'subscription.failed',
  'price.changed',
  'service.off',
  'service.on',
  'deposit.seen',
  'deposit.credited',
  'deposit.held',
  'deposit.resolved',
  'deposit.gone',
  'invoice.issued',
  'aml_watch.changed',
  'aml_watch.alert',
  'freeze.executed',
  'freeze.lifted',
  'aml_check.completed',
  'aml_check.failed',
  'key.created',
  'key.revoked',
  'key.ending',
  'key.cap_reached',
  'user.invited',
  'user.joined',
  'user.changed',
  'user.removed',
  'user.recovered',
  'balance.low',
  'webhook.enabled',
  'webhook.disabled',
  'webhook.test',
] as const
