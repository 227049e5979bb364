/** cstp query: precedents of a question as a table. */
import { numberOf } from './args.ts'
import { defineCommand, type Values } from './command.ts'
import type { Params, Result } from './connection.ts'
import { connectionFlags, openConnection } from './connection.ts'
import { misuse } from './failure.ts'
import { type Column, type Paint, plain, prettyJson, table } from './terminal.ts'

const filterFlags = {
  category: { kind: 'value', value: 'name', about: 'Only this category.' },
  stakes: { kind: 'list', value: 'low|medium|high|critical', about: 'Only these stakes.' },
  status: { kind: 'list', value: 'pending|reviewed', about: 'Only this state.' },
  project: { kind: 'value', value: 'name', about: 'Only this project.' },
  feature: { kind: 'value', value: 'name', about: 'Only this feature of a project.' },
  pr: { kind: 'value', value: 'n', about: 'Only this pull request.' },
  tag: { kind: 'list', value: 'tag', about: 'Only decisions with any of these tags.' },
  after: { kind: 'value', value: 'date', about: 'Recorded on this day or later.' },
  before: { kind: 'value', value: 'date', about: 'Recorded on this day or earlier.' },
  'min-confidence': { kind: 'value', value: '0..1', about: 'At least this confidence.' },
  'max-confidence': { kind: 'value', value: '0..1', about: 'At most this confidence.' },
  reviewed: { kind: 'switch', about: 'Only decisions whose outcome is known.' },
} as const

const flags = {
  mode: { kind: 'value', value: 'mode', about: 'hybrid (meaning and words; the default), semantic, or keyword.' },
  limit: { kind: 'value', value: 'n', about: 'Most results; by default 10.' },
  offset: { kind: 'value', value: 'n', about: 'Results to skip.' },
  side: {
    kind: 'value',
    value: 'side',
    about: 'Compare with what decisions look like (structure), what they are for (function), or both.',
  },
  weight: { kind: 'value', value: '0..1', about: 'Weight of meaning in hybrid mode; by default 0.7.' },
  ...filterFlags,
  ...connectionFlags,
} as const

type Query = Params<'queryDecisions'>
type Filters = NonNullable<Query['filters']>
type Hit = Result<'queryDecisions'>['decisions'][number]

/** Only what was given, so that the server's defaults count. */
const given = <T extends object>(values: { [K in keyof T]?: T[K] | undefined }): T =>
  Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0)),
  ) as T

function choice<T extends string>(flag: string, value: string | undefined, choices: readonly T[]): T | undefined {
  const found = choices.find((one) => one === value)
  if (value !== undefined && !found)
    throw misuse(`--${flag} is one of ${choices.join(', ')}; received ${JSON.stringify(value)}`)
  return found
}

function paramsOf(query: string, { mode, limit, offset, side, weight, ...rest }: Values<typeof flags>): Query {
  const filters = given<Filters>({
    category: rest.category,
    stakes: rest.stakes as Filters['stakes'],
    status: rest.status as Filters['status'],
    project: rest.project,
    feature: rest.feature,
    pr: numberOf('pr', rest.pr),
    tags: rest.tag,
    date_after: rest.after,
    date_before: rest.before,
    min_confidence: numberOf('min-confidence', rest['min-confidence']),
    max_confidence: numberOf('max-confidence', rest['max-confidence']),
    has_outcome: rest.reviewed || undefined,
  })
  return given<Query>({
    query,
    retrieval_mode: choice('mode', mode, ['hybrid', 'semantic', 'keyword']) ?? 'hybrid',
    limit: numberOf('limit', limit),
    offset: numberOf('offset', offset),
    bridge_side: choice('side', side, ['structure', 'function', 'both']),
    hybrid_weight: numberOf('weight', weight),
    filters,
  })
}

/** Enough of an id to name a decision with. */
const shortId = (id: string): string => id.slice(-12, -4)

/** Colour of an outcome. */
export const outcomePaint = (paint: Paint, outcome: string | null): ((text: string) => string) =>
  outcome === 'success' ? paint.green : outcome === 'failure' ? paint.red : outcome === null ? paint.dim : paint.yellow

function columns({ retrieval_mode, scores }: Result<'queryDecisions'>, paint: Paint): Column<Hit>[] {
  const measure: Column<Hit> =
    retrieval_mode === 'semantic'
      ? { title: 'distance', right: true, text: ({ distance }) => distance?.toFixed(3) ?? '' }
      : { title: 'score', right: true, text: ({ id }) => scores[id]?.combined.toFixed(3) ?? '' }
  return [
    measure,
    { title: 'decision', text: ({ title }) => plain(title), grows: true, paint: (text) => paint.bold(text) },
    { title: 'category', text: ({ category }) => plain(category), rank: 1 },
    {
      title: 'outcome',
      text: ({ outcome }) => outcome ?? 'pending',
      paint: (text, { outcome }) => outcomePaint(paint, outcome)(text),
    },
    { title: 'date', text: ({ date }) => date, rank: 2 },
    { title: 'id', text: ({ id }) => shortId(id), paint: (text) => paint.cyan(text) },
  ]
}

export const query = defineCommand({
  name: 'query',
  usage: '<text> [flags]',
  summary: 'Find precedents of a question or a plan.',
  about: [
    'Ask in plain words. The best precedent stands first; a decision that was superseded stands below the one that took its place. The id, or its first 8 characters, is what cstp call getDecision takes.',
    'A score goes from 0 to 1, more is nearer; a distance (semantic mode) from 0 to 2, less is nearer.',
  ],
  flags,
  words: [1, Number.POSITIVE_INFINITY],
  examples: [
    ['cstp query "how do we limit retries?"', 'the ten nearest decisions'],
    ['cstp query caching --category architecture --reviewed --limit 3', 'only reviewed ones of a category'],
    ['cstp query "ERR_TIMEOUT" --mode keyword', 'exact words'],
    ['cstp query "session storage" --after 2026-01-01 --json', 'this year, for a program'],
  ],
  async run(run) {
    const { terminal, words, json } = run
    const params = paramsOf(words.join(' '), run.flags)
    const connection = await openConnection(run, { signal: run.signal })
    try {
      const found = await connection.call('queryDecisions', params)
      if (json) await terminal.out(prettyJson(found))
      else await terminal.out(render(found, terminal))
      return 0
    } finally {
      await connection.close()
    }
  },
})

function render(found: Result<'queryDecisions'>, { width, paint }: { width: number; paint: Paint }): string {
  const { decisions, total, query_time_ms, no_precedent, retrieval_mode, degraded } = found
  const notes = degraded ? [paint.yellow('The embedder is away: found by words alone.')] : []
  if (decisions.length === 0) return `${[...notes, 'No precedent: no decision matches.'].join('\n')}\n`
  // Words alone hardly ever reach the bound, exact hits neither: whoever sees the words can tell by himself.
  const byMeaning = retrieval_mode !== 'keyword' && !degraded
  if (no_precedent && byMeaning)
    notes.push(paint.yellow('No precedent: even the nearest of these is no more than noise.'))
  const under = ({ superseded_by }: Hit) =>
    superseded_by === null ? null : paint.dim(`       superseded by ${shortId(superseded_by)}`)
  const lines = table(decisions, columns(found, paint), width, paint.dim, under)
  const foot = paint.dim(`${decisions.length} of ${total}, in ${Math.round(query_time_ms)} ms`)
  return `${[...notes, ...lines, '', foot].join('\n')}\n`
}
