/** A child process: fills a data directory through the real store. Arguments: directory, decisions, embedder id, dimensions. */
import { analyse } from '../../../src/domain/terms.ts'
import { openSqliteStore } from '../../../src/drivers/store/sqlite.ts'
import { recordOf, vectorsOf } from '../corpus.ts'

const [dir, size, embedder, dimensions] = process.argv.slice(2) as [string, string, string, string]
const batch = 250

const store = await openSqliteStore({ dir, analyse, now: Date.now, log: () => {} })
await store.transaction((tx) => tx.embeddings.start(embedder, Number(dimensions)))
for (let from = 0; from < Number(size); from += batch) {
  const numbers = Array.from({ length: Math.min(batch, Number(size) - from) }, (_, at) => from + at)
  const made = numbers.map((number) => ({ record: recordOf(number), vectors: vectorsOf(number, Number(dimensions)) }))
  await store.transaction(async (tx) => {
    for (const { record, vectors } of made) {
      await tx.decisions.create(record)
      await tx.embeddings.put(record.id, embedder, vectors)
    }
  })
}
await store.close()
