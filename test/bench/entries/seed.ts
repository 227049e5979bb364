/**
 * A child process: fills an empty store through its port, some decisions a transaction.
 * Arguments: data directory, or address of a database; decisions; name of the embedder; projects.
 */
import { markTexts } from '../../../src/domain/search/follow-texts.ts'
import { analyse } from '../../../src/domain/search/terms.ts'
import { openPostgresStore } from '../../../src/drivers/store/postgres/driver.ts'
import { openSqliteStore } from '../../../src/drivers/store/sqlite/driver.ts'
import { recordOf, vectorMaker } from '../corpus.ts'
import { openEmbedderOf } from '../embedders.ts'

const [place, given, name, projects] = process.argv.slice(2) as [string, string, string, string | undefined]
const size = Number(given)
const batch = 500
const store = place.startsWith('postgres')
  ? await openPostgresStore({ url: place, analyse, now: Date.now, statement_timeout_ms: 0 })
  : await openSqliteStore({ dir: place, analyse, now: Date.now, log: () => {} })
const embedder = await openEmbedderOf(name)
const vectorsOf = await vectorMaker(embedder)
await store.transaction((tx) =>
  tx.embeddings.putGeneration({ state: 'building', embedder: embedder.id, dimensions: embedder.effective_dimensions }),
)
for (let from = 0; from < size; from += batch)
  await store.transaction(async (tx) => {
    for (let number = from; number < Math.min(size, from + batch); number++) {
      const record = recordOf(number, projects === undefined ? undefined : Number(projects))
      await tx.decisions.put(record, 0)
      await tx.embeddings.put(record.id, { embedder: embedder.id, vectors: vectorsOf(number) })
    }
  })
// Without the mark a server indexes all of them again, as those of another version, and replaces their vectors.
await store.transaction(markTexts)
await store.close()
await embedder.close()
