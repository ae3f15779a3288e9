import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspectConfig, Misuse, readConfig, unknownVariables, usage } from './config.ts'
import { OPTIONS, SETTING_FACTS, SETTINGS } from './settings.ts'

test('nothing given is a start on a bare machine', () => {
  const { host, port, data_dir, database_url, nodes, chain_port, role, secret_key, json, help } =
    readConfig([], {})
  assert.deepEqual(
    { host, port, data_dir, database_url, nodes, chain_port, role, secret_key, json, help },
    {
      host: '127.0.0.1',
      port: 8080,
      data_dir: 'data',
      database_url: undefined,
      nodes: undefined,
      chain_port: undefined,
      role: 'all',
      secret_key: undefined,
      json: false,
      help: false,
    },
  )
})

test('options and variables are read; an empty variable is none', () => {
  const args = [
    '--port',
    '0',
    '--host=::1',
    '--data-dir',
    '/d',
    '--chain-port',
    '9000',
    '--role',
    'worker',
    '--json',
  ]
  const read = readConfig([...args, '--ready-file', '/r'], {
    DATABASE_URL: 'postgresql://localhost/penstock',
    PG_BIN: '/pg',
    PENSTOCK_WALLETS: '/w.json',
    PENSTOCK_SECRET_KEY: 'aB'.repeat(32),
    PENSTOCK_REQUESTS_PER_SECOND: '0',
  })
  assert.deepEqual(
    [read.port, read.host, read.data_dir, read.chain_port, read.role, read.json, read.ready_file],
    [...[0, '::1', '/d', 9_000, 'worker', true, '/r']],
  )
  assert.deepEqual(
    [read.database_url, read.pg_bin, read.wallets_file, read.requests_per_second],
    [...['postgresql://localhost/penstock', '/pg', '/w.json', 0]],
  )
  const names = Object.keys(SETTINGS)
  const empty = readConfig([], Object.fromEntries(names.map((name) => [name, ''])))
  assert.deepEqual(empty, readConfig([], {}))
})

test('every mistake is said at once, and the rest is read all the same', () => {
  const args = ['--port', 'x', '--role', 'boss', '--console-port', '99999', '--host', '10.0.0.1']
  const env = {
    DATABASE_URL: 'postgres://far.example/penstock',
    PENSTOCK_SECRET_KEY: 'short',
    PENSTOCK_STANDBYS: 'two',
    PENSTOCK_PORTAL_IDLE_MINUTES: '1',
    PENSTOCK_PORTAL_LIFE_HOURS: '999',
    PENSTOCK_RECHARGE_AT: 'once',
    PENSTOCK_AMLBOT: 'half',
    PENSTOCK_EVENT_DAYS: '30',
  }
  const { config, mistakes } = inspectConfig(args, env)
  const about = [
    'PENSTOCK_STANDBYS',
    'PENSTOCK_RECHARGE_AT',
    'PENSTOCK_AMLBOT',
    'PENSTOCK_PORTAL_IDLE_MINUTES',
    'PENSTOCK_PORTAL_LIFE_HOURS',
    'DATABASE_URL',
    'PENSTOCK_SECRET_KEY',
    '--role',
    '--port',
    '--console-port',
  ]
  assert.equal(mistakes.length, about.length, mistakes.join('\n'))
  for (const [i, name] of about.entries()) assert.ok(mistakes[i]!.startsWith(name), mistakes[i])
  assert.deepEqual([config.host, config.event_days, config.port], ['10.0.0.1', 30, 8080])
  assert.throws(() => readConfig(args, env), new Misuse(mistakes.join('\n')))
  assert.deepEqual(inspectConfig(['--prt', '1'], {}).mistakes.length, 1)
})

test('a variable that nothing reads is named, with the one that may be meant', () => {
  const env = {
    PENSTOCK_WALLET: '/w.json',
    PENSTOCK_SANDBYS: '1',
    PENSTOCK_COLOUR: 'blue',
    PENSTOCK_URL: 'of the command line',
    PENSTOCK_STANDBYS: '1',
    PATH: '/bin',
  }
  assert.deepEqual(unknownVariables(env), [
    'There is no PENSTOCK_COLOUR.',
    'There is no PENSTOCK_SANDBYS (do you mean PENSTOCK_STANDBYS?).',
    'There is no PENSTOCK_WALLET (do you mean PENSTOCK_WALLETS?).',
  ])
})

test('the addresses and networks of proxies are a list', () => {
  const { trusted_proxies } = readConfig([], {
    PENSTOCK_TRUSTED_PROXIES: '10.0.0.1, 10.1.0.0/16,fd00::/8',
  })
  assert.deepEqual(trusted_proxies, ['10.0.0.1', '10.1.0.0/16', 'fd00::/8'])
})

test('name servers are a list of addresses', () => {
  const { dns_servers } = readConfig([], { PENSTOCK_DNS_SERVERS: '10.0.0.53, 127.0.0.1:5353' })
  assert.deepEqual(dns_servers, ['10.0.0.53', '127.0.0.1:5353'])
  assert.equal(readConfig([], {}).dns_servers, undefined)
})

test('nodes are paired with their solid sides', () => {
  const two = ['--node-url', 'https://a', '--node-url', 'https://b/path']
  assert.deepEqual(readConfig(two, {}).nodes, [{ url: 'https://a' }, { url: 'https://b/path' }])
  const solid = ['--solid-node-url', 'https://a:1', '--solid-node-url', 'https://b:1']
  assert.deepEqual(readConfig([...two, ...solid], {}).nodes, [
    { url: 'https://a', solid_url: 'https://a:1' },
    { url: 'https://b/path', solid_url: 'https://b:1' },
  ])
})

test('the console is at this machine alone, unless something ends TLS in front of it', () => {
  const placeOf = (args: string[], env: NodeJS.ProcessEnv = {}) => {
    const { console_host, console_port, console_port_any, console_url } = readConfig(args, env)
    return [console_host, console_port, console_port_any, console_url]
  }
  assert.deepEqual(placeOf([]), ['127.0.0.1', 8081, true, undefined])
  assert.deepEqual(placeOf(['--port', '0']), ['127.0.0.1', 0, true, undefined])
  assert.deepEqual(placeOf(['--console-port', '9']), ['127.0.0.1', 9, false, undefined])
  assert.deepEqual(placeOf(['--console-port', 'off']), ['127.0.0.1', undefined, false, undefined])
  const url = 'https://console.example.com'
  const elsewhere = ['--console-host', '10.0.0.4']
  assert.deepEqual(placeOf(elsewhere, { PENSTOCK_CONSOLE_URL: `${url}/` }), [
    ...['10.0.0.4', 8081, true, url],
  ])
  assert.deepEqual(placeOf([...elsewhere, '--console-port', 'off'])[1], undefined)
  assert.throws(() => placeOf(elsewhere), /Set PENSTOCK_CONSOLE_URL/)
  for (const wrong of ['http://console.example.com', 'https://a.example/x', 'nonsense'])
    assert.throws(() => placeOf([], { PENSTOCK_CONSOLE_URL: wrong }), Misuse)
})

test('what makes no sense is one sentence', () => {
  const wrong: [args: string[], env?: NodeJS.ProcessEnv][] = [
    [['--port', '']],
    [['--port', '65536']],
    [['--port', '080800']],
    [['--port', '1e3']],
    [['--port', ' 80']],
    [['--port', '-1']],
    [['--chain-port', 'x']],
    [['--node-url', 'localhost:8090']],
    [['--node-url', 'file:///etc/passwd']],
    [['--solid-node-url', 'http://a']],
    [['--node-url', 'http://a', '--node-url', 'http://b', '--solid-node-url', 'http://a']],
    [['--role', 'API']],
    [['--role', 'worker', '--index', 'all']],
    [['--role', 'api', '--index', 'none']],
    [['--role', 'index', '--index', 'none']],
    [['--json=yes']],
    [['--unknown']],
    [['-p', '1']],
    [['positional']],
    [[], { DATABASE_URL: 'localhost' }],
    [[], { DATABASE_URL: 'postgres://localhost,db.example/penstock' }],
    [[], { PENSTOCK_SECRET_KEY: 'f'.repeat(63) }],
    [[], { PENSTOCK_SECRET_KEY: 'g'.repeat(64) }],
    [[], { PENSTOCK_REQUESTS_PER_SECOND: '-1' }],
    [[], { PENSTOCK_REQUESTS_PER_SECOND: '1.5' }],
    [[], { PENSTOCK_CONNECTIONS_MAX: '0' }],
    [[], { PENSTOCK_CONNECTIONS_PER_ADDRESS: 'many' }],
    [[], { PENSTOCK_READ_REQUESTS_PER_SECOND: 'x' }],
    [['--read-solid-node-url', 'http://a']],
    [['--read-node-url', 'ftp://a']],
    [[], { PENSTOCK_RECHARGE_AT: 'never' }],
    [[], { PENSTOCK_AMLBOT: 'id-without-key' }],
    [[], { PENSTOCK_AML_RETENTION_DAYS: '0' }],
    [[], { PENSTOCK_EVENT_DAYS: '6' }],
    [[], { PENSTOCK_PORTAL_IDLE_MINUTES: '721' }],
    [[], { PENSTOCK_PORTAL_LIFE_HOURS: '169' }],
    [[], { PENSTOCK_CONSOLE_IDLE_MINUTES: '4' }],
    [[], { PENSTOCK_CONSOLE_LIFE_HOURS: '13' }],
    [[], { PENSTOCK_TRUSTED_PROXIES: 'yes' }],
    [[], { PENSTOCK_DNS_SERVERS: 'dns.example' }],
    [[], { PENSTOCK_TRUSTED_PROXIES: '0.0.0.0/0' }],
    [[], { PENSTOCK_TRUSTED_PROXIES: '10.0.0.1,10.0.0.0/33' }],
    [[], { PENSTOCK_TRUSTED_PROXIES: '10.0.0.1,' }],
  ]
  for (const [args, env = {}] of wrong) {
    assert.throws(
      () => readConfig(args, env),
      (thrown) => {
        assert.ok(thrown instanceof Misuse, String(thrown))
        assert.match(thrown.message, /^[^\n]+\.$/, `${args.join(' ')}: ${thrown.message}`)
        return true
      },
      `${args.join(' ')} ${JSON.stringify(env)}`,
    )
  }
})

test('an option that npm has kept for itself is named with the line that works', () => {
  const start = { npm_lifecycle_event: 'start', npm_config_port: 'true' }
  const line = (text: string) => (thrown: unknown) =>
    thrown instanceof Misuse && thrown.message.endsWith(text)
  assert.throws(() => readConfig(['19777'], start), line('npm start -- --port 19777'))
  const equals = { npm_lifecycle_event: 'serve', npm_config_data_dir: '/srv/p' }
  assert.throws(() => readConfig([], equals), line('npm run serve -- --data-dir /srv/p'))
  assert.equal(readConfig(['--port', '1'], { ...start, npm_lifecycle_event: 'test' }).port, 1)
})

test('a secret is not repeated in the sentence about it', () => {
  const secrets = SETTING_FACTS.filter(([, { secret }]) => secret).map(([name]) => name)
  assert.ok(secrets.includes('DATABASE_URL') && secrets.includes('PENSTOCK_SECRET_KEY'))
  const canary = `${'a1'.repeat(31)}zz`
  const with_mistakes = secrets.filter((name) => {
    // An unknown parameter of a database is a mistake, too.
    const values = [canary, `${canary}:`, `postgres://u:${canary}@,h/x`]
    const sentences = values.flatMap((value) => inspectConfig([], { [name]: value }).mistakes)
    assert.ok(!sentences.join('\n').includes(canary), name)
    return sentences.length > 0
  })
  assert.ok(with_mistakes.length > 4, `${with_mistakes}`)
})

const LETTERS = {
  PENSTOCK_SMTP_URL: 'smtps://penstock:p%40ss@mail.example.com',
  PENSTOCK_LETTERS_FROM: 'penstock@example.com',
  PENSTOCK_PUBLIC_URL: 'https://api.example.com',
}

test('letters go out where all is there that they need, and a worker says what is missing', () => {
  const { letters, sign_up } = readConfig([], { ...LETTERS, PENSTOCK_SIGN_UP: 'yes' })
  assert.deepEqual(
    [letters?.origin, letters?.from, letters?.smtp.login?.pass, sign_up],
    ['https://api.example.com', 'penstock@example.com', 'p@ss', true],
  )
  const without = (name: string, role: string) =>
    inspectConfig(['--role', role], { ...LETTERS, PENSTOCK_SIGN_UP: 'yes', [name]: '' }).mistakes
  for (const name of Object.keys(LETTERS))
    assert.deepEqual(without(name, 'worker'), [`Nobody can send letters without ${name}.`])
  const of_api = { PENSTOCK_SIGN_UP: 'yes', PENSTOCK_PUBLIC_URL: 'https://api.example.com' }
  assert.deepEqual(inspectConfig(['--role', 'api'], of_api).mistakes, [])
  assert.deepEqual(readConfig([], {}).letters, undefined)
})

test('what takes a risk is yes, or left out', () => {
  for (const [name, { type }] of SETTING_FACTS.filter(([, { type }]) => type === '`yes`')) {
    const read = (value: string) => inspectConfig([], { ...LETTERS, [name]: value }).mistakes
    assert.deepEqual([read('yes'), read('no'), read('')], [[], [], []], type)
    assert.deepEqual([read('true'), read('1')], Array(2).fill([`${name} is yes, or left out.`]))
  }
})

test('the help names every option and every variable, and of serve only those that it uses', () => {
  const names = [...Object.keys(OPTIONS).map((name) => `--${name} `), ...Object.keys(SETTINGS)]
  const missing = (command: string) => names.filter((name) => !usage(command).includes(name))
  assert.deepEqual(missing('start'), [])
  assert.deepEqual(missing('serve'), ['--chain-port ', '--json ', 'PG_BIN'])
})
