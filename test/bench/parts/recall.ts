/** The share of the ten nearest decisions that a search by meaning over HTTP finds. */
import { analyse } from '../../../src/domain/search/terms.ts'
import { openSqliteStore } from '../../../src/drivers/store/sqlite/driver.ts'
import { type Bench, token } from '../bench.ts'
import { callBody } from '../calls.ts'
import { questionOf } from '../corpus.ts'
import { openEmbedderOf } from '../embedders.ts'
import { nearestIds } from '../exhaustive.ts'
import { rowOf } from '../report.ts'

const asked = 50
const k = 10

export async function recall(bench: Bench): Promise<void> {
  // The index of a server is the same on every store.
  if (bench.store !== 'embedded') return
  const embedder = await openEmbedderOf('local')
  for (const size of bench.sizes) {
    const place = await bench.seeded(size)
    const texts = Array.from({ length: asked }, (_, at) => questionOf(at, size))
    const vectors = await embedder.embed(texts, 'query', new AbortController().signal)
    const store = await openSqliteStore({ dir: place, analyse, now: Date.now, log: () => {} })
    const nearest = await nearestIds(store.feed, vectors, k)
    await store.close()
    const child = await bench.quietServer(place)
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    let hits = 0
    for (const [at, query] of texts.entries()) {
      const body = callBody('queryDecisions', { query, limit: k, retrieval_mode: 'semantic' })
      const answer = await fetch(`${child.url}/cstp`, { method: 'POST', headers, body })
      const { result } = (await answer.json()) as { result: { decisions: { id: string }[] } }
      hits += result.decisions.filter(({ id }) => nearest[at]!.has(id)).length
    }
    await child.stop()
    const row = { size, ratio: hits / (k * asked), baseline: 'every decision looked at' }
    bench.add(rowOf('recall', `recall@${k} by meaning, ${asked} questions`, row))
  }
  await embedder.close()
}
