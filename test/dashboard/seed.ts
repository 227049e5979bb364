/** A child process: fills a data directory with many short decisions in one go. Arguments: directory, decisions, text of the one in the middle. */
import { newRecord } from '../../src/domain/record/decision/decision.ts'
import { applyReview } from '../../src/domain/record/decision/outcome.ts'
import { analyse } from '../../src/domain/search/terms.ts'
import { openHashEmbedder } from '../../src/drivers/embedder/hash.ts'
import { openSqliteStore } from '../../src/drivers/store/sqlite/driver.ts'

const [dir, size, needle] = process.argv.slice(2) as [string, string, string]
/** One durable write for so many. */
const batch = 2_500
const minuteMs = 60_000
const end_ms = Date.now()

const things = [
  'cache',
  'queue',
  'index',
  'gateway',
  'scheduler',
  'parser',
  'router',
  'ledger',
  'mailer',
  'session store',
]
const deeds = ['Move', 'Replace', 'Split', 'Measure', 'Retire', 'Shard', 'Document', 'Rewrite']
const causes = ['it is slow', 'nobody owns it', 'it fails at night', 'the licence ends', 'it costs too much']

const textOf = (number: number): string =>
  number === Number(size) >> 1
    ? needle
    : `${deeds[number % deeds.length]} the ${things[(number >> 3) % things.length]} because ${causes[(number >> 5) % causes.length]}`

const draft = {
  context: null,
  reasons: [],
  alternatives_considered: [],
  review_in: '30d',
  project: null,
  reasoning_trace: [],
  deliberation: null,
  tags: [],
  pattern: null,
  pre_decision_protocol: null,
  agent_id: null,
  imported_by: null,
  source_key: null,
  bridge: null,
}

const store = await openSqliteStore({ dir, analyse, now: Date.now, log: () => {} })
const embedder = await openHashEmbedder()
await store.transaction((tx) =>
  tx.embeddings.putGeneration({ state: 'building', embedder: embedder.id, dimensions: embedder.effective_dimensions }),
)
const known = new Map<string, Float32Array>()
async function vectorOf(text: string): Promise<Float32Array> {
  const found =
    known.get(text) ??
    (await embedder.embed([text], 'document', AbortSignal.timeout(60_000)))[0]!.slice(0, embedder.effective_dimensions)
  known.set(text, found)
  return found
}
for (let from = 0; from < Number(size); from += batch)
  await store.transaction(async (tx) => {
    for (let number = from; number < Math.min(Number(size), from + batch); number++) {
      const decision = textOf(number)
      const created_ms = end_ms - number * 5 * minuteMs
      const given = {
        ...draft,
        decision,
        confidence: ((number * 37) % 101) / 100,
        category: ['architecture', 'process', 'tooling', 'security'][(number >> 2) % 4]!,
        stakes: (['low', 'medium', 'high', 'critical'] as const)[number % 4]!,
        recorded_by: `agent-${number % 7}`,
      }
      const made = newRecord(given, created_ms, created_ms, number.toString(16).padStart(12, '0'))
      const outcome = (number * 53) % 101 <= (number * 37) % 101 ? 'success' : 'failure'
      const review = { outcome, actual_result: null, lessons: null, notes: null } as const
      const reviewed =
        number % 3 === 0
          ? made
          : applyReview(made, review, { agent: 'root', curates: true }, new Date(end_ms).toISOString()).record
      await tx.decisions.put(reviewed, 0)
      const vector = await vectorOf(decision)
      await tx.embeddings.put(made.id, {
        embedder: embedder.id,
        vectors: { structure: vector, function: vector, both: vector },
      })
    }
  })
await embedder.close()
await store.close()
