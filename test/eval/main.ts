/** `bun run eval`: how well the three modes find real decisions, on questions that were written before any model had seen them. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Engine, openEngine } from './engine.ts'
import { type Answered, type Figures, figureNames, figuresOf, lossOf } from './figures.ts'
import { type Pep, recordParams } from './peps.ts'

interface Question {
  kind: string
  question: string
  /** Sources of the decisions that answer it. */
  expect: string[]
}

const modes = ['semantic', 'keyword', 'hybrid'] as const
type Mode = (typeof modes)[number]

/** Most that hybrid may stay below the better leg. */
const mostLoss = 0.02
const corpus = join(import.meta.dir, '../../../shared/data/peps.jsonl')

const readLines = async <T>(path: string): Promise<T[]> => Bun.JSONL.parse(await Bun.file(path).text()) as T[]

/** Records all decisions and their links; resolves with the source of each id. */
async function load(engine: Engine, peps: readonly Pep[]): Promise<Map<string, string>> {
  const sources = new Map<string, string>()
  const ids = new Map<string, string>()
  for (const pep of peps) {
    const { decision_id, indexed } = (await engine.call('recordDecision', recordParams(pep))) as {
      decision_id: string
      indexed: boolean
    }
    if (!indexed) throw new Error(`${pep.source} was not embedded`)
    sources.set(decision_id, pep.source)
    ids.set(pep.source, decision_id)
  }
  for (const pep of peps) {
    for (const target_id of pep.replaces.flatMap((number) => ids.get(`PEP ${number}`) ?? [])) {
      await engine.call('linkDecisions', { source_id: ids.get(pep.source), target_id, edge_type: 'supersedes' })
    }
  }
  return sources
}

async function ask(engine: Engine, question: string, mode: Mode, sources: Map<string, string>): Promise<string[]> {
  const { decisions } = (await engine.call('queryDecisions', { query: question, retrieval_mode: mode, limit: 10 })) as {
    decisions: { id: string }[]
  }
  return decisions.map(({ id }) => sources.get(id)!)
}

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`
const row = (cells: (string | number)[]): string => `| ${cells.join(' | ')} |`

function printTable(kinds: readonly string[], figures: (kind: string, mode: Mode) => Figures): void {
  console.log(row(['questions', 'n', 'mode', 'recall@1', 'recall@5', 'MRR@10']))
  console.log(row(['---', '---:', '---', '---:', '---:', '---:']))
  for (const kind of kinds) {
    for (const mode of modes) {
      const { questions, recall_at_1, recall_at_5, mrr_at_10 } = figures(kind, mode)
      console.log(row([kind, questions, mode, percent(recall_at_1), percent(recall_at_5), mrr_at_10.toFixed(3)]))
    }
  }
}

function printVerdict(kind: string, figures: (kind: string, mode: Mode) => Figures): void {
  const legs = [figures(kind, 'semantic'), figures(kind, 'keyword')]
  const parts = figureNames.map((name) => {
    const loss = lossOf(figures(kind, 'hybrid'), legs, name)
    const said = loss > 0 ? `${(100 * loss).toFixed(1)} points below` : `${(-100 * loss).toFixed(1)} above`
    return `${name.replace('_at_', '@')} ${said}${loss > mostLoss ? ' (TOO MUCH)' : ''}`
  })
  console.log(`${kind}: ${parts.join(', ')}`)
}

if (!existsSync(corpus)) {
  console.log(`The corpus is not here (${corpus}), so there is nothing to evaluate.`)
  process.exit(0)
}
const engine = await openEngine()
const start = performance.now()
const sources = await load(engine, await readLines<Pep>(corpus))
const loaded = performance.now()
console.log(`${sources.size} decisions recorded in ${((loaded - start) / 1_000).toFixed(1)} s\n`)

const answers = new Map<Mode, Answered[]>()
const questions = await readLines<Question>(join(import.meta.dir, 'questions.jsonl'))
for (const mode of modes) {
  const given: Answered[] = []
  for (const { kind, question, expect } of questions)
    given.push({ kind, expected: expect, ranked: await ask(engine, question, mode, sources) })
  answers.set(mode, given)
}
await engine.close()

const kinds = [...new Set(questions.map(({ kind }) => kind)), 'all']
const figures = (kind: string, mode: Mode): Figures =>
  figuresOf(answers.get(mode)!.filter((one) => kind === 'all' || one.kind === kind))
printTable(kinds, figures)
console.log(`\nHybrid against the better leg; over all questions it may lose ${percent(mostLoss)}:`)
for (const kind of kinds) printVerdict(kind, figures)
