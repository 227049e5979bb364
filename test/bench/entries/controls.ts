/** A child process: maps a chain in memory. Argument: events. Prints the milliseconds of the engine and of the text, and the characters. */
import { appendEvents } from '../../../src/domain/evidence/chain.ts'
import { mapEvidence } from '../../../src/domain/evidence/controls.ts'
import { mappedText } from '../../../src/domain/evidence/mapping-text.ts'
import { openMemoryEvidence } from '../../../src/drivers/evidence/memory.ts'
import { loadControls } from '../../../src/policy/controls.ts'
import { story } from '../../domain/evidence/events.ts'

const size = Number(process.argv[2] ?? 100_000)
const evidence = openMemoryEvidence()
const batch = 1_000
for (let from = 0; from < size; from += batch)
  await appendEvents(evidence, Array.from({ length: batch / 5 }, (_, at) => story(from / 5 + at)).flat())
const rules = loadControls()

async function run() {
  const start = performance.now()
  const mapped = await mapEvidence(evidence, rules, size, () => Bun.sleep(0))
  const engine_ms = performance.now() - start
  let characters = 0
  for (const piece of mappedText(mapped)) characters += piece.length
  return { engine_ms, text_ms: performance.now() - start - engine_ms, characters }
}

await run()
const runs = await Promise.all([await run(), await run(), await run()])
const best = runs.sort((a, b) => a.engine_ms - b.engine_ms)[0]!
console.log(JSON.stringify({ size, ...best, rss_mb: process.memoryUsage().rss / 1_048_576 }))
