/** A process that takes the deliveries of a JSON file (argv[3]) into the evidence of a path (argv[2]), and prints the result of each. */
import { openChain } from '../../src/domain/ledger/evidence/chain.ts'
import { takeDelivery } from '../../src/domain/ledger/evidence/github/events.ts'
import { openSqliteEvidence } from '../../src/drivers/evidence/sqlite/driver.ts'

const [path, deliveries] = process.argv.slice(2)
const evidence = await openSqliteEvidence(path!)
const chain = openChain({ evidence, now: Date.now, yieldToEventLoop: async () => {} })
for (const delivery of await Bun.file(deliveries!).json()) {
  const { outcome } = await takeDelivery(chain, delivery, [])
  process.stdout.write(`${outcome}\n`)
}
await evidence.close()
