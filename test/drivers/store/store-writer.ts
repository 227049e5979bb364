/** A process that writes to a SQLite store until a signal to stop, and prints what was acknowledged: for tests that kill it. */

import { writeSync } from 'node:fs'
import { idOf, recordOf, suiteOptions } from '../../../sdk/storage/conformance/store/records.ts'
import { readDecision } from '../../../sdk/storage/decisions.ts'
import { isStorageError } from '../../../sdk/storage/errors.ts'
import { queueVectors } from '../../../src/domain/search/embeddings.ts'
import { openSqliteStore } from '../../../src/drivers/store/sqlite/driver.ts'

const [dir = '', start = '0', count = '0', width = '8', shared = '0'] = process.argv.slice(2)
// So few pages that it is killed while its log is being taken, too.
const store = await openSqliteStore({ ...suiteOptions, dir, log_pages: 60 })
writeSync(1, 'ready\n')
const first = Number(start)
let next = first

/** Creates a decision of its own, and updates one that all processes share. */
async function one(number: number): Promise<void> {
  const text = `writer${number} words`
  await store.transaction(async (tx) => {
    await tx.decisions.put(recordOf(number, { decision: text, source_key: `key:${number}` }), 0)
    await queueVectors(tx, idOf(number), 0)
    await tx.keyed.put('session', `${number}`, { text })
  })
  writeSync(1, `created ${number}\n`)
  if (Number(shared) === 0) return
  const target = idOf(number % Number(shared))
  try {
    const revision = await store.transaction(async (tx) => {
      const now = (await readDecision(tx.decisions, target))!
      const lessons = `revision ${now.revision + 1}`
      await tx.decisions.put({ ...now.record, lessons }, now.revision)
      return now.revision + 1
    })
    writeSync(1, `updated ${number % Number(shared)} ${revision}\n`)
  } catch (error) {
    if (!isStorageError(error, 'conflict')) throw error
  }
}

await Promise.all(
  Array.from({ length: Number(width) }, async () => {
    while (next < first + Number(count)) await one(next++)
  }),
)
await store.close()
