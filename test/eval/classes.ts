/** Hybrid beside its legs and other rankers, by corpus, size of store and class of question, and the rules that it must keep. */
import { join } from 'node:path'
import type { Embedder } from '../../sdk/storage/embedder.ts'
import { termsOf } from '../../src/domain/search/terms.ts'
import { bm25, type Document, grep, type Ranker } from './baselines.ts'
import { type Engine, openEngine } from './engine.ts'
import { type Answered, answeredWithin, percent, seeded, table } from './figures.ts'
import type { Pep } from './peps.ts'
import { recordParams } from './peps.ts'

/** Parameters of recordDecision, and of the review that follows if there is an outcome. */
export interface Given {
  source: string
  decision: string
  category: string
  context?: string | null
  outcome?: string | null
  actual_result?: string | null
  lessons?: string | null
  alternatives_considered?: (string | { option: string; reason?: string })[]
  reasons?: { type: string; text: string }[]
  [field: string]: unknown
}

export interface Asked {
  kind: string
  question: string
  /** Sources of the decisions that answer it; none for a question off the topic. */
  expect: string[]
}

export interface Corpus {
  name: string
  decisions: Given[]
  questions: Asked[]
}

export const root = join(import.meta.dir, '../..')
export const lines = async <T>(path: string): Promise<T[]> => Bun.JSONL.parse(await Bun.file(path).text()) as T[]
const own = (name: string): string => join(import.meta.dir, 'corpora', name)
/** What a record takes of a line of a corpus. */
const fields = [
  'decision',
  'category',
  'context',
  'reasons',
  'alternatives_considered',
  'pattern',
  'tags',
  'bridge',
  'stakes',
]

/** The decisions of a made-up shop, which the demonstration shows: numbers were chosen on it. */
export const shop = async (): Promise<Corpus> => ({
  name: 'shop',
  decisions: await lines(join(root, 'docs/demo/decisions.jsonl')),
  questions: await lines(own('shop.questions.jsonl')),
})

/** Short decisions of a clinic, some with a given bridge: no bound of `precedent` was chosen on it. */
export const clinic = async (): Promise<Corpus> => ({
  name: 'clinic',
  decisions: await lines(own('clinic.jsonl')),
  questions: await lines(own('clinic.questions.jsonl')),
})

/** The rules of a linter, one sentence each, from the schema that its package ships: no number was chosen on it. */
export async function rules(): Promise<Corpus> {
  const schema = (await Bun.file(join(root, 'node_modules/@biomejs/biome/configuration_schema.json')).json()) as {
    $defs: Record<string, { properties?: Record<string, { description?: string }> }>
  }
  const texts = new Map<string, string>()
  for (const { properties = {} } of Object.values(schema.$defs))
    if ('recommended' in properties)
      for (const [name, { description = '' }] of Object.entries(properties))
        if (description.includes('/linter/rules/'))
          texts.set(name, description.split('\nSee ')[0]!.replace(/\s+/g, ' '))
  const decisions = [...texts].map(([source, decision]) => ({ source, decision, category: 'lint' }))
  return { name: 'linter rules', decisions, questions: await lines(own('rules.questions.jsonl')) }
}

/** Enhancement proposals, with the questions that nothing was chosen on. */
export async function proposals(file: string): Promise<Corpus> {
  const decisions = (await lines<Pep>(file)).map((pep) => ({ ...recordParams(pep), source: pep.source }) as Given)
  return { name: 'PEPs', decisions, questions: await lines(join(import.meta.dir, 'held-out.jsonl')) }
}

/** All corpora in one store, with the questions of the first: some that are off its topic are answered by decisions of the others. */
export async function together(first: Corpus, others: readonly Corpus[]): Promise<Corpus> {
  const answered = new Map((await lines<Asked>(own('mixed.questions.jsonl'))).map((one) => [one.question, one]))
  return {
    name: `${first.name} among all`,
    decisions: [first, ...others].flatMap(({ decisions }) => decisions),
    questions: first.questions.map((one) => answered.get(one.question) ?? one),
  }
}

/** A part of a corpus with so many decisions, and the questions that it answers or that nothing does. */
export function partOf({ name, decisions, questions }: Corpus, size: number, seed: number): Corpus {
  const next = seeded(seed)
  const order = decisions.map((one) => ({ one, at: next() })).sort((a, b) => a.at - b.at)
  const chosen = size >= decisions.length ? decisions : order.slice(0, size).map(({ one }) => one)
  const held = new Set(chosen.map(({ source }) => source))
  const left = questions.flatMap((asked) => {
    const expect = asked.expect.filter((source) => held.has(source))
    return asked.expect.length > 0 && expect.length === 0 ? [] : [{ ...asked, expect }]
  })
  return { name, decisions: chosen, questions: left }
}

export const documentOf = ({
  source,
  decision,
  context,
  reasons = [],
  actual_result,
  lessons,
  ...rest
}: Given): Document => {
  const rejected = (rest.alternatives_considered ?? []).map((one) =>
    typeof one === 'string' ? one : `${one.option}: ${one.reason ?? ''}`,
  )
  const parts = [decision, context, ...reasons.map(({ text }) => text), actual_result, lessons, ...rejected]
  return { source, text: parts.filter(Boolean).join('\n') }
}

const stemmed = (text: string): string =>
  [...termsOf(text).counts].flatMap(([term, n]) => Array(n).fill(term)).join(' ')

/** One vector for the whole text, as far as the model reads. */
async function wholeTexts(
  embedder: Embedder,
  documents: readonly Document[],
): Promise<(question: string) => Promise<string[]>> {
  const { signal } = new AbortController()
  const vectors = await embedder.embed(
    documents.map(({ text }) => text.slice(0, 1_000)),
    'document',
    signal,
  )
  return async (question) => {
    const [asked] = await embedder.embed([question], 'query', signal)
    return documents
      .map(({ source }, at) => ({ source, near: vectors[at]!.reduce((sum, value, i) => sum + value * asked![i]!, 0) }))
      .sort((a, b) => b.near - a.near)
      .slice(0, depth)
      .map(({ source }) => source)
  }
}

const depth = 50
/** Reciprocal rank fusion of two rankings, with its usual constant. */
function fused(...rankings: readonly (readonly string[])[]): string[] {
  const scores = new Map<string, number>()
  for (const ranking of rankings)
    for (const [at, source] of ranking.entries()) scores.set(source, (scores.get(source) ?? 0) + 1 / (61 + at))
  return [...scores].sort((a, b) => b[1] - a[1]).map(([source]) => source)
}

/** Parameters of recordDecision. */
export const recordedOf = (one: Given): Record<string, unknown> => ({
  confidence: 0.7,
  ...Object.fromEntries(fields.flatMap((name) => (one[name] == null ? [] : [[name, one[name]]]))),
})

async function record(engine: Engine, decisions: readonly Given[]): Promise<Map<string, string>> {
  const sources = new Map<string, string>()
  for (const one of decisions) {
    const { decision_id: id } = (await engine.call('recordDecision', recordedOf(one))) as { decision_id: string }
    sources.set(id, one.source)
    const { outcome, actual_result, lessons } = one
    if (outcome)
      await engine.call('reviewDecision', {
        id,
        outcome,
        ...(actual_result && { actual_result }),
        ...(lessons && { lessons }),
      })
  }
  await engine.settle()
  return sources
}

export type Precedent = 'found' | 'weak' | 'none'
export interface Told extends Answered {
  by: string
  /** Of hybrid only. */
  precedent: Precedent | null
}

/** Every question of a corpus, asked of hybrid, its legs and the other rankers. */
export async function askAll(embedder: Embedder, { decisions, questions }: Corpus): Promise<Told[]> {
  const engine = await openEngine(embedder)
  try {
    const sources = await record(engine, decisions)
    const documents = decisions.map(documentOf)
    const whole = await wholeTexts(embedder, documents)
    const bm25Stemmed = bm25(documents.map(({ source, text }) => ({ source, text: stemmed(text) })))
    const baselines: Record<string, Ranker> = {
      'BM25, stemmed': (question) => bm25Stemmed(stemmed(question)),
      grep: grep(documents),
    }
    const told: Told[] = []
    for (const { kind, question, expect: expected } of questions) {
      const ranked = new Map<string, string[]>()
      let precedent: Precedent | null = null
      for (const retrieval_mode of ['hybrid', 'semantic', 'keyword']) {
        const found = (await engine.call('queryDecisions', { query: question, retrieval_mode, limit: depth })) as {
          decisions: { id: string }[]
          precedent: Precedent
        }
        ranked.set(
          retrieval_mode,
          found.decisions.map(({ id }) => sources.get(id)!),
        )
        if (retrieval_mode === 'hybrid') precedent = found.precedent
      }
      ranked.set('RRF', fused(ranked.get('semantic')!, ranked.get('keyword')!))
      for (const [name, rank] of Object.entries(baselines)) ranked.set(name, rank(question))
      ranked.set('whole-text MiniLM', await whole(question))
      for (const [by, list] of ranked)
        told.push({ by, kind, expected, ranked: list, precedent: by === 'hybrid' ? precedent : null })
    }
    return told
  } finally {
    await engine.close()
  }
}

// The rules.

export interface Row {
  corpus: string
  size: number
  /** Parts of the corpus that were drawn. */
  draws: number
  told: readonly Told[]
}

export const kindsOf = (told: readonly Told[]): string[] => [
  ...new Set(told.filter(({ expected }) => expected.length > 0).map(({ kind }) => kind)),
  'all',
]
export const answers = (told: readonly Told[], by: string, kind: string): Told[] =>
  told.filter((one) => one.by === by && one.expected.length > 0 && (kind === 'all' || one.kind === kind))
export const recall = (told: readonly Told[], k: number): number =>
  told.reduce((sum, one) => sum + answeredWithin(k)(one), 0) / Math.max(1, told.length)
const share = (told: readonly Told[], ...states: Precedent[]): number =>
  told.filter(({ precedent }) => states.includes(precedent!)).length / Math.max(1, told.length)
const denied = 0.05
const recognised = 0.85

/** What of the rules a row breaks: hybrid against the better leg (a point), and what `precedent` says. One question may be lost in any class. */
export function broken({ corpus, size, draws, told }: Row): string[] {
  const where = `${corpus}, ${size} decisions`
  const losses = kindsOf(told).flatMap((kind) =>
    [1, 5].flatMap((k) => {
      const [hybrid, ...legs] = ['hybrid', 'semantic', 'keyword'].map((by) => recall(answers(told, by, kind), k))
      const loss = Math.max(...legs) - hybrid!
      const allowed = Math.max(0.01, draws / Math.max(1, answers(told, 'hybrid', kind).length))
      return loss > allowed + 1e-9 ? [`${where}, ${kind}: recall@${k} of hybrid is ${percent(loss)} below a leg`] : []
    }),
  )
  const hybrid = told.filter(({ by }) => by === 'hybrid')
  const none = share(answers(told, 'hybrid', 'all'), 'none')
  const off = share(
    hybrid.filter(({ expected }) => expected.length === 0),
    'weak',
    'none',
  )
  return [
    ...losses,
    ...(none > Math.max(denied, draws / Math.max(1, answers(told, 'hybrid', 'all').length)) + 1e-9
      ? [`${where}: ${percent(none)} % of the questions with an answer are denied`]
      : []),
    ...(off < recognised ? [`${where}: only ${percent(off)} % of the questions off the topic are recognised`] : []),
  ]
}

const rankers = ['hybrid', 'semantic', 'keyword', 'RRF', 'BM25, stemmed', 'whole-text MiniLM', 'grep']

/** recall@1 / recall@5 in percent, by ranker. */
export const classTable = (rows: readonly Row[]): string =>
  table(
    ['corpus', 'decisions', 'questions', 'n', ...rankers],
    1,
    rows.flatMap(({ corpus, size, told }) =>
      kindsOf(told).map((kind) => [
        corpus,
        size,
        kind,
        answers(told, 'hybrid', kind).length,
        ...rankers.map((by) => [1, 5].map((k) => (100 * recall(answers(told, by, kind), k)).toFixed(0)).join(' / ')),
      ]),
    ),
  )

/** What `precedent` says, in percent. */
export const precedentTable = (rows: readonly Row[]): string =>
  table(
    ['corpus', 'decisions', 'answerable', 'none', 'weak', 'off the topic', 'none', 'weak or none'],
    1,
    rows.map(({ corpus, size, told }) => {
      const asked = answers(told, 'hybrid', 'all')
      const off = told.filter(({ by, expected }) => by === 'hybrid' && expected.length === 0)
      return [
        ...[corpus, size, asked.length, percent(share(asked, 'none')), percent(share(asked, 'weak'))],
        ...[off.length, percent(share(off, 'none')), percent(share(off, 'weak', 'none'))],
      ]
    }),
  )

/** The rows of a corpus in stores of these sizes, each drawn several times. */
export async function rowsOf(embedder: Embedder, corpus: Corpus, sizes: readonly number[]): Promise<Row[]> {
  const rows: Row[] = []
  for (const size of sizes) {
    const draws = size >= corpus.decisions.length || size > 100 ? 1 : 3
    const told: Told[] = []
    for (let seed = 1; seed <= draws; seed++) told.push(...(await askAll(embedder, partOf(corpus, size, seed))))
    rows.push({ corpus: corpus.name, size: Math.min(size, corpus.decisions.length), draws, told })
  }
  return rows
}
