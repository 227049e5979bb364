/** A process that appends batches of evidence until a signal to stop, and prints which were acknowledged: for tests that kill it. */
import { writeSync } from 'node:fs'
import { openChain } from '../../../src/domain/ledger/evidence/chain.ts'
import { openPostgresEvidence } from '../../../src/drivers/evidence/postgres/driver.ts'
import { openSqliteEvidence } from '../../../src/drivers/evidence/sqlite/driver.ts'

const [place = '', name = '', count = '0', largest = '1', width = '8'] = process.argv.slice(2)
const evidence = place.startsWith('postgres:')
  ? await openPostgresEvidence({ url: place })
  : await openSqliteEvidence(place)
const chain = openChain({ evidence, now: Date.now, yieldToEventLoop: () => Bun.sleep(0) })
writeSync(1, 'ready\n')
let next = 0
let left = Number(count)

/** Each event says of which batch it is, and how large that is. */
async function one(batch: string, size: number): Promise<void> {
  const events = Array.from({ length: size }, (_, at) => ({
    ts: '2026-07-01T10:00:00Z',
    source: name,
    event_type: 'ci_completed',
    evidence_class: 'observed' as const,
    payload: JSON.stringify({ at, batch, size }),
  }))
  const { first_seq } = await chain.append(events)
  writeSync(1, `appended ${batch} ${first_seq}\n`)
}

await Promise.all(
  Array.from({ length: Number(width) }, async () => {
    while (left > 0) {
      const size = Math.min(left, 1 + Math.floor(Math.random() * Number(largest)))
      left -= size
      await one(`${name}-${next++}`, size)
    }
  }),
)
await evidence.close()
