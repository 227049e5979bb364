/** recordDecision: durable and indexed when it answers, with either embedder. */
import { closeSync, fsyncSync, mkdtempSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Bench, type EmbedderName, tokens } from '../bench.ts'
import { callBody, inTurn, measured, post } from '../calls.ts'
import { paramsOf, recordOf } from '../corpus.ts'
import { isResult, type Load, percentile } from '../load.ts'
import { against, figuresOf, type Row, rowOf } from '../report.ts'
import { plainInsert } from './plain.ts'

const part = 'record'
const prepared = 20_000
const files = 300

/** Recorded, and found by meaning already. */
const isIndexed: Load['ok'] = (reply) => isResult(reply) && reply.body.includes('"indexed":true')

/** The least that durability costs: a file of 3 KB written, synced and renamed, with its folder. */
function durableFile(bench: Bench): Row {
  const dir = mkdtempSync(join(tmpdir(), 'cstp-bench-files-'))
  const folder = openSync(dir, 'r')
  const times = new Float64Array(files)
  for (let number = 0; number < files; number++) {
    const text = JSON.stringify(recordOf(number))
    const start = performance.now()
    const file = openSync(join(dir, 'new.tmp'), 'w')
    writeSync(file, text)
    fsyncSync(file)
    closeSync(file)
    renameSync(join(dir, 'new.tmp'), join(dir, `${number}.json`))
    fsyncSync(folder)
    times[number] = performance.now() - start
  }
  closeSync(folder)
  rmSync(dir, { recursive: true })
  const total = times.reduce((sum, time) => sum + time, 0)
  times.sort()
  const [p50_ms, p95_ms, p99_ms] = [0.5, 0.95, 0.99].map((share) => percentile(times, share))
  const figures = { p50_ms: p50_ms!, p95_ms: p95_ms!, p99_ms: p99_ms!, per_second: (1_000 * files) / total }
  return bench.add(rowOf(part, 'a file written, synced, renamed', { servers: null, clients: '1', ...figures }))
}

export async function record(bench: Bench): Promise<void> {
  const isShared = bench.store === 'postgres'
  const base = isShared ? await plainInsert(bench, part, await bench.empty('plain')) : durableFile(bench)
  // Each text is new to the embedder: numbers that were neither seeded nor sent before.
  const requests = Array.from({ length: prepared }, (_, at) => callBody('recordDecision', paramsOf(10_000_000 + at)))
  // The quick run shows whether several servers write as much as one; the hash embedder keeps embedding work out of the figure.
  const isQuick = isShared && bench.sizes.every((one) => one < 100_000)
  const embedders: EmbedderName[] = isQuick ? ['hash'] : ['hash', 'local']
  // What a record costs where many are there already. A million would have to be copied first.
  const larger = bench.sizes.filter((size) => size > bench.middle && size < 1_000_000)
  const asked = [
    ...embedders.map((embedder) => ({ embedder, size: bench.middle, numbers: isQuick ? [1, 3] : bench.servers })),
    ...larger.map((size) => ({
      embedder: isShared ? ('hash' as const) : ('local' as const),
      size,
      numbers: isShared ? [1, 3] : [1],
    })),
  ]
  for (const { embedder, size, numbers } of asked) {
    for (const servers of numbers) {
      const child = await bench.server(await bench.scratch(size, embedder), { embedder, servers })
      const next = inTurn(requests.map((body, at) => post(child, body, tokens[at % tokens.length])))
      for (const clients of servers === 1 ? [1, 32] : [32]) {
        // Each server compiles what it runs often: of several each gets a share of the requests only, and one has answered a single client before.
        const warm_ms = servers === 1 ? 1_000 : 2_000 * servers
        const found = await measured(child, { clients, next, ok: isIndexed, warm_ms, ms: 4_000 })
        const figures = { ...figuresOf(found), cpu_us: found.cpu_us, servers }
        const row = rowOf(part, `recordDecision, ${embedder} embedder`, { size, clients: String(clients), ...figures })
        bench.add(against(row, base))
      }
      await child.stop()
    }
  }
}
