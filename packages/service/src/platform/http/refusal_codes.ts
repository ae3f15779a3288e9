// The codes of the wire: what each means, what people usually do wrong, and the page about it that
// refusals name in `doc_url`. docs/customers/api.md says the same.

import { escaped } from '../../lib/html.ts'

export type Code = {
  readonly code: number
  readonly key: string
  readonly means: string
  readonly usually: readonly string[]
}

/** Where a service explains a code. Without an address of its own, the page alone is named. */
export const refusalUrl = (public_url: string | undefined, code: number): string =>
  `${public_url?.replace(/\/$/, '') ?? ''}/docs/refusals#code-${code}`

export const CODES: readonly Code[] = [
  {
    code: 1,
    key: 'auth',
    means:
      'The token is not known, or the signature is not that of this body (which of the two is ' +
      'not said). `auth.second_signature`: the key, or the endpoint, needs `X-Signature-V2` ' +
      'as well. `auth.scope`: the key may not do this. `auth.suspended`: nothing new is begun ' +
      'for you: ask the operator.',
    usually: [
      'The body is printed once more after it was signed, with other blanks or another ' +
        'order: sign the very bytes that are sent.',
      'A line feed at the end of the body, or of the secret that was read from a file.',
      'A key that requires the second signature with a client that knows the first alone: ' +
        'make one that takes both.',
      'The key has ended, was revoked, or is used from a network that is not its own. ' +
        '`/v1/refusals/list` has a hint for a wrong signature.',
    ],
  },
  {
    code: 2,
    key: 'invalid_service_or_params',
    means: 'The body, or the field that `param` names.',
    usually: [
      'A misspelt field, or one that stands a level too high: `address` belongs into ' +
        '`params`.',
      'Whole numbers as text, flags as 0 and 1.',
      'An `external_id` that was used for another purchase: a repetition sends the same ' +
        'body, a new purchase a new id.',
    ],
  },
  {
    code: 5,
    key: 'wallet_not_found',
    means: 'Your account has no wallet.',
    usually: ['Nothing that a program can mend: ask the operator.'],
  },
  {
    code: 6,
    key: 'insufficient_funds',
    means:
      'The balance is too low; the sentence says how much is missing and where to send it. ' +
      '`insufficient_funds.daily_cap`: the daily cap of the key would be passed.',
    usually: [
      'A deposit counts when its block is irreversible, about a minute after it was sent.',
      'What is set aside for purchases under way is off the balance already.',
      'The cap is of the day in UTC.',
    ],
  },
  {
    code: 10,
    key: 'invalid_network_address',
    means:
      'Not an address of the network, or a contract or a wallet of the service where that is not ' +
      'possible; `param` names the field.',
    usually: [
      'The address of another network, or in hexadecimal (`41…`).',
      'A letter lost in copying: the last ones are a checksum.',
      'The address of a token or of a wallet contract: only accounts receive resources.',
    ],
  },
  {
    code: 11,
    key: 'invalid_energy_amount',
    means: 'The amount of energy is in no tier of `/v1/services`.',
    usually: [
      'Text instead of a number: `"65000"`, or `65000.0`.',
      'Less than is sold: `/v1/services` has the ranges.',
    ],
  },
  {
    code: 12,
    key: 'invalid_duration',
    means: 'Only 1 hour is on sale; for a subscription: days within its plan.',
    usually: ['`duration` in seconds or minutes, or left out.'],
  },
  {
    code: 20,
    key: 'subscription_not_found',
    means: 'No such transaction or subscription of yours.',
    usually: ['The id of another customer, of another service, or the external id sent as `id`.'],
  },
  {
    code: 21,
    key: 'cannot_stop_subscription',
    means: 'It has ended, or has a limit of transactions.',
    usually: [
      'It has ended already: `/v1/subscription/check` says how it stands.',
      'A plan like `energy_pack_100` has a limit, and ends with it or with its days.',
    ],
  },
  {
    code: 24,
    key: 'address_not_activated',
    means: 'The address has no account on the chain, so it can receive nothing.',
    usually: [
      'Ask for the account along the way with `activate_address: true`, or buy the service ' +
        '`activate_address` first.',
    ],
  },
  {
    code: 25,
    key: 'address_already_activated',
    means: 'The address has an account: there is nothing to do.',
    usually: [
      '`activate_address: true` in a purchase costs nothing where it is not needed; the ' +
        'service `activate_address` is for addresses without an account alone.',
    ],
  },
  {
    code: 30,
    key: 'aml_check_not_found',
    means: 'No such check of yours.',
    usually: ['The address or the hash sent as `id`.'],
  },
  {
    code: 35,
    key: 'service_unavailable',
    means:
      'Off sale (the activation that goes with it, too), or it cannot be delivered now; nothing ' +
      'was charged, try again later. The part after the point says which limit it was.',
    usually: [
      'The sentence says whether it is off sale, too much at once, or the chain. ' +
        '`/v1/pool-forecast` says how much can be delivered, and when.',
    ],
  },
  {
    code: 50,
    key: 'invalid_bandwidth_amount',
    means: 'The amount of bandwidth is in no tier of `/v1/services`.',
    usually: [
      '`energy_amount` is never an amount of bandwidth: name `amount`, or ' +
        '`amounts.bandwidth`.',
    ],
  },
  {
    code: 70,
    key: 'not_found',
    means: 'You have no such thing; the part after the point names it, as in `not_found.webhook`.',
    usually: ['The id of something of another kind, or of another customer.'],
  },
  {
    code: 71,
    key: 'quote_expired',
    means: 'Its time is over, or it was used.',
    usually: ['Ask for another quote; accept it within its seconds.'],
  },
  {
    code: 72,
    key: 'limit_reached',
    means: 'There are as many of them as you may have.',
    usually: ['End what is not needed any more.'],
  },
  {
    code: 73,
    key: 'forbidden',
    means: 'Your key may not do that, whatever its scopes; the part after the point says why.',
    usually: ['A key makes and changes only keys that are no wider than itself, and never itself.'],
  },
  {
    code: 74,
    key: 'conflict',
    means: 'Not in the state in which it is; the part after the point says why.',
    usually: ['Look at it again before you repeat the call.'],
  },
  {
    code: 75,
    key: 'url_refused',
    means: 'That address is not called; `scheme`, `port` or `address` says why.',
    usually: ['`http:` instead of `https:`, or a name that leads into a private network.'],
  },
  {
    code: 76,
    key: 'too_old',
    means: 'What you ask for is no longer available; the message names the oldest that is.',
    usually: ['Read events more often than they are kept.'],
  },
  {
    code: 500,
    key: 'internal_server_error',
    means: 'The service has failed.',
    usually: [
      'Repeat a purchase only with the same `external_id`: it may have been placed. Give ' +
        '`request_id` to the operator.',
    ],
  },
]

/** Text with `code` between backquotes. */
const html = (text: string): string => escaped(text).replace(/`([^`]+)`/g, '<code>$1</code>')

const section = ({ code, key, means, usually }: Code): string =>
  [
    `<section id="code-${code}">`,
    `<h2>${code} <code>${key}</code></h2>`,
    `<p>${html(means)}</p>`,
    `<ul>${usually.map((one) => `<li>${html(one)}</li>`).join('')}</ul>`,
    '</section>',
  ].join('\n')

export const refusalPage = (): string =>
  [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8" />',
    '<meta name="viewport" content="width=device-width, initial-scale=1" />',
    '<title>What calls are refused for</title>',
    '<link rel="icon" href="data:," />',
    '<link rel="stylesheet" href="docs.css" />',
    '</head>',
    '<body class="text">',
    '<main>',
    '<h1>What calls are refused for</h1>',
    '<p>Branch on <code>code</code>. <code>param</code> names the field, and <code>error</code> ' +
      'says what it must be. <a href="../docs">Every call</a></p>',
    ...CODES.map(section),
    '</main>',
    '</body>',
    '</html>',
    '',
  ].join('\n')
