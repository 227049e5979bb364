/** A child process: fills a data directory through the real store. Arguments: directory, decisions, name of the embedder, projects. */
import { analyse } from '../../../src/domain/search/terms.ts'
import { openSqliteStore } from '../../../src/drivers/store/sqlite/driver.ts'
import { recordOf, vectorMaker } from '../corpus.ts'
import { openEmbedderOf } from '../embedders.ts'

const [dir, given, name, projects] = process.argv.slice(2) as [string, string, string, string | undefined]
const size = Number(given)
const batch = 250

const embedder = await openEmbedderOf(name)
const vectorsOf = await vectorMaker(embedder)
const store = await openSqliteStore({ dir, analyse, now: Date.now, log: () => {} })
await store.transaction((tx) => tx.embeddings.start(embedder.id, embedder.effective_dimensions))
for (let from = 0; from < size; from += batch) {
  const numbers = Array.from({ length: Math.min(batch, size - from) }, (_, at) => from + at)
  const made = numbers.map((number) => ({
    record: recordOf(number, projects === undefined ? undefined : Number(projects)),
    vectors: vectorsOf(number),
  }))
  await store.transaction(async (tx) => {
    for (const { record, vectors } of made) {
      await tx.decisions.put(record, 0)
      await tx.embeddings.put(record.id, { embedder: embedder.id, vectors })
    }
  })
}
await store.close()
await embedder.close()
