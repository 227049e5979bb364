/** The files of docs/deploy: they are well-formed, name settings and metrics that exist, and the key that they mount can be read. */
import { expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import Ajv from 'ajv'
import { parse, parseAllDocuments } from 'yaml'
import { settings } from '../../src/app/config/config.ts'
import { testNeeding } from '../support/needing.ts'
import { bareEnv, inTemporaryDir, root, run, serve } from '../support/process.ts'
import { buildGo, whyNoGo } from '../support/sumdb/go.ts'

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

/** The chart's values, and what its template makes of them. It uses this much of Helm, so that this much suffices to render it. */
async function rendered(given: object = {}) {
  const values = { ...parse(await read('helm/values.yaml')), ...given }
  const text = (await read('helm/templates/cstp.yaml')).replaceAll(/\{\{ (.+?) \}\}/g, (_, action: string) => {
    const [, json, place, name, sum] = /^(toJson )?\.(Values|Release)\.(\w+)( \| sha256sum)?$/.exec(action)!
    const value = place === 'Values' ? values[name!] : { Name: 'cstp' }[name!]
    expect([action, value === undefined]).toEqual([action, false])
    const shown = json ? JSON.stringify(value) : String(value)
    return sum ? createHash('sha256').update(shown).digest('hex') : shown
  })
  return { values, manifests: parseAllDocuments(text).map((one) => one.toJS()) }
}

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

test('the chart has probes of paths that exist, and a key that the user of the image can read', async () => {
  const { manifests } = await rendered()
  const kinds = ['ConfigMap', 'Deployment', 'Service', 'PodDisruptionBudget', 'NetworkPolicy']
  expect(manifests.map(({ kind }) => kind)).toEqual(kinds)
  const deployment = manifests[1]
  const { spec } = deployment.spec.template
  const [container] = spec.containers
  expect(container.readinessProbe.httpGet.path).toBe('/ready')
  expect(container.livenessProbe.httpGet.path).toBe('/health')
  expect(await read('Dockerfile')).toContain(`USER ${spec.securityContext.runAsUser}\n`)
  const key = spec.volumes.find(({ name }: { name: string }) => name === 'key')
  // The volume belongs to root and to this group.
  expect([spec.securityContext.fsGroup, key.secret.defaultMode & 0o040]).toEqual([10001, 0o040])
})

test('a changed setting of the chart restarts the servers, and a misspelt value is refused', async () => {
  const valid = new Ajv({ strict: false }).compile(JSON.parse(await read('helm/values.schema.json')))
  const settings = { CSTP_LOG_LEVEL: 'debug' }
  const [before, after] = [await rendered(), await rendered({ settings })]
  expect([valid(before.values), valid(after.values)]).toEqual([true, true])
  for (const wrong of [{ replica: 3 }, { replicas: 1 }, { settings: { LOG_LEVEL: 'debug' } }])
    expect([wrong, valid({ ...before.values, ...wrong })]).toEqual([wrong, false])
  expect(after.manifests[0].data).toEqual(settings)
  const [first, second] = [before, after].map(({ manifests }) => manifests[1].spec.template.metadata.annotations)
  expect(second.settings).not.toBe(first.settings)
})

test('every manifest of the chart fits the schema of Kubernetes', async () => {
  const folder = process.env.CSTP_KUBERNETES
  if (folder === undefined) return console.log('CSTP_KUBERNETES is not set (.ci/run sets it): not checked')
  for (const manifest of (await rendered()).manifests) {
    const kinds = await import(join(folder, 'kubernetes-models', manifest.apiVersion, 'index.js'))
    expect(() => new kinds[manifest.kind](manifest).validate()).not.toThrow()
  }
})

const goTitle = 'Go’s templates, with the functions that Helm gives them, render the chart to the same manifests'
test.skipIf(whyNoGo !== null)(whyNoGo === null ? goTitle : `${goTitle} (skipped: ${whyNoGo})`, () =>
  inTemporaryDir(async (dir) => {
    await buildGo(join(root, 'test/support/helm/main.go'), join(dir, 'render'))
    for (const given of [{}, { settings: { CSTP_LOG_LEVEL: 'debug' }, replicas: 3 }]) {
      const { values, manifests } = await rendered(given)
      await writeFile(join(dir, 'given.json'), JSON.stringify({ Values: values, Release: { Name: 'cstp' } }))
      const command = [join(dir, 'render'), at('helm/templates/cstp.yaml'), join(dir, 'given.json')]
      const { status, out, err } = await run(command, { cwd: dir, env: bareEnv(dir) })
      expect([status, err]).toEqual([0, ''])
      expect(parseAllDocuments(out).map((one) => one.toJS())).toEqual(manifests)
    }
  }),
)

testNeeding('helm', 'Helm renders the chart to the same manifests', async () => {
  const command = ['helm', 'template', 'cstp', at('helm')]
  const { status, out, err } = await run(command, { cwd: root, env: bareEnv(root) })
  expect([status, err]).toEqual([0, ''])
  const made = parseAllDocuments(out).map((one) => one.toJS())
  const { manifests } = await rendered()
  expect(new Map(made.map((one) => [one.kind, one]))).toEqual(new Map(manifests.map((one) => [one.kind, one])))
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

testNeeding('promtool', 'Prometheus takes the alerts and its own settings', async () => {
  const env = bareEnv(root)
  const checked = await run(['promtool', 'check', 'rules', at('prometheus/alerts.yaml')], { cwd: root, env })
  expect([checked.status, checked.err]).toEqual([0, ''])
  // The file of the token is only in the container.
  const own = ['promtool', 'check', 'config', '--syntax-only', at('prometheus/prometheus.yml')]
  expect((await run(own, { cwd: root, env })).status).toBe(0)
})
