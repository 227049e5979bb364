/** The files of docs/deploy: they are well-formed, name settings and metrics that exist, and the key that they mount can be read. */
import { expect, test } from 'bun:test'
import { chmod, writeFile } from 'node:fs/promises'
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

/** Titles and queries of the dashboard. */
async function panels(): Promise<(readonly [title: string, expr: string])[]> {
  const given = JSON.parse(await read('grafana/cstp.json')) as {
    panels: { title: string; targets: { expr: string }[] }[]
  }
  return given.panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr] as const))
}

const helm = (...args: string[]) => run(['helm', ...args], { cwd: root, env: bareEnv(root) })

/** The manifests that Helm makes of the chart. @param values other values than the chart's own, as a file of them has */
const rendered = (values: object = {}) =>
  inTemporaryDir(async (dir) => {
    await writeFile(join(dir, 'values.yaml'), JSON.stringify(values))
    const { status, out, err } = await helm('template', 'ours', at('helm'), '--values', join(dir, 'values.yaml'))
    expect([status, err]).toEqual([0, ''])
    return new Map(parseAllDocuments(out).map((one) => [one.get('kind') as string, one.toJS()]))
  })

test('every variable of the compose file and of the chart is a setting', async () => {
  const chart = await Promise.all(['values', 'templates/cstp'].map((name) => read(`helm/${name}.yaml`)))
  const given = [...`${await read('compose.yaml')}${chart}`.matchAll(/\b(CSTP_\w+)(?=:|, value|=)/g)]
  expect(given.length).toBeGreaterThan(8)
  for (const [, name] of given) expect([name, variables.has(name!)]).toEqual([name, true])
})

test('every metric of the alerts and of the dashboard exists', async () => {
  const known = await metrics()
  const alerts = parse(await read('prometheus/alerts.yaml')) as {
    groups: { rules: { alert: string; expr: string; annotations: Record<string, string> }[] }[]
  }
  const expressions = [
    ...alerts.groups.flatMap(({ rules }) => rules.map(({ alert, expr }) => [alert, expr] as const)),
    ...(await panels()),
  ]
  expect(expressions.length).toBeGreaterThan(15)
  for (const [name, expr] of expressions)
    expect([name, namedIn(expr).filter((one) => !known.has(one))]).toEqual([name, []])
  for (const { rules } of alerts.groups)
    for (const { alert, annotations } of rules)
      expect([alert, Object.keys(annotations)]).toEqual([alert, ['summary', 'description']])
})

testNeeding(
  'helm',
  'the chart has probes of paths that exist, and a key that the user of the image can read',
  async () => {
    const manifests = await rendered()
    const kinds = ['ConfigMap', 'Deployment', 'NetworkPolicy', 'PodDisruptionBudget', 'Service']
    expect([...manifests.keys()].sort()).toEqual(kinds)
    for (const { metadata } of manifests.values()) expect(metadata.name).toBe('ours')
    const { spec } = manifests.get('Deployment').spec.template
    const [container] = spec.containers
    expect(container.readinessProbe.httpGet.path).toBe('/ready')
    expect(container.livenessProbe.httpGet.path).toBe('/health')
    expect(await read('Dockerfile')).toContain(`USER ${spec.securityContext.runAsUser}\n`)
    const key = spec.volumes.find(({ name }: { name: string }) => name === 'key')
    // The volume belongs to root and to this group.
    expect([spec.securityContext.fsGroup, key.secret.defaultMode & 0o040]).toEqual([10001, 0o040])
  },
)

testNeeding('helm', 'a changed setting of the chart restarts the servers, and nothing else does', async () => {
  const settings = { CSTP_LOG_LEVEL: 'debug' }
  const [before, after, more] = [await rendered(), await rendered({ settings }), await rendered({ replicas: 3 })]
  expect(after.get('ConfigMap').data).toEqual(settings)
  const [first, second, third] = [before, after, more].map((made) => made.get('Deployment').spec)
  expect([first.replicas, third.replicas]).toEqual([2, 3])
  expect(second.template).not.toEqual(first.template)
  expect(third.template).toEqual(first.template)
})

testNeeding(
  'helm',
  'Helm finds nothing wrong in the chart, and refuses values that are misspelt by their name',
  async () => {
    const { status, out } = await helm('lint', '--strict', at('helm'))
    expect([status, out]).toEqual([0, expect.stringContaining('0 chart(s) failed')])
    for (const [wrong, named] of [
      ['replica=3', "additional properties 'replica' not allowed"],
      ['replicas=1', "at '/replicas': minimum"],
      ['settings.LOG_LEVEL=debug', "'LOG_LEVEL' does not match pattern"],
    ] as const) {
      const refused = await helm('template', 'ours', at('helm'), '--set', wrong)
      expect([wrong, refused.status, refused.err]).toEqual([wrong, 1, expect.stringContaining(named)])
    }
  },
)

testNeeding('helm', 'every manifest of the chart fits the schema of Kubernetes', async () => {
  const folder = process.env.CSTP_KUBERNETES
  if (folder === undefined) return console.log('CSTP_KUBERNETES is not set (.ci/run sets it): not checked')
  for (const manifest of (await rendered()).values()) {
    const kinds = await import(join(folder, 'kubernetes-models', manifest.apiVersion, 'index.js'))
    expect(() => new kinds[manifest.kind](manifest).validate()).not.toThrow()
  }
})

testNeeding('openssl', 'a key made as the guide says starts a service, also if its group may read it', () =>
  inTemporaryDir(async (dir) => {
    const file = join(dir, 'evidence.pem')
    const line = /openssl genpkey -algorithm ed25519 -out evidence\.pem/.exec(await read('../guide/scaling.md'))![0]
    expect((await run(line.split(' '), { cwd: dir, env: bareEnv(dir) })).status).toBe(0)
    await chmod(file, 0o440)
    const service = await serve(bareEnv(join(dir, 'data'), { CSTP_EVIDENCE_KEY: file }))
    expect((await fetch(`${service.url}/ready`)).status).toBe(200)
    expect((await service.stop()).status).toBe(0)
  }),
)

testNeeding('promtool', 'Prometheus takes the alerts, the queries of the dashboard, and its own settings', () =>
  inTemporaryDir(async (dir) => {
    const promtool = (...args: string[]) => run(['promtool', 'check', ...args], { cwd: dir, env: bareEnv(dir) })
    const rules = (await panels()).map(([, expr], number) => ({ record: `panel:${number}`, expr }))
    const queries = join(dir, 'queries.yaml')
    await writeFile(queries, JSON.stringify({ groups: [{ name: 'panels', rules }] }))
    for (const file of [at('prometheus/alerts.yaml'), queries]) {
      const checked = await promtool('rules', file)
      expect([checked.status, checked.err]).toEqual([0, ''])
    }
    // The file of the token is only in the container.
    expect((await promtool('config', '--syntax-only', at('prometheus/prometheus.yml'))).status).toBe(0)
  }),
)
