/** Made-up decisions, the same in every run but for their dates: words as frequent as in real text, fields spread as in real use. */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DecisionRecord, Link } from '../../sdk/schema/decision.ts'
import type { RecordParams } from '../../sdk/schema/record.ts'
import { random } from '../../sdk/storage/conformance/search/corpus.ts'
import type { Embedder } from '../../sdk/storage/embedder.ts'
import type { VectorSet } from '../../sdk/storage/vectors.ts'
import { newRecord } from '../../src/domain/record/decision/decision.ts'
import { applyReview } from '../../src/domain/record/decision/outcome.ts'
import { assets } from '../../src/drivers/embedder/local/minilm.ts'

const vocabularySize = 20_000
/** The agent that asks; a quarter of the decisions are its own. */
export const caller = 'bench'
const dayMs = 86_400_000
/** The newest decision is of the day before. */
const end_ms = endOf(process.env.CSTP_BENCH_DIR)

/** The beginning of today; of what was seeded into a folder that stays, that of the day on which this was. */
function endOf(folder: string | undefined): number {
  const today_ms = Math.floor(Date.now() / dayMs) * dayMs
  if (folder === undefined) return today_ms
  const path = join(folder, 'day')
  if (existsSync(path)) return Date.parse(readFileSync(path, 'utf8'))
  mkdirSync(folder, { recursive: true })
  writeFileSync(path, new Date(today_ms).toISOString())
  return today_ms
}
const spanMs = 400 * dayMs

/** The words of the local model's vocabulary, in the order of their frequency: made-up ones would be torn into many tokens. */
const words = Object.keys(JSON.parse(readFileSync(assets.tokenizer.path, 'utf8')).model.vocab as Record<string, number>)
  .filter((word) => /^[a-z]{2,}$/.test(word))
  .slice(0, vocabularySize)

/** Shares of the words up to each one: the n-th word is 1/n as frequent as the first (Zipf). */
const shares = (() => {
  const sums = new Float64Array(vocabularySize)
  let sum = 0
  for (let rank = 0; rank < vocabularySize; rank++) sums[rank] = sum += 1 / (rank + 1)
  return sums.map((value) => value / sum)
})()

function word(next: () => number): string {
  const share = next()
  let low = 0
  let high = vocabularySize - 1
  while (low < high) {
    const middle = (low + high) >> 1
    if (shares[middle]! < share) low = middle + 1
    else high = middle
  }
  return words[low]!
}

const text = (next: () => number, count: number): string => Array.from({ length: count }, () => word(next)).join(' ')
const sentences = (next: () => number, counts: readonly number[]): string =>
  counts.map((count) => `${text(next, count)}.`).join(' ')

const categories = ['architecture', 'process', 'tooling', 'security', 'operations', 'data', 'product', 'testing']
export const categoryOf = (number: number): string => categories[number % categories.length]!
/** Spread evenly, so that so many of a hundred are of the last month. */
const createdMs = (number: number): number => end_ms - spanMs + ((number * 7_919 * 86_399) % (spanMs / 1_000)) * 1_000
const suffixOf = (number: number): string =>
  createHash('sha256').update(`decision ${number}`).digest('hex').slice(0, 12)

/** Id of the decision of this number, without making the decision. */
export const idOf = (number: number): string =>
  `${new Date(createdMs(number)).toISOString().slice(0, 10)}-decision-${suffixOf(number)}`

/** Parameters of recordDecision: about 150 words, which make a record of 3 KB. @param projects that the decisions are of */
export function paramsOf(number: number, projects = 40) {
  const next = random(number + 1)
  return {
    decision: sentences(next, [14, 12]),
    confidence: Math.round(next() * 100) / 100,
    category: categoryOf(number),
    stakes: (['low', 'medium', 'high', 'critical'] as const)[Math.floor(next() * 4)]!,
    context: sentences(next, [20, 20, 18, 16]),
    reasons: [
      { type: 'analysis', text: sentences(next, [20, 14]), strength: 0.8 },
      { type: 'constraint', text: sentences(next, [16]), strength: 0.6 },
    ],
    alternatives_considered: [text(next, 8), text(next, 8)],
    tags: Array.from({ length: 3 }, () => words[300 + Math.floor(next() * 200)]!),
    // Half of them follow one of a few patterns that many follow.
    pattern: next() < 0.5 ? sentences(random(7 * Math.floor(next() * 200) + 1), [8]) : sentences(next, [8]),
    // Of 40 projects, one holds an eighth of the decisions.
    project: {
      name: `team/service-${Math.floor(next() ** 1.7 * projects)}`,
      feature: null,
      pr: 1 + (number % 500),
      files: [],
    },
  } satisfies Partial<RecordParams>
}

export function recordOf(number: number, projects?: number): DecisionRecord {
  const draft = {
    ...paramsOf(number, projects),
    review_in: '30d',
    reasoning_trace: [],
    deliberation: null,
    pre_decision_protocol: null,
    recorded_by: number % 4 === 0 ? caller : `agent-${number % 12}`,
    agent_id: null,
    imported_by: null,
    source_key: null,
    bridge: null,
  }
  const record = newRecord(draft, createdMs(number), createdMs(number), suffixOf(number))
  if (number % 100 === 1) record.links = [contradiction(number)]
  return number % 3 === 0 || record.created_at > new Date(end_ms - reviewAfterMs).toISOString()
    ? record
    : reviewed(record, number)
}

const contradiction = (number: number): Link => ({
  target_id: idOf(number - 1),
  edge_type: 'contradicts',
  weight: 1,
  context: null,
  created_at: new Date(createdMs(number)).toISOString(),
  created_by: caller,
  effective: true,
})

const reviewAfterMs = 4 * dayMs

/** Two of three were reviewed days later; the surer, the more often they succeeded, but less often of late in two categories. */
function reviewed(record: DecisionRecord, number: number): DecisionRecord {
  const next = random(3_000_001 + number)
  const share = next()
  const drifted = number % categories.length < 2 && createdMs(number) > end_ms - 30 * dayMs
  const chance = record.confidence! - (drifted ? 0.25 : 0)
  const outcome = share < 0.05 ? 'abandoned' : share < 0.15 ? 'partial' : next() < chance ? 'success' : 'failure'
  const review = { outcome, actual_result: text(next, 6), lessons: text(next, 8), notes: null } as const
  const at = new Date(createdMs(number) + reviewAfterMs).toISOString()
  return applyReview(record, review, { agent: record.recorded_by, curates: false }, at).record
}

/** A question of eight words that stand together in some decision. */
export function questionOf(number: number, size: number): string {
  const next = random(1_000_003 * (number + 1))
  const { decision, context } = paramsOf(Math.floor(next() * size))
  const all = `${decision} ${context}`.replaceAll('.', '').split(' ')
  const at = Math.floor(next() * (all.length - 8))
  return all.slice(at, at + 8).join(' ')
}

/** A vector of length 1 in a random direction. */
function vectorOf(next: () => number, dimensions: number): Float32Array {
  const vector = new Float32Array(dimensions)
  let squares = 0
  for (let at = 0; at < dimensions; at++) {
    vector[at] = next() - 0.5
    squares += vector[at]! ** 2
  }
  const length = Math.sqrt(squares)
  for (let at = 0; at < dimensions; at++) vector[at]! /= length
  return vector
}

/** Texts whose own vectors the others are mixed from. */
const anchors = 500

/**
 * Makes the vectors of any decision. Embedding 100 000 texts would take ten minutes, and vectors in random directions have no neighbours,
 * which an index of neighbours does not deserve: each is a mixture of those of three texts, which the embedder made, and of some noise.
 */
export async function vectorMaker(embedder: Embedder): Promise<(number: number) => VectorSet> {
  const dimensions = embedder.effective_dimensions
  const texts = Array.from({ length: anchors }, (_, number) => questionOf(number, 10_000))
  const bases = await embedder.embed(texts, 'document', new AbortController().signal)
  return (number) => {
    const next = random(2_000_003 + number)
    const [one, two, three] = Array.from({ length: 3 }, () => bases[Math.floor(next() * anchors)]!)
    const noise = vectorOf(next, dimensions)
    const mixed = (a: number, b: number, c: number) => {
      const vector = noise.map((value, at) => a * one![at]! + b * two![at]! + c * three![at]! + 0.5 * value)
      const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0))
      return vector.map((value) => value / length)
    }
    return { structure: mixed(1, 0.5, 0), function: mixed(0.5, 1, 0), both: mixed(0.8, 0.8, 0.4) }
  }
}
