/** The files of docs/deploy: they are well-formed, name settings and metrics that exist, and the key that they mount can be read. */
import { expect, test } from 'bun:test'
import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { parse, parseAllDocuments } from 'yaml'
import { settings } from '../../src/app/config/config.ts'
import { testNeeding } from '../support/needing.ts'
import { bareEnv, inTemporaryDir, root, run, serve } from '../support/process.ts'

const at = (...parts: string[]) => join(root, 'docs/deploy', ...parts)
const read = (...parts: string[]) => Bun.file(at(...parts)).text()

const variables = new Set(Object.values(settings).map(({ env }) => env))
const metrics = async () =>
  new Set(
    [...(await Bun.file(join(root, 'docs/reference/metrics.md')).text()).matchAll(/^\| `(\w+)`/gm)].map(
      ([, name]) => name!,
    ),
  )

/** Names of metrics of ours in an expression, without the suffixes of histograms. */
const namedIn = (text: string): string[] =>
  [...text.matchAll(/\b(?:cstp|process)_\w+/g)].map(([name]) => name.replace(/_(bucket|sum|count)$/, ''))

test('every variable of the compose file and of the manifest is a setting', async () => {
  const given = [
    ...`${await read('compose.yaml')}${await read('kubernetes.yaml')}`.matchAll(/\b(CSTP_\w+)(?=:|, value|=)/g),
  ]
  expect(given.length).toBeGreaterThan(8)
  for (const [, name] of given) expect([name, variables.has(name!)]).toEqual([name, true])
})

test('every metric of the alerts and of the dashboard exists', async () => {
  const known = await metrics()
  const alerts = parse(await read('prometheus/alerts.yaml')) as {
    groups: { rules: { alert: string; expr: string; annotations: Record<string, string> }[] }[]
  }
  const panels = (
    JSON.parse(await read('grafana/cstp.json')) as { panels: { title: string; targets: { expr: string }[] }[] }
  ).panels
  const expressions = [
    ...alerts.groups.flatMap(({ rules }) => rules.map(({ alert, expr }) => [alert, expr] as const)),
    ...panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr] as const)),
  ]
  expect(expressions.length).toBeGreaterThan(15)
  for (const [name, expr] of expressions)
    expect([name, namedIn(expr).filter((one) => !known.has(one))]).toEqual([name, []])
  for (const { rules } of alerts.groups)
    for (const { alert, annotations } of rules)
      expect([alert, Object.keys(annotations)]).toEqual([alert, ['summary', 'description']])
})

test('the manifest has probes of paths that exist, and a key that the user of the image can read', async () => {
  const [deployment, service, budget, network] = parseAllDocuments(await read('kubernetes.yaml')).map((one) =>
    one.toJS(),
  )
  expect([service.kind, budget.kind, network.kind]).toEqual(['Service', 'PodDisruptionBudget', 'NetworkPolicy'])
  const { spec } = deployment.spec.template
  const [container] = spec.containers
  expect(container.readinessProbe.httpGet.path).toBe('/ready')
  expect(container.livenessProbe.httpGet.path).toBe('/health')
  expect(await read('Dockerfile')).toContain(`USER ${spec.securityContext.runAsUser}\n`)
  const key = spec.volumes.find(({ name }: { name: string }) => name === 'key')
  // The volume belongs to root and to this group.
  expect([spec.securityContext.fsGroup, key.secret.defaultMode & 0o040]).toEqual([10001, 0o040])
})

testNeeding('openssl', 'a key made as the manifest says starts a service, also if its group may read it', () =>
  inTemporaryDir(async (dir) => {
    const file = join(dir, 'evidence.pem')
    const line = /openssl genpkey -algorithm ed25519 -out evidence\.pem/.exec(await read('kubernetes.yaml'))![0]
    expect((await run(line.split(' '), { cwd: dir, env: bareEnv(dir) })).status).toBe(0)
    await chmod(file, 0o440)
    const service = await serve(bareEnv(join(dir, 'data'), { CSTP_EVIDENCE_KEY: file }))
    expect((await fetch(`${service.url}/ready`)).status).toBe(200)
    expect((await service.stop()).status).toBe(0)
  }),
)

testNeeding('promtool', 'Prometheus takes the alerts and its own settings', async () => {
  const env = bareEnv(root)
  const checked = await run(['promtool', 'check', 'rules', at('prometheus/alerts.yaml')], { cwd: root, env })
  expect([checked.status, checked.err]).toEqual([0, ''])
})
