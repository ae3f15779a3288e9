// What deploy/ names of the service is there: roles, options, variables and ports of its processes,
// secrets and volumes of the files themselves. Units take from a process what it does not need.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { inspectConfig, unknownVariables } from 'penstock-service/config.ts'
import { findOperation } from 'penstock-service/operators/command_line/arguments.ts'
import { OPERATIONS } from 'penstock-service/operators/operations.ts'
import type { OPTIONS } from 'penstock-service/settings.ts'
import { parse, parseAllDocuments } from 'yaml'
import { ROOT } from '../../tools/source.ts'
import { without } from '../harness/programs.ts'

const deployed = (path: string) => readFileSync(join(ROOT, 'deploy', path), 'utf8')

/** Throws unless the service takes these words, and the values of the variables that it reads. */
function requireStart(typed: readonly string[], env: Record<string, string>, where: string): void {
  const words = typed.map((word) => word.replace(/\$\{\w+:-([^}]*)\}/g, '$1'))
  assert.deepEqual(unknownVariables(env), [], where)
  const [first, ...args] = words
  if (first !== 'serve') assert.ok(findOperation(OPERATIONS, words).operation, where)
  // What stands in braces is filled in by who runs it.
  const known = Object.entries(env).filter(([, value]) => !/[$%/]|^$/.test(value))
  const { mistakes } = inspectConfig(first === 'serve' ? args : [], Object.fromEntries(known))
  // Where TLS ends is said by a variable in braces.
  assert.deepEqual(
    mistakes.filter((one) => !one.includes('PENSTOCK_CONSOLE_URL')),
    [],
    where,
  )
}

const portOf = (words: readonly string[], name: keyof typeof OPTIONS, otherwise: string) =>
  words.find((word) => word.startsWith(`--${name}=`))?.split('=')[1] ?? otherwise

type ComposeService = {
  image: string
  command?: string[]
  environment?: Record<string, string>
  ports?: string[]
  volumes?: string[]
  secrets?: { source: string; target: string }[]
  read_only?: boolean
  cap_drop?: string[]
  user?: string
  healthcheck?: { test?: string[] }
}
type Compose = {
  services: Record<string, ComposeService>
  volumes: Record<string, null>
  secrets: Record<string, { file: string }>
}

test('compose.yaml starts what there is, with rights that are needed and no other', () => {
  const compose = parse(deployed('compose.yaml'), { merge: true }) as Compose
  const { services } = compose
  const ours = Object.entries(services).filter(([name]) => !['postgres', 'devchain'].includes(name))
  const version = (
    JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Compose & {
      version: string
    }
  ).version
  const roles = ours.map(([, { command = [] }]) => portOf(command, 'role', command[0] ?? ''))
  assert.deepEqual(roles, ['api', 'api', 'worker', 'worker', 'index', 'console', 'migrate'])
  for (const [name, service] of ours) {
    const { command = [], environment = {}, ports = [], volumes = [], secrets = [] } = service
    requireStart(command, environment, name)
    assert.equal(service.image, `\${PENSTOCK_IMAGE:-localhost/penstock:${version}}`, name)
    const rights = [service.read_only, service.cap_drop, service.user]
    assert.deepEqual(rights, [true, ['ALL'], '65532:65532'], name)
    const open = [portOf(command, 'port', '8080'), portOf(command, 'console-port', '8081')]
    for (const port of ports) assert.ok(open.includes(port.split(':').at(-1)!), `${name} ${port}`)
    for (const volume of volumes) assert.ok(volume.split(':')[0]! in compose.volumes, volume)
    for (const { source, target } of secrets) {
      assert.ok(source in compose.secrets, source)
      assert.equal(environment.PENSTOCK_WALLETS, `/run/secrets/${target}`)
    }
    if (command[0] === 'serve')
      assert.ok(
        service.healthcheck!.test!.join().includes(`:${portOf(command, 'admin-port', '')}/`),
      )
  }
  const asked = parse(deployed('prometheus/prometheus.yml')) as {
    scrape_configs: { static_configs: { targets: string[] }[] }[]
  }
  for (const target of asked.scrape_configs[0]!.static_configs[0]!.targets) {
    const [name = '', port] = target.split(':')
    assert.equal(portOf(services[name]?.command ?? [], 'admin-port', ''), port, target)
  }
  for (const path of services.postgres!.volumes!.filter((one) => one.startsWith('./')))
    assert.ok(existsSync(join(ROOT, 'deploy', path.split(':')[0]!)))
  const guide = readFileSync(join(ROOT, 'docs/operators/containers.md'), 'utf8')
  for (const [, name] of deployed('compose.yaml').matchAll(/\$\{(\w+):\?/g))
    assert.ok(guide.includes(`\`${name}\``), `containers.md does not say what ${name} is`)
})

type Resource = {
  kind: string
  metadata: { name: string }
  spec: {
    template: { spec: PodSpec }
    selector: { [name: string]: string }
    ports?: { targetPort: string | number }[]
    serviceName?: string
    volumeClaimTemplates?: { metadata: { name: string } }[]
  }
}
type PodSpec = {
  enableServiceLinks: boolean
  securityContext: { runAsNonRoot: boolean; runAsUser: number }
  containers: {
    image: string
    args: string[]
    env?: { name: string; value: string }[]
    envFrom: { configMapRef?: { name: string }; secretRef?: { name: string } }[]
    ports?: { name: string; containerPort: number }[]
    volumeMounts?: { name: string; mountPath: string }[]
    securityContext: object
    startupProbe?: { httpGet: { port: string } }
  }[]
  volumes?: { name: string; secret?: { secretName: string } }[]
}
type Kustomization = {
  kind: 'Kustomization' | 'Component'
  resources: string[]
  patches?: { target: { kind: string; name: string }; patch: string }[]
  images?: { name: string }[]
  configMapGenerator?: { name: string; literals: string[] }[]
}

const base = 'kubernetes/base'
const component = 'kubernetes/index'
const readResources = (folder: string): Resource[] => {
  const { resources } = parse(deployed(`${folder}/kustomization.yaml`)) as Kustomization
  return resources.flatMap((file) =>
    parseAllDocuments(deployed(`${folder}/${file}`)).map((one) => one.toJS() as Resource),
  )
}

test('pods start what there is, with secrets that the guide names, and no right', () => {
  const { images } = parse(deployed(`${base}/kustomization.yaml`)) as Kustomization
  const overlays = globSync('deploy/kubernetes/*/kustomization.yaml', { cwd: ROOT }).filter(
    (path) => !path.includes('/base/') && !path.includes(component),
  )
  assert.equal(overlays.length, 2)
  const variables = overlays.flatMap((path) => {
    const { resources, configMapGenerator } = parse(
      readFileSync(join(ROOT, path), 'utf8'),
    ) as Kustomization
    for (const resource of resources)
      assert.ok(globSync(join(ROOT, path, '..', resource)).length === 1, resource)
    return configMapGenerator!.flatMap(({ literals }) => literals)
  })
  const env = Object.fromEntries(variables.map((one) => one.split('=') as [string, string]))
  assert.deepEqual(unknownVariables(env), [])
  const guide = readFileSync(join(ROOT, 'docs/operators/containers.md'), 'utf8')
  const resources = [base, component].flatMap(readResources)
  const services = resources.filter(({ kind }) => kind === 'Service')
  const pods = resources.filter(({ spec }) => spec.template !== undefined)
  assert.deepEqual(
    pods.map(({ metadata }) => metadata.name.replace('penstock-', '')),
    ['api', 'worker', 'console', 'migrate', 'index'],
  )
  for (const { metadata, spec } of pods) {
    const pod = spec.template.spec
    const [container] = pod.containers
    const own = Object.fromEntries((container!.env ?? []).map(({ name, value }) => [name, value]))
    requireStart(container!.args, { ...env, ...own }, metadata.name)
    assert.equal(pod.enableServiceLinks, false)
    assert.deepEqual(
      [pod.securityContext.runAsNonRoot, pod.securityContext.runAsUser],
      [true, 65532],
    )
    assert.deepEqual(container!.securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    assert.equal(container!.image, images![0]!.name)
    const secrets = [
      ...container!.envFrom.flatMap(({ secretRef }) => secretRef?.name ?? []),
      ...(pod.volumes ?? []).flatMap(({ secret }) => secret?.secretName ?? []),
    ]
    for (const name of secrets) assert.ok(guide.includes(`\`${name}\``), name)
    const volumes = [
      ...(pod.volumes ?? []),
      ...(spec.volumeClaimTemplates ?? []).map((one) => one.metadata),
    ].map(({ name }) => name)
    for (const { name } of container!.volumeMounts ?? []) assert.ok(volumes.includes(name), name)
    const named = new Map((container!.ports ?? []).map((one) => [one.name, one.containerPort]))
    if (container!.startupProbe) assert.ok(named.has(container!.startupProbe.httpGet.port))
    const expected: [string, keyof typeof OPTIONS, string][] = [
      ['http', 'port', '8080'],
      ['admin', 'admin-port', ''],
      ['console', 'console-port', ''],
    ]
    for (const [name, option, otherwise] of expected)
      if (named.has(name))
        assert.equal(portOf(container!.args, option, otherwise), String(named.get(name)))
    const reached = services.find((one) => one.metadata.name === metadata.name)
    for (const { targetPort } of reached?.spec.ports ?? [])
      assert.ok(named.has(String(targetPort)), `${metadata.name} ${targetPort}`)
  }
})

test('with the component for one index, workers start without', () => {
  const { kind, patches } = parse(deployed(`${component}/kustomization.yaml`)) as Kustomization
  assert.equal(kind, 'Component')
  const [{ target, patch } = assert.fail()] = patches!
  const patched = readResources(base).find(
    (one) => one.kind === target.kind && one.metadata.name === target.name,
  )
  const [added] = parse(patch) as { op: string; path: string; value: string }[]
  assert.deepEqual([added!.op, added!.path], ['add', '/spec/template/spec/containers/0/args/-'])
  requireStart([...patched!.spec.template.spec.containers[0]!.args, added!.value], {}, 'worker')
})

const units = globSync('deploy/systemd/*.service', { cwd: ROOT })

test('units start what there is, and timers units', () => {
  assert.ok(units.length >= 6)
  for (const path of units) {
    const text = readFileSync(join(ROOT, path), 'utf8')
    const line = /^ExecStart=([\s\S]*?[^\\])$/m.exec(text)![1]!.replace(/\\\n/g, ' ')
    const words = line
      .replace(/^.*main\.ts /, '')
      .trim()
      .split(/\s+/)
    assert.ok(readFileSync(join(ROOT, /\S+main\.ts/.exec(line)![0]), 'utf8').length > 0)
    const env = Array.from(text.matchAll(/^Environment=(\w+)=(.*)$/gm), ([, name, value]) => [
      name!,
      value!,
    ])
    const plain = words.filter((word) => word !== '$PENSTOCK_OPTIONS')
    requireStart(plain, Object.fromEntries(env), path)
    const role = plain[plain.indexOf('--role') + 1]
    if (plain[0] === 'serve') assert.equal(basename(path), `penstock-${role}.service`)
  }
  for (const timer of globSync('deploy/systemd/*.timer', { cwd: ROOT }))
    assert.ok(units.includes(timer.replace(/timer$/, 'service')), timer)
})

const EXPOSURE_MAX = 1.5
const NO_SYSTEMD = without(['systemd-analyze'], 'systemd brings it')

test('what is left to a unit is little', { skip: NO_SYSTEMD }, () => {
  const root = mkdtempSync(join(tmpdir(), 'penstock-units-'))
  try {
    cpSync(join(ROOT, 'deploy/systemd'), join(root, 'etc/systemd/system'), { recursive: true })
    for (const path of units) {
      const args = ['security', '--offline=yes', `--root=${root}`, basename(path)]
      const { stdout } = spawnSync('systemd-analyze', args, { encoding: 'utf8' })
      const exposure = /exposure level for \S+: ([\d.]+)/.exec(stdout)?.[1]
      assert.ok(Number(exposure) <= EXPOSURE_MAX, `${path}: ${exposure}`)
    }
  } finally {
    rmSync(root, { recursive: true })
  }
})
