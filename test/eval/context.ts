/** What a model is shown for a task: thirty tasks with marked lines, beside the newest ten decisions and the first five of BM25. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Embedder } from '../../sdk/storage/embedder.ts'
import { maxTokens } from '../../src/core/tokens.ts'
import { bm25 } from './baselines.ts'
import { documentOf, type Given, lines, root } from './classes.ts'
import { type Engine, openEngine } from './engine.ts'
import { percent, table } from './figures.ts'
import { type Pep, recordParams } from './peps.ts'

export interface Task {
  store: string
  task: string
  /** Sources of all decisions that bear on it. */
  relevant: string[]
  /** Sources of those without which it goes wrong: one of them is enough. */
  solving: string[]
}

/** A line that a model reads, as the sources of the decisions that it is about. */
export type ShownLine = readonly string[]

export interface Shown {
  task: Task
  by: string
  lines: ShownLine[]
  /** The lines within 300 tokens. */
  short: ShownLine[]
}

interface Decision extends Given {
  date: string
  replaces?: string[]
}

const proposals = join(root, '../shared/data/peps.jsonl')
const budget = 300
const at = (name: string): string => join(import.meta.dir, name)

const stores: Record<string, () => Promise<Decision[]>> = {
  shop: async () =>
    (
      await lines<Decision & { links?: { target: string; edge_type: string }[] }>(
        join(root, 'docs/demo/decisions.jsonl'),
      )
    ).map((one) => ({
      ...one,
      replaces: (one.links ?? []).filter(({ edge_type }) => edge_type === 'supersedes').map(({ target }) => target),
    })),
  /** What `cstp import git` finds in the history of fastify (MIT licence), without names and files. */
  fastify: () => lines<Decision>(at('corpora/fastify.jsonl')),
  async peps() {
    const peps = await lines<Pep>(proposals)
    return peps.map((pep) => ({
      ...(recordParams(pep) as Given),
      source: pep.source,
      date: pep.date,
      replaces: pep.replaces.map((number) => `PEP ${number}`),
    }))
  },
}

/** The tasks whose stores are here. The first half of each store is for choosing numbers, the second for reporting. */
export async function tasks(): Promise<{ development: Task[]; reported: Task[] }> {
  const all = (await lines<Task>(at('context.jsonl'))).filter(({ store }) => store !== 'peps' || existsSync(proposals))
  const ofStore = [...Map.groupBy(all, ({ store }) => store).values()]
  return {
    development: ofStore.flatMap((some) => some.filter((_, place) => place % 2 === 0)),
    reported: ofStore.flatMap((some) => some.filter((_, place) => place % 2 === 1)),
  }
}

const recorded = ['decision', 'category', 'context', 'reasons', 'alternatives_considered', 'pattern', 'tags', 'stakes']

/** Records decisions with outcomes and successors; returns the source of each id. */
async function record(engine: Engine, decisions: readonly Decision[]): Promise<Map<string, string>> {
  const sources = new Map<string, string>()
  const ids = new Map<string, string>()
  for (const one of decisions) {
    const given = Object.fromEntries(recorded.flatMap((name) => (one[name] == null ? [] : [[name, one[name]]])))
    const { decision_id: id } = (await engine.call('recordDecision', {
      category: 'git',
      confidence: 0.7,
      created_at: one.date,
      ...given,
    })) as { decision_id: string }
    sources.set(id, one.source)
    ids.set(one.source, id)
    const { outcome, actual_result, lessons } = one
    const said = { ...(actual_result && { actual_result }), ...(lessons && { lessons }) }
    if (outcome) await engine.call('reviewDecision', { id, outcome, ...said })
    for (const target of one.replaces ?? []) {
      const target_id = ids.get(target)
      if (target_id) await engine.call('linkDecisions', { source_id: id, target_id, edge_type: 'supersedes' })
    }
  }
  await engine.settle()
  return sources
}

/** The lines of the precedents, each with the decisions that its ids name. A replaced one is shown without its id: it is its successor’s. */
function linesOf(markdown: string, sources: ReadonlyMap<string, string>): ShownLine[] {
  return markdown
    .split('\n')
    .filter((line) => line.startsWith('- '))
    .map((line) =>
      [...line.matchAll(/`(\d{4}-\d\d-\d\d-decision-[0-9a-f]+)`/g)].flatMap(([, id]) => sources.get(id!) ?? []),
    )
    .filter((named) => named.length > 0)
}

const within = (texts: readonly { source: string; text: string }[]): string[] => {
  let left = budget
  return texts.flatMap(({ source, text }) => {
    left -= maxTokens(text)
    return left < 0 ? [] : [source]
  })
}

/** The baseline: the first five of BM25, then the newest ten that are not among them, each with its outcome. */
function baseline(decisions: readonly Decision[]): (task: string) => { lines: string[]; short: string[] } {
  const rank = bm25(decisions.map(documentOf))
  const newest = decisions.toSorted((a, b) => (a.date < b.date ? 1 : -1)).slice(0, 10)
  const bySource = new Map(decisions.map((one) => [one.source, one]))
  return (task) => {
    const named = [...new Set([...rank(task).slice(0, 5), ...newest.map(({ source }) => source)])]
    const texts = named.map((source) => {
      const { decision, outcome, lessons, actual_result } = bySource.get(source)!
      return { source, text: `- "${decision}", ${outcome ?? 'open'}: ${lessons ?? actual_result ?? ''}\n` }
    })
    return { lines: named, short: within(texts) }
  }
}

/** What each task is shown by the service and by the baseline. */
export async function showAll(embedder: Embedder, wanted: readonly Task[]): Promise<Shown[]> {
  const shown: Shown[] = []
  for (const [store, own] of Map.groupBy(wanted, (one) => one.store)) {
    const decisions = await stores[store]!()
    const engine = await openEngine(embedder)
    try {
      const sources = await record(engine, decisions)
      const plain = baseline(decisions)
      for (const task of own) {
        const markdownOf = async (more: object) => {
          const params = { task_description: task.task, format: 'markdown', ...more }
          return ((await engine.call('getSessionContext', params)) as { markdown: string }).markdown
        }
        const [all, short] = [await markdownOf({}), await markdownOf({ token_budget: budget })]
        shown.push({ task, by: 'cstp', lines: linesOf(all, sources), short: linesOf(short, sources) })
        const told = plain(task.task)
        shown.push({
          task,
          by: 'newest and BM25',
          lines: told.lines.map((source) => [source]),
          short: told.short.map((source) => [source]),
        })
      }
    } finally {
      await engine.close()
    }
  }
  return shown
}

const names = (line: ShownLine, sources: readonly string[]): boolean => line.some((source) => sources.includes(source))
const share = <T>(all: readonly T[], passes: (one: T) => boolean): number =>
  all.filter(passes).length / Math.max(1, all.length)

export interface Figures {
  /** Share of the lines that bear on their task. */
  precision: number
  /** Share of the tasks with a solving line among the first three. */
  first: number
  /** Share of the tasks with a solving line within 300 tokens. */
  short: number
}

export function figuresOf(shown: readonly Shown[]): Figures {
  const all = shown.flatMap(({ task, lines: told }) => told.map((line) => ({ task, line })))
  return {
    precision: share(all, ({ task, line }) => names(line, task.relevant)),
    first: share(shown, ({ task, lines: told }) => told.slice(0, 3).some((line) => names(line, task.solving))),
    short: share(shown, ({ task, short }) => short.some((line) => names(line, task.solving))),
  }
}

const bounds: Figures = { precision: 0.7, first: 0.8, short: 0.75 }
const keys = Object.keys(bounds) as (keyof Figures)[]

/** What of the rules the figures break: a bound each, and the baseline. */
export function brokenBy(shown: readonly Shown[]): string[] {
  const [own, plain] = ['cstp', 'newest and BM25'].map((by) => figuresOf(shown.filter((one) => one.by === by))) as [
    Figures,
    Figures,
  ]
  return keys.flatMap((key) => [
    ...(own[key] < bounds[key] ? [`${key}: ${percent(own[key])}, at least ${percent(bounds[key])}`] : []),
    ...(own[key] <= plain[key] ? [`${key}: ${percent(own[key])}, the baseline has ${percent(plain[key])}`] : []),
  ])
}

export function contextTable(parts: Record<string, readonly Shown[]>): string {
  const rows = Object.entries(parts).flatMap(([part, shown]) =>
    [...Map.groupBy(shown, ({ by }) => by)].map(([by, own]) => {
      const figures = figuresOf(own)
      return [
        part,
        own.length,
        by,
        own.reduce((sum, one) => sum + one.lines.length, 0),
        ...keys.map((key) => percent(figures[key])),
      ]
    }),
  )
  const head = [
    'tasks',
    'n',
    'by',
    'lines',
    'lines that bear on the task',
    'solving line among the first three',
    'within 300 tokens',
  ]
  return table(head, 1, rows)
}
