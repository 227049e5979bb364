/** What goes through a whole store, as commands of the program: how long it takes, and the most memory it needs. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Bench } from '../bench.ts'
import { callBody, inTurn, measured, post } from '../calls.ts'
import { questionOf } from '../corpus.ts'
import { isResult } from '../load.ts'
import type { Ended } from '../process.ts'
import { rowOf } from '../report.ts'

const part = 'whole'
const mb = 1_048_576
/** Lines that are imported into each store. */
const imported = 500
const asked = 2_000
const searchedMs = 5_000

/** The first lines of a file. */
async function head(path: string, count: number): Promise<string> {
  const lines: string[] = []
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of Bun.file(path).stream()) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = parts.pop()!
    lines.push(...parts)
    if (lines.length >= count) break
  }
  return `${lines.slice(0, count).join('\n')}\n`
}

async function searches(bench: Bench, size: number): Promise<void> {
  const child = await bench.server(await bench.seeded(size))
  const bodies = Array.from({ length: asked }, (_, at) =>
    callBody('queryDecisions', { query: questionOf(at, size), retrieval_mode: 'hybrid' }),
  )
  const next = inTurn(bodies.map((body) => post(child, body)))
  const { failures } = await measured(child, { clients: 8, next, ok: isResult, warm_ms: 0, ms: searchedMs })
  bench.add(rowOf(part, 'a server that starts and searches', { size, rss_mb: child.peakRss() / mb, failures }))
  await child.stop()
}

export async function whole(bench: Bench): Promise<void> {
  for (const size of bench.sizes) {
    await searches(bench, size)
    const add = (what: string, count: number, { ms, cpu_seconds, peakRss }: Ended) =>
      bench.add(
        rowOf(part, what, {
          size,
          clients: '1',
          p50_ms: ms,
          per_second: (1_000 * count) / ms,
          cpu_us: (cpu_seconds * 1e6) / count,
          rss_mb: peakRss / mb,
        }),
      )
    // Beside the copies, which are as large.
    const copy = await bench.scratch(size, 'local')
    const folder = await mkdtemp(join(bench.store === 'embedded' ? dirname(copy) : tmpdir(), 'lines-'))
    const [all, some] = [join(folder, 'all.jsonl'), join(folder, 'some.jsonl')]
    add('export', size, await bench.command(['export', '--local', '--out', all], copy))
    await Bun.write(some, await head(all, imported))
    await rm(all)
    add(`import of ${imported} lines`, imported, await bench.command(['import', '--local', some], copy))
    const more = size + imported
    add('reindex, hash embedder', more, await bench.command(['reindex', '--local'], copy, 'hash'))
    await bench.discard(copy)
    const [from, to] = [await bench.seeded(size), await bench.empty('migrated')]
    add('migrate', size, await bench.command(['migrate', '--from', from, '--to', to]))
    await bench.discard(to)
    await rm(folder, { recursive: true, force: true })
  }
}
