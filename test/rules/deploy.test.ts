// What deploy/ ships for a database on three machines keeps what nothing acknowledged is lost by.
// Whether it works is tried by `npm run torture -- failover --manager patroni`.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseEnv } from 'node:util'
import { parse } from 'yaml'
import { ROOT } from '../../tools/source.ts'

const deployed = (name: string) => readFile(join(ROOT, 'deploy', name), 'utf8')

const MACHINES = ['one', 'two', 'three']

type Patroni = {
  name: string
  restapi: object
  ctl: { cacert: string }
  etcd3: { hosts: string; protocol: string; cert: string; key: string }
  bootstrap: { dcs: Record<string, number | string | boolean>; initdb: unknown[] }
  postgresql: {
    basebackup: object
    authentication: Record<string, { sslmode: string; sslrootcert: string }>
    use_unix_socket: boolean
    use_unix_socket_repl: boolean
    parameters: { ssl: string }
    pg_hba: string[]
  }
  watchdog: { mode: string; device: string; safety_margin: number }
}

test('Patroni promotes only what has everything, and fences what has lost its lock', async () => {
  const { bootstrap, watchdog } = parse(await deployed('patroni/patroni.yml')) as Patroni
  const { ttl, loop_wait, retry_timeout, postgresql: _, ...dcs } = bootstrap.dcs
  assert.deepEqual(
    { ttl, loop_wait, retry_timeout, ...dcs },
    {
      ttl: 20,
      loop_wait: 5,
      retry_timeout: 5,
      synchronous_mode: 'quorum',
      synchronous_mode_strict: true,
      synchronous_node_count: 1,
      maximum_lag_on_failover: 0,
      primary_start_timeout: 0,
    },
  )
  assert.equal(watchdog.mode, 'required')
  // It must fire before another may hold the lock.
  assert.ok(watchdog.safety_margin > 0)
  assert.ok(Number(ttl) >= Number(loop_wait) + 2 * Number(retry_timeout))
  assert.ok(bootstrap.initdb.includes('data-checksums'))
})

test('nobody speaks with a database over the network without TLS and a password', async () => {
  const config = parse(await deployed('patroni/patroni.yml')) as Patroni
  for (const line of config.postgresql.pg_hba.filter((one) => !one.startsWith('local')))
    assert.match(line, /^hostssl .* scram-sha-256$/)
  for (const { sslmode, sslrootcert } of Object.values(config.postgresql.authentication))
    assert.deepEqual([sslmode, typeof sslrootcert], ['verify-full', 'string'])
  assert.equal(config.postgresql.parameters.ssl, 'on')
  assert.equal(config.etcd3.protocol, 'https')
  assert.ok('certfile' in config.restapi && 'authentication' in config.restapi)
  assert.equal(config.ctl.cacert, config.postgresql.authentication.superuser!.sslrootcert)
  // By the network it would ask its own server as localhost, which no certificate names.
  assert.ok(config.postgresql.use_unix_socket && config.postgresql.use_unix_socket_repl)
})

test('nobody writes into etcd without a certificate, and Patroni has one', async () => {
  const { etcd3, postgresql } = parse(await deployed('patroni/patroni.yml')) as Patroni
  const etcd = parseEnv(await deployed('patroni/etcd.conf'))
  const ca = postgresql.authentication.superuser!.sslrootcert
  for (const way of ['', 'PEER_']) {
    assert.match(etcd[`ETCD_LISTEN_${way || 'CLIENT_'}URLS`]!, /^https:/)
    assert.equal(etcd[`ETCD_${way}CLIENT_CERT_AUTH`], 'true')
    assert.equal(etcd[`ETCD_${way}TRUSTED_CA_FILE`], ca)
    assert.equal(etcd[`ETCD_${way}CERT_FILE`], etcd3.cert)
    assert.equal(etcd[`ETCD_${way}KEY_FILE`], etcd3.key)
  }
  const members = MACHINES.map((name, i) => `${name}=https://h${i + 1}:2380`).join(',')
  assert.equal(etcd.ETCD_INITIAL_CLUSTER, members)
})

test('the watchdog is given to Patroni, and HAProxy does not go on as root', async () => {
  const unit = await deployed('patroni/watchdog.conf')
  assert.match(unit, /^ExecStartPre=\+\S*chown postgres \/dev\/watchdog$/m)
  const { watchdog } = parse(await deployed('patroni/patroni.yml')) as Patroni
  assert.equal(watchdog.device, '/dev/watchdog')
  assert.match(
    await deployed('patroni/haproxy.cfg'),
    /^global\n {2}user haproxy\n {2}group haproxy$/m,
  )
})

test('HAProxy leads to the primary alone, and ends the connections of one that was', async () => {
  const text = await deployed('patroni/haproxy.cfg')
  const lines = text.split('\n').map((line) => line.trim())
  assert.ok(lines.includes('http-check send meth OPTIONS uri /primary'))
  assert.ok(lines.includes('http-check expect status 200'))
  const defaults = lines.filter((line) => line.startsWith('default-server')).join(' ')
  assert.match(defaults, /on-marked-down shutdown-sessions/)
  assert.match(defaults, /check-ssl verify required ca-file \S+ port 8008/)
  const servers = lines.filter((line) => line.startsWith('server '))
  assert.deepEqual(
    servers,
    MACHINES.map((name, i) => `server ${name} h${i + 1}:5432`),
  )
  const { name, etcd3 } = parse(await deployed('patroni/patroni.yml')) as Patroni
  assert.equal(name, MACHINES[0])
  assert.equal(etcd3.hosts, MACHINES.map((_, i) => `h${i + 1}:2379`).join(','))
})

test('CloudNativePG acknowledges what two have, and cuts a lost primary off at once', async () => {
  const { kind, spec } = parse(await deployed('cloudnativepg/cluster.yaml')) as {
    kind: string
    spec: {
      instances: number
      smartShutdownTimeout: number
      stopDelay: number
      bootstrap: { initdb: { database: string; owner: string; encoding: string } }
      postgresql: { synchronous: object }
      affinity: { podAntiAffinityType: string }
    }
  }
  assert.equal(kind, 'Cluster')
  assert.equal(spec.instances, 3)
  assert.equal(spec.smartShutdownTimeout, 0)
  assert.ok(spec.stopDelay > spec.smartShutdownTimeout)
  assert.deepEqual(spec.postgresql.synchronous, {
    method: 'any',
    number: 1,
    dataDurability: 'required',
    failoverQuorum: true,
  })
  const { database, owner, encoding } = spec.bootstrap.initdb
  assert.deepEqual([database, owner, encoding], ['penstock', 'penstock_owner', 'UTF8'])
  assert.equal(spec.affinity.podAntiAffinityType, 'required')
})
