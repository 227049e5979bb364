/** When the texts of a record are embedded: beside its rules where they stay in the process, after them where they leave it. */
import { expect, test } from 'bun:test'
import type { Embedder } from '../../../sdk/storage/embedder.ts'
import { openMemoryProgram } from '../../support/program.ts'

const rules = `
- { id: again, message: said before, conditions: [{ type: semantic, threshold: 0.9 }] }
`
const given = { decision: 'Use SQLite', confidence: 0.4, category: 'architecture', stakes: 'high' as const }
const other = { ...given, decision: 'Paint the bicycle shed' }

/** A program with a decision that rules refuse to repeat; `around` runs before each call of its embedder. */
async function ready(in_process: boolean, around: (kind: string, signal: AbortSignal) => Promise<unknown>) {
  const program = await openMemoryProgram()
  await program.call('recordDecision', given)
  await program.rules(rules)
  const warnings: string[] = []
  const log = Object.assign((level: string, message: string) => void (level === 'warn' && warnings.push(message)), {
    flush() {},
  })
  Object.assign(program.services, { record_guardrails: 'block', embed_wait_ms: 60_000, log })
  const { embedder } = program.services
  const { embed } = embedder
  const watched: Embedder['embed'] = async (texts, kind, signal) => {
    await around(kind, signal)
    return embed(texts, kind, signal)
  }
  Object.assign(embedder, { embed: watched, in_process })
  return { ...program, warnings }
}

test('a rule may wait until the texts of the record are being embedded', async () => {
  const begun = Promise.withResolvers<void>()
  const program = await ready(true, async (kind) => (kind === 'document' ? begun.resolve() : await begun.promise))
  expect((await program.call('recordDecision', other)).indexed).toBe(true)
})

test('what rules refuse is no longer embedded, and nothing is said of it', async () => {
  const over = Promise.withResolvers<unknown>()
  const program = await ready(true, async (kind, signal) => {
    if (kind === 'query') return
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    over.resolve(signal.reason)
    signal.throwIfAborted()
  })
  expect((await program.refused('recordDecision', given)).error).toBe('record_failed')
  expect(await over.promise).toMatchObject({ name: 'AbortError' })
  await Bun.sleep(0)
  expect(program.warnings).toEqual([])
})

test('a text that leaves the process leaves it once rules allow the record', async () => {
  const kinds: string[] = []
  const program = await ready(false, async (kind) => kinds.push(kind))
  expect((await program.refused('recordDecision', given)).error).toBe('record_failed')
  expect(kinds).toEqual(['query'])
  expect((await program.call('recordDecision', other)).indexed).toBe(true)
  expect(kinds).toEqual(['query', 'query', 'document'])
})
