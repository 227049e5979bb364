/** The reference page of the metrics, read from the output of a registry in which each metric was set once. */
import { createMetrics, workspaceMetrics } from '../surfaces/http/metrics.ts'
import { page, table } from './markdown.ts'

interface MetricText {
  name: string
  help: string
  type: string
  labels: string[]
}

async function exposed(): Promise<MetricText[]> {
  const metrics = createMetrics('0', new Set(['cstp.getStats']))
  metrics.call('cstp.getStats', 0, 1)
  metrics.verdict('allow', 'enforce')
  metrics.passed('files', 'succeeded', 1)
  metrics.embed('query', 1, 1, false)
  metrics.embed('query', 1, 1, true)
  metrics.authFailure('cstp')
  metrics.delivery('ingested')
  metrics.reindex(1, 1)
  const rendered = await metrics.render({
    store: { decisions: { groups: async () => [] } as never, keyed: { list: async () => [] } as never },
    index: { state: async () => ({}) as never },
    evidence: { head: async () => ({ seq: 0 }) as never },
    chain: { latest: () => null },
    pins: async () => [],
  })
  const text = `${rendered}\n${workspaceMetrics(1, 1, new Map([['payments', 1]]))}`
  return [...text.matchAll(/^# HELP (\S+) (.*)\n# TYPE \S+ (\w+)\n((?:[^#\n].*\n?)*)/gm)].map(
    ([, name = '', help = '', type = '', samples = '']) => ({
      name,
      help,
      type,
      labels: [...new Set([...samples.matchAll(/[{,](\w+)="/g)].map(([, label]) => label!))].filter(
        (label) => label !== 'le',
      ),
    }),
  )
}

export async function metricsPage(): Promise<string> {
  const rows = (await exposed())
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, type, labels, help }) => [
      `\`${name}\``,
      type,
      labels.map((label) => `\`${label}\``).join(', '),
      help,
    ])
  const about =
    '`GET /metrics` with a token of the scope `read` answers in the text format of Prometheus. What to alert on is in [Operating](../guide/operating.md).'
  return page('Metrics', about, table(['Metric', 'Type', 'Labels', 'Meaning'], rows))
}
