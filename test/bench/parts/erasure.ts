/** eraseDecision among many decisions: how others are answered meanwhile, and what memory it takes. */
import { type Bench, token } from '../bench.ts'
import { callBody, inTurn, measured, post } from '../calls.ts'
import { idOf, paramsOf, questionOf } from '../corpus.ts'
import { isResult, type Measured } from '../load.ts'
import { rowOf } from '../report.ts'

const part = 'erasure'
const clients = 16
const mb = 1_048_576

export async function erasure(bench: Bench): Promise<void> {
  if (bench.store !== 'embedded') return
  for (const size of bench.sizes.filter((one) => one <= 100_000)) {
    const child = await bench.quietServer(await bench.scratch(size, 'hash'))
    const bodies = Array.from({ length: 1_000 }, (_, at) => [
      callBody('queryDecisions', { query: questionOf(at, size), retrieval_mode: 'keyword' }),
      callBody('getDecision', { id: idOf((at * 7) % size) }),
      callBody('recordDecision', paramsOf(20_000_000 + at)),
      callBody('checkGuardrails', { action: { description: questionOf(at, size), category: 'delivery' } }),
    ]).flat()
    const load = { clients, next: inTurn(bodies.map((body) => post(child, body))), ok: isResult }
    await measured(child, { ...load, warm_ms: 1_000, ms: 4_000 })
    const before = child.rss()
    child.forgetPeak()
    const start = performance.now()
    let took = 0
    const erasing = fetch(`${child.url}/cstp`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: callBody('eraseDecision', { id: idOf(size >> 1), basis: 'GDPR Art. 17', reason: 'bench' }),
    }).then(async (answer) => {
      took = performance.now() - start
      const text = await answer.text()
      if (!text.includes('"pending":[]')) console.error(text)
    })
    let ended = false
    erasing.finally(() => {
      ended = true
    })
    const found: Measured[] = []
    while (!ended) found.push(await measured(child, { ...load, warm_ms: 0, ms: 2_000 }))
    await erasing
    const worst = (figure: (one: Measured) => number) => Math.max(...found.map(figure))
    bench.add(
      rowOf(part, 'others while one is erased, the worst 2 s', {
        size,
        clients: String(clients),
        p50_ms: worst(({ p50_ms }) => p50_ms),
        p95_ms: worst(({ p95_ms }) => p95_ms),
        p99_ms: worst(({ p99_ms }) => p99_ms),
        rss_mb: (child.peakRss() - before) / mb,
        failures: found.reduce((sum, { failures }) => sum + failures, 0),
      }),
    )
    bench.add(rowOf(part, 'eraseDecision meanwhile', { size, clients: '1', p50_ms: took }))
    await child.stop()
  }
}
