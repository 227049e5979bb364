/** checkGuardrails through the dispatcher, its audit line included, and the evaluation alone: 10, 100 and 1 000 rules; then over HTTP. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadSettings } from '../../../src/app/config/config.ts'
import { openProgram } from '../../../src/app/server.ts'
import { openHistory } from '../../../src/domain/policy/facts/live-history.ts'
import { evaluate } from '../../../src/domain/policy/rules/evaluate.ts'
import { buildPolicy, type PolicySet } from '../../../src/domain/policy/rules/set.ts'
import { compileDraft } from '../../../src/policy/files.ts'
import { type Bench, token } from '../bench.ts'
import { percentile } from '../load.ts'
import { against, rowOf } from '../report.ts'
import { action, guardrailsOverHttp, plainRules } from './guardrails-http.ts'

const part = 'guardrails'
const asked = 3_000

async function rulesOf(count: number): Promise<PolicySet> {
  const { set } = await buildPolicy([{ name: 'bench.yaml', text: JSON.stringify(plainRules(count)) }], async () => null)
  return set!
}

async function timed(work: () => Promise<unknown>) {
  const times = new Float64Array(asked)
  for (let at = -asked / 5; at < asked; at++) {
    const start = performance.now()
    await work()
    if (at >= 0) times[at] = performance.now() - start
  }
  const total = times.reduce((sum, time) => sum + time, 0)
  times.sort()
  const [p50_ms, p95_ms, p99_ms] = [0.5, 0.95, 0.99].map((share) => percentile(times, share))
  return { clients: '1', p50_ms: p50_ms!, p95_ms: p95_ms!, p99_ms: p99_ms!, per_second: (1_000 * asked) / total }
}

export async function guardrails(bench: Bench): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'cstp-bench-rules-'))
  const place = bench.store === 'postgres' ? await bench.empty('rules') : dir
  const own = await bench.env(place, bench.drivers[0]!)
  const env = { HOME: dir, CSTP_EMBEDDER: 'hash', CSTP_AUTH_TOKENS: token, ...own }
  const { settings } = await loadSettings({ env, flags: {}, readFile: async () => '' })
  const policy = {
    set: await rulesOf(0),
    current: async () => policy.set,
    reload: async () => [],
    errors: () => [],
    draft: compileDraft,
    add: async () => ({ file: null, errors: [] }),
  }
  const program = await openProgram(
    settings,
    Object.assign(() => {}, { flush() {} }),
    { policy },
  )
  const { signal } = new AbortController()
  const caller = { agent: 'bench', scopes: new Set(['read', 'write'] as const) }
  const request = { method: 'cstp.checkGuardrails', params: { action }, caller, request_id: 'b', signal }
  const judged = {
    ...action,
    tags: [],
    project: null,
    pr: null,
    scope: null,
    agent_id: 'bench',
    phase: 'check' as const,
    reason_count: null,
    quality_score: null,
    instruction_like: false,
    has_deliberation: false,
    has_reasoning: false,
    has_query: false,
    has_check: false,
  }
  try {
    for (const count of [10, 100, 1_000]) {
      policy.set = await rulesOf(count)
      const history = openHistory({ ...program.services, signal })
      const alone = await timed(() =>
        evaluate(policy.set.rules, { ...judged, context: { ...judged.context } }, history, () => {}),
      )
      const base = bench.add(rowOf(part, `${count} rules, evaluated alone`, alone))
      const row = rowOf(
        part,
        `checkGuardrails, ${count} rules, with its audit line`,
        await timed(() => program.dispatch(request)),
      )
      bench.add(against(row, base))
    }
  } finally {
    await program.close()
    await rm(dir, { recursive: true })
  }
  await guardrailsOverHttp(bench)
}
