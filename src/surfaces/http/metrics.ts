/** Prometheus metrics of the process: calls, durations, sizes of the stores, and pending work. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { ToolPin } from '../../../sdk/schema/gateway.ts'
import type { Evidence } from '../../../sdk/storage/evidence.ts'
import { countDecisions } from '../../../sdk/storage/groups.ts'
import { countKeyed, outboxCollection } from '../../../sdk/storage/keyed.ts'
import type { SearchState } from '../../../sdk/storage/search.ts'
import type { Store } from '../../../sdk/storage/store.ts'
import { type Astray, astray, type Observer } from '../../core/observed.ts'
import type { GuessedAt } from './limits.ts'

export interface Metrics {
  call(method: string, code: number, duration_ms: number): void
  verdict(verdict: string, mode: string): void
  astray(how: Astray): void
  passed: Observer['passed']
  embed(kind: 'document' | 'query', texts: number, duration_ms: number, failed: boolean): void
  /** Wrong credentials, by where they were presented. */
  authFailure(surface: GuessedAt): void
  /** A GitHub delivery and its result. */
  delivery(result: string): void
  /** Progress of a reindex, in decisions. */
  reindex(done: number, total: number): void
  /** The exposition text. */
  render(services: Measured): Promise<string>
  content_type: string
}

/** Services that are queried when the metrics are rendered. */
export interface Measured {
  store: Pick<Store, 'decisions' | 'keyed'>
  index: { state(): Promise<SearchState & { building: boolean }> }
  evidence: Pick<Evidence, 'head'>
  chain: { latest(): { intact: boolean } | null }
  /** Tools behind the gateway that wait for a person. */
  pins(): Promise<Pick<ToolPin, 'state'>[]>
}

const searchParts = ['decisions', 'indexed', 'in_memory', 'building'] as const

/** Upper bounds of the buckets of durations, in seconds. */
const seconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/**
 * @param known names that may be a label; others count as `unknown`, so that callers can't grow the set
 * @param servers names of the servers behind the gateway
 */
export function createMetrics(version: string, known: ReadonlySet<string>, servers: readonly string[] = []): Metrics {
  const registry = new Registry()
  const registers = [registry]
  const gauge = (name: string, help: string, ...labelNames: string[]) =>
    new Gauge({ name, help, labelNames, registers })
  const counter = (name: string, help: string, ...labelNames: string[]) =>
    new Counter({ name, help, labelNames, registers })
  const durations = (name: string, help: string, ...labelNames: string[]) =>
    new Histogram({ name, help, labelNames, buckets: seconds, registers })

  const requests = counter('cstp_requests_total', 'Calls by method and JSON-RPC code; 0 is success.', 'method', 'code')
  const verdicts = counter(
    'cstp_verdicts_total',
    'Verdicts on actions, by the mode in which they were given.',
    'verdict',
    'mode',
  )
  const strays = counter(
    'cstp_tool_calls_astray_total',
    'Tool calls that ran though denied, other than judged, or unjudged, by the reports of hooks.',
    'how',
  )
  const passing = counter(
    'cstp_gateway_calls_total',
    'Calls of tools that came to the gateway, by server and end: made (succeeded, failed, unknown), or not (refused, asked, withheld, unjudged).',
    'server',
    'end',
  )
  const answering = durations(
    'cstp_gateway_call_duration_seconds',
    'Time until a server behind the gateway answers.',
    'server',
  )
  const pinned = gauge(
    'cstp_gateway_tools_waiting',
    'Tools behind the gateway that are new or changed, and wait for a person.',
    'state',
  )
  const latency = durations('cstp_request_duration_seconds', 'Time from dispatch to result.', 'method')
  const decisions = gauge('cstp_decisions', 'Decisions in the store.')
  const outbox = gauge('cstp_outbox_depth', 'Decisions waiting to be embedded.')
  const embedLatency = durations('cstp_embed_duration_seconds', 'Duration of embedder calls.', 'kind')
  const embedTexts = counter('cstp_embed_texts_total', 'Texts embedded.', 'kind')
  const embedFailures = counter('cstp_embed_failures_total', 'Failed embedder calls.', 'kind')
  const deliveries = counter('cstp_webhook_deliveries_total', 'GitHub webhook deliveries by result.', 'result')
  const authFailures = counter('cstp_auth_failures_total', 'Failed authentications by surface.', 'surface')
  const reindexed = gauge('cstp_reindex_decisions', 'Decisions of the latest reindex: processed and total.', 'of')
  const searched = gauge(
    'cstp_search_index',
    'Contents of the search index: decisions, decisions with vectors, decisions in memory, and 1 while results may lack decisions.',
    'part',
  )
  const records = gauge('cstp_evidence_records', 'Records in the chain of evidence.')
  const intact = gauge(
    'cstp_evidence_intact',
    'Result of the latest verification of the chain: 1 intact, 0 damaged, -1 not verified yet.',
  )
  const memory = gauge('process_resident_memory_bytes', 'Resident memory of the process.')
  gauge('cstp_build_info', 'Version of the program.', 'version').set({ version }, 1)
  const started = gauge('process_start_time_seconds', 'Start time of the process, in seconds since 1970.')
  started.set(Math.round(Date.now() / 1_000))
  // To Prometheus, a series that begins with 1 has not increased: alerts would miss the first event.
  for (const how of astray) strays.inc({ how }, 0)
  for (const server of servers) for (const end of ['unjudged', 'unknown']) passing.inc({ server, end }, 0)

  return {
    call(name, code, duration_ms) {
      const method = known.has(name) ? name : 'unknown'
      requests.inc({ method, code })
      latency.observe({ method }, duration_ms / 1_000)
    },
    passed(server, end, duration_ms) {
      passing.inc({ server, end })
      if (duration_ms !== undefined) answering.observe({ server }, duration_ms / 1_000)
    },
    astray: (how) => strays.inc({ how }),
    verdict: (verdict, mode) => verdicts.inc({ verdict, mode }),
    embed(kind, texts, duration_ms, failed) {
      embedLatency.observe({ kind }, duration_ms / 1_000)
      if (failed) embedFailures.inc({ kind })
      else embedTexts.inc({ kind }, texts)
    },
    authFailure: (surface) => authFailures.inc({ surface }),
    delivery: (result) => deliveries.inc({ result }),
    reindex(done, total) {
      reindexed.set({ of: 'done' }, done)
      reindexed.set({ of: 'total' }, total)
    },
    async render({ store, index, evidence, chain, pins }) {
      const [count, waiting, tools, search, seq] = await Promise.all([
        countDecisions(store.decisions, {}),
        countKeyed(store.keyed, outboxCollection),
        pins(),
        // An unreachable index must not suppress the other figures.
        index.state().catch(() => null),
        // Nor must a damaged log.
        evidence.head().then(
          ({ seq }) => seq,
          () => Number.NaN,
        ),
      ])
      const verified = chain.latest()
      records.set(seq)
      intact.set(verified === null ? -1 : verified.intact ? 1 : 0)
      decisions.set(count)
      outbox.set(waiting)
      for (const state of ['new', 'changed']) pinned.set({ state }, tools.filter((one) => one.state === state).length)
      for (const part of searchParts) searched.set({ part }, search === null ? Number.NaN : Number(search[part]))
      memory.set(process.memoryUsage.rss())
      return registry.metrics()
    },
    content_type: registry.contentType,
  }
}

/** Workspaces with a label of their own. */
const mostLabels = 100

/** Series by workspace, beside the other metrics. @param requests by workspace */
export function workspaceMetrics(active: number, open: number, requests: ReadonlyMap<string, number>): string {
  const all = [...requests].sort(([, a], [, b]) => b - a)
  const rest = all.slice(mostLabels).reduce((sum, [, count]) => sum + count, 0)
  const series = [...all.slice(0, mostLabels), ...(rest > 0 ? [['(others)', rest] as const] : [])]
  return [
    '# HELP cstp_workspaces Workspaces that can be used, and those that are open.',
    '# TYPE cstp_workspaces gauge',
    `cstp_workspaces{state="active"} ${active}`,
    `cstp_workspaces{state="open"} ${open}`,
    `# HELP cstp_workspace_requests_total Requests by workspace: the ${mostLabels} with the most, and all others together.`,
    '# TYPE cstp_workspace_requests_total counter',
    ...series.map(([name, count]) => `cstp_workspace_requests_total{workspace="${name}"} ${count}`),
    '',
  ].join('\n')
}
