/** A process that opens a SQLite store in each folder that it receives, at the instant that it receives, and prints the result. Argument: its number. */
import { createAll, recordOf, suiteOptions } from '../../../sdk/storage/conformance/store/records.ts'
import { openSqliteStore } from '../../../src/drivers/store/sqlite/driver.ts'

const own = Number(process.argv[2])
console.log('up')
for await (const line of console) {
  // Bun gives an empty line for the end.
  if (line === '') break
  const [at, dir] = JSON.parse(line) as [number, string]
  // Sleep wakes up too late, and not all at once.
  while (Date.now() < at);
  try {
    const store = await openSqliteStore({ ...suiteOptions, dir })
    await createAll(store, [recordOf(own)])
    await store.close()
    console.log('opened')
  } catch (error) {
    console.log(String(error))
  }
}
