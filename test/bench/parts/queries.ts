/**
 * queryDecisions in three modes. Known questions are in the embedder's cache, so that they show
 * the search without the embedding; new ones are embedded.
 */
import type { Bench } from '../bench.ts'
import { callBody, inTurn, measured, post, quietMs, readFigures } from '../calls.ts'
import { questionOf } from '../corpus.ts'
import { isResult } from '../load.ts'
import { against, figuresOf, type Row, rowOf } from '../report.ts'

const part = 'queries'
/** Fewer than the embedder caches. */
const known = 500
/** More than the embedder caches: asked in turn, each is new again. */
const fresh = 5_000
const modes = ['keyword', 'semantic', 'hybrid'] as const
type Mode = (typeof modes)[number]

const filters = { category: 'architecture', date_after: '2024-01-01' }

export async function queries(bench: Bench): Promise<void> {
  for (const size of bench.sizes) {
    let bases: ReadonlyMap<string, Row> = new Map()
    for (const servers of bench.serversAt(size)) {
      const rows = await measure(bench, size, servers, bases)
      if (bases.size === 0) bases = rows
    }
  }
}

/** @param bases rows of one server, to compare with */
async function measure(
  bench: Bench,
  size: number,
  servers: number,
  bases: ReadonlyMap<string, Row>,
): Promise<Map<string, Row>> {
  const child = await bench.quietServer(await bench.seeded(size), { servers })
  const rows = new Map<string, Row>()
  const add = (name: string, figures: Partial<Row>) => {
    const base = bases.get(name)
    const row = rowOf(part, name, { size, servers, ...figures })
    const compared = base ? { ...against(row, base), baseline: 'one server' } : row
    rows.set(name, bench.add(compared))
  }
  const requests = (mode: Mode, from: number, count: number, more: object = {}) =>
    Array.from({ length: count }, (_, at) =>
      post(child, callBody('queryDecisions', { query: questionOf(from + at, size), retrieval_mode: mode, ...more })),
    )
  /** Asks each server each of the known questions, so that their vectors are in its cache. */
  const learn = async () => {
    for (const url of child.urls) {
      const next = inTurn(requests('semantic', 0, known))
      await measured(
        { ...child, urls: [url] },
        { clients: 4, next, ok: isResult, warm_ms: 0, ms: 600_000, most: known },
      )
    }
  }
  const embedded = async (mode: Mode) => {
    const next = inTurn(requests(mode, known, fresh))
    const found = await measured(child, { clients: 1, next, ok: isResult, warm_ms: 500, ms: quietMs })
    add(`${mode} + embedding`, { ...figuresOf(found), clients: '1', cpu_us: found.cpu_us })
  }
  await learn()
  for (const mode of modes) {
    add(mode, await readFigures(child, inTurn(requests(mode, 0, known))))
  }
  add('hybrid with filters', await readFigures(child, inTurn(requests('hybrid', 0, known, { filters }))))
  if (servers === 1) {
    await embedded('semantic')
    await embedded('hybrid')
  }
  await child.stop()
  return rows
}
