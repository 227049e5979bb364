/** The files of docs/deploy: they are well-formed, name settings and metrics that exist, and the key that they mount can be read. */
import { expect, test } from 'bun:test'
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse, parseAllDocuments } from 'yaml'
import { settings } from '../../src/app/config/config.ts'
import { testNeeding } from '../support/needing.ts'
import { bareEnv, inTemporaryDir, root, run, serve, testDir, testServer } from '../support/process.ts'

const at = (...parts: string[]) => join(root, 'docs/deploy', ...parts)
const read = (...parts: string[]) => Bun.file(at(...parts)).text()

const variables = new Set(Object.values(settings).map(({ env }) => env))

interface Alert {
  alert: string
  expr: string
  labels: Record<string, string>
  annotations: Record<string, string>
}
const alerts = async () =>
  (parse(await read('prometheus/alerts.yaml')) as { groups: { rules: Alert[] }[] }).groups.flatMap(({ rules }) => rules)

/** Titles, queries and legends of the dashboard. */
async function panels(): Promise<(readonly [title: string, expr: string, legend: string])[]> {
  const given = JSON.parse(await read('grafana/cstp.json')) as {
    panels: { title: string; targets: { expr: string; legendFormat: string }[] }[]
  }
  return given.panels.flatMap(({ title, targets }) =>
    targets.map(({ expr, legendFormat }) => [title, expr, legendFormat] as const),
  )
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

test('a running program has every metric and label of the alerts and of the dashboard, and counters of rare events from the start', async () => {
  const dir = await testDir()
  const config = join(dir, 'config.yaml')
  const command = [process.execPath, join(root, 'test/support/tool-server.ts')]
  await writeFile(config, JSON.stringify({ gateway: { tools: { command } } }))
  const server = await testServer({ dir, env: { CSTP_CONFIG: config } })
  const scrape = async (token: string) =>
    (await fetch(`${server.url}/metrics`, { headers: { authorization: `Bearer local:${token}` } })).text()
  await scrape('wrong')
  await server.call('checkGuardrails', { action: { description: 'x', category: 'y' } })
  const text = await scrape((await Bun.file(join(dir, 'token')).text()).trim())
  /** Labels by metric; those of Prometheus itself are of all. */
  const exposed = new Map<string, Set<string>>([['up', new Set()]])
  for (const [, name = '', labels = ''] of text.matchAll(/^(\w+)(?:\{(.*)\})? /gm))
    exposed.set(name, new Set(['job', 'instance', ...[...labels.matchAll(/(\w+)="/g)].map(([, label]) => label!)]))
  const expressions = [...(await alerts()).map(({ alert, expr }) => [alert, expr, ''] as const), ...(await panels())]
  expect(expressions.length).toBeGreaterThan(15)
  for (const [name, expr, legend] of expressions) {
    const metrics = [...expr.matchAll(/\b(?:up|(?:cstp|process)_\w+)\b/g)].map(([metric]) => metric)
    expect([name, metrics.filter((one) => !exposed.has(one))]).toEqual([name, []])
    const known = new Set(metrics.flatMap((one) => ['job', ...exposed.get(one)!]))
    const labels = [
      ...[...expr.matchAll(/(\w+)[=!]~?"/g), ...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label!),
      ...[...expr.matchAll(/\b(?:by|ignoring) ?\(([^)]*)\)/g)].flatMap(([, list]) => list!.split(', ')),
    ]
    expect([name, labels.filter((label) => !known.has(label))]).toEqual([name, []])
    // The first event would be no increase of a series that begins with it.
    const [, metric, label, values] = /increase\((\w+)\{(\w+)=~?"([^"]+)"/.exec(expr) ?? []
    for (const value of values?.split('|') ?? [])
      expect([value, text]).toEqual([
        value,
        expect.stringMatching(RegExp(`^${metric}\\{(?:.*,)?${label}="${value}"(?:,.*)?\\} 0$`, 'm')),
      ])
  }
})

/** What an alert fires for, and what it must not fire for: series with their values, one a minute. */
const seen: Record<string, [sick: Record<string, string>, healthy: Record<string, string>]> = {
  CstpDown: [{ 'up{job="cstp"}': '1x20 0x10' }, { 'up{job="cstp"}': '1x20 0 1x10' }],
  CstpFailures: [
    { 'cstp_requests_total{code="-32010"}': '0+12x30' },
    { 'cstp_requests_total{code="-32602"}': '0+60x30' },
  ],
  CstpEvidenceDamaged: [{ cstp_evidence_intact: '1x20 0x10' }, { cstp_evidence_intact: '-1x20 1x10' }],
  CstpDisobeyed: [
    { 'cstp_tool_calls_astray_total{how="though_denied"}': '0x20 1x10' },
    { 'cstp_tool_calls_astray_total{how="though_denied"}': '1x30' },
  ],
  CstpUnjudged: [
    { 'cstp_tool_calls_astray_total{how="unjudged"}': '0x20 1x10' },
    { 'cstp_tool_calls_astray_total{how="unjudged"}': '0x30' },
  ],
  CstpToolChanged: [
    { 'cstp_gateway_tools_waiting{state="changed"}': '0x20 1x10' },
    { 'cstp_gateway_tools_waiting{state="new"}': '3x30' },
  ],
  CstpGatewayFails: [
    { 'cstp_gateway_calls_total{server="files", end="unknown"}': '0x20 1x10' },
    { 'cstp_gateway_calls_total{server="files", end="failed"}': '0+60x30' },
  ],
  CstpNotIndexed: [
    { 'cstp_search_index{part="decisions"}': '10x30', 'cstp_search_index{part="indexed"}': '9x30' },
    { 'cstp_search_index{part="decisions"}': '10x30', 'cstp_search_index{part="indexed"}': '9x20 10x10' },
  ],
  CstpSlowChecks: [
    {
      'cstp_request_duration_seconds_bucket{method="cstp.checkGuardrails", le="0.25"}': '0+98x30',
      'cstp_request_duration_seconds_bucket{method="cstp.checkGuardrails", le="0.5"}': '0+100x30',
      'cstp_request_duration_seconds_bucket{method="cstp.checkGuardrails", le="+Inf"}': '0+100x30',
    },
    {
      'cstp_request_duration_seconds_bucket{method="cstp.checkGuardrails", le="0.25"}': '0+100x30',
      'cstp_request_duration_seconds_bucket{method="cstp.checkGuardrails", le="+Inf"}': '0+100x30',
    },
  ],
  CstpGuessing: [
    { 'cstp_auth_failures_total{surface="cstp"}': '0+120x30' },
    { 'cstp_auth_failures_total{surface="cstp"}': '0+6x30' },
  ],
}

testNeeding('promtool', 'every alert fires for what it names, and for nothing healthy', () =>
  inTemporaryDir(async (dir) => {
    const rules = await alerts()
    expect(rules.map(({ alert }) => alert)).toEqual(Object.keys(seen))
    const tests = rules.flatMap(({ alert, expr, labels, annotations }) =>
      seen[alert]!.map((series, index) => {
        const [kept = ''] = expr.startsWith('sum') || expr.startsWith('hist') ? [] : Object.keys(series)
        const own = Object.fromEntries(
          [...kept.matchAll(/(\w+)="([^"]*)"/g)]
            .map(([, label, value]) => [label, value])
            .filter(([label]) => !expr.includes(`ignoring(${label})`)),
        )
        const fired = { exp_labels: { ...own, ...labels }, exp_annotations: annotations }
        return {
          interval: '1m',
          input_series: Object.entries(series).map(([one, values]) => ({ series: one, values })),
          alert_rule_test: [{ eval_time: '25m', alertname: alert, exp_alerts: index === 0 ? [fired] : [] }],
        }
      }),
    )
    const file = join(dir, 'test.json')
    await writeFile(
      file,
      JSON.stringify({ rule_files: [at('prometheus/alerts.yaml')], evaluation_interval: '1m', tests }),
    )
    const { status, out, err } = await run(['promtool', 'test', 'rules', file], { cwd: dir, env: bareEnv(dir) })
    expect([status, out + err]).toEqual([0, expect.stringContaining('SUCCESS')])
  }),
)

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
