// ClickHouse on this machine: two servers as shards of one cluster, by the files for operators.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type ClickHouse,
  type ClickHouseServer,
  clickHouse,
} from 'penstock-service/chain/transfers/clickhouse.ts'
import { eventually } from './eventually.ts'
import { without } from './programs.ts'

/** Where Debian puts it, which is in the path of few users but root. */
const DEBIAN = '/usr/sbin/clickhouse-server'
const PROGRAM = existsSync(DEBIAN) ? DEBIAN : 'clickhouse-server'

export const NO_CLICKHOUSE = without([PROGRAM], "Debian's package clickhouse-server brings it")

const DEPLOY = new URL('../../deploy/clickhouse/', import.meta.url)
const PASSWORD = 'p@ss:w%rd'

type Shard = { http: number; tcp: number; folder: string }

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

async function newShard(): Promise<Shard> {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-clickhouse-'))
  return { http: await freePort(), tcp: await freePort(), folder }
}

const replicaOf = ({ tcp }: Shard) => `<shard><replica><host>127.0.0.1</host><port>${tcp}</port>
  <user>penstock</user><password>${PASSWORD}</password></replica></shard>`

function configOf({ http, tcp, folder }: Shard, all: readonly Shard[]): string {
  return `<yandex>
    <logger><level>warning</level><console>1</console></logger>
    <http_port>${http}</http_port><tcp_port>${tcp}</tcp_port><listen_host>127.0.0.1</listen_host>
    <path>${folder}/data/</path><tmp_path>${folder}/tmp/</tmp_path>
    <user_files_path>${folder}/files/</user_files_path>
    <format_schema_path>${folder}/formats/</format_schema_path>
    <users_config>${folder}/users.xml</users_config>
    <default_profile>default</default_profile><default_database>default</default_database>
    <mark_cache_size>67108864</mark_cache_size>
    <remote_servers><penstock>${all.map(replicaOf).join('')}</penstock></remote_servers>
  </yandex>`
}

const USERS = `<yandex><profiles><default/></profiles><quotas><default/></quotas>
  <users><penstock><password>${PASSWORD}</password><networks><ip>127.0.0.1</ip></networks>
    <profile>default</profile><quota>default</quota></penstock></users></yandex>`

const serverAt = ({ http }: Shard, database: string): ClickHouseServer => ({
  url: `http://127.0.0.1:${http}`,
  user: 'penstock',
  password: PASSWORD,
  database,
})

/** Starts a server, and returns what ends it. */
async function start(shard: Shard, all: readonly Shard[]): Promise<() => Promise<void>> {
  const config = join(shard.folder, 'config.xml')
  writeFileSync(config, configOf(shard, all))
  writeFileSync(join(shard.folder, 'users.xml'), USERS)
  const child = spawn(PROGRAM, [`--config-file=${config}`], { stdio: 'ignore' })
  const ended = once(child, 'exit')
  const { run } = clickHouse(serverAt(shard, 'default'))
  await eventually('ClickHouse answers', async () => {
    if (child.exitCode !== null) throw new Error(`clickhouse-server ended with ${child.exitCode}`)
    return run('select 1').then(
      () => true,
      () => false,
    )
  })
  return async () => {
    child.kill('SIGKILL')
    await ended
  }
}

export type ClickHouseCluster = { shards: readonly Shard[]; entry: Shard }

/** Two servers, each the other's shard. `onEnd` is given what ends them. */
export async function startClickHouse(
  onEnd: (end: () => Promise<void>) => void,
): Promise<ClickHouseCluster> {
  const shards = [await newShard(), await newShard()]
  for (const shard of shards) {
    const end = await start(shard, shards)
    onEnd(async () => {
      await end()
      rmSync(shard.folder, { recursive: true, force: true })
    })
  }
  return { shards, entry: shards[0]! }
}

/** The statements of a file for operators, on databases of a test's own. */
async function runFile(on: Shard, file: string, own: string): Promise<void> {
  const { run } = clickHouse(serverAt(on, 'default'))
  const text = readFileSync(new URL(file, DEPLOY), 'utf8').replaceAll(/^--.*$/gm, '')
  const renamed = text.replaceAll(/\bpenstock_shard\b/g, `${own}_shard`)
  for (const statement of renamed.replaceAll(/\bpenstock\b(?=[.;])/g, own).split(';'))
    if (statement.trim() !== '') await run(statement)
}

export type OwnClickHouse = ClickHouse & { server: ClickHouseServer; shards: ClickHouse[] }
let databases = 0

/** A database of its own; over both servers, if it is to be spread. */
export async function newDatabase(
  { shards, entry }: ClickHouseCluster,
  { spread }: { spread: boolean },
): Promise<{ own: OwnClickHouse; drop(): Promise<void> }> {
  databases += 1
  const name = `t${databases}`
  const all = clickHouse(serverAt(entry, 'default'))
  await all.run(`create database ${name}`)
  if (spread) {
    for (const shard of shards) await runFile(shard, 'shard.sql', name)
    await runFile(entry, 'entry.sql', name)
  }
  const server = serverAt(entry, name)
  const on = (shard: Shard) => clickHouse(serverAt(shard, `${name}_shard`))
  const own = { ...clickHouse(server), server, shards: spread ? shards.map(on) : [] }
  return {
    own,
    async drop() {
      await all.run(`drop database ${name}`)
      if (!spread) return
      for (const shard of shards)
        await clickHouse(serverAt(shard, 'default')).run(`drop database ${name}_shard`)
    },
  }
}
