/** cstp query: precedents for a question as a table. */
import { numberOf } from './args.ts'
import { defineCommand, type Values } from './command.ts'
import { connectionFlags, type Params, type Result, withConnection } from './connection.ts'
import { misuse } from './failure.ts'
import { type Column, type Paint, plain, print, table } from './terminal.ts'

const filterFlags = {
  category: { kind: 'value', value: 'name', about: 'Only this category.' },
  stakes: { kind: 'list', value: 'low|medium|high|critical', about: 'Only these stakes.' },
  status: { kind: 'list', value: 'pending|reviewed', about: 'Only this status.' },
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
  mode: { kind: 'value', value: 'mode', about: 'hybrid (semantic and keyword; the default), semantic, or keyword.' },
  limit: { kind: 'value', value: 'n', about: 'Most results; by default 10.' },
  offset: { kind: 'value', value: 'n', about: 'Results to skip.' },
  side: {
    kind: 'value',
    value: 'side',
    about: 'Compare with what decisions look like (structure), what they are for (function), or both.',
  },
  weight: { kind: 'value', value: '0..1', about: 'Weight of semantic similarity in hybrid mode; by default 0.7.' },
  ...filterFlags,
  ...connectionFlags,
} as const

type Query = Params<'queryDecisions'>
type Filters = NonNullable<Query['filters']>
type Hit = Result<'queryDecisions'>['decisions'][number]

/** Only what was given, so that the server's defaults apply. */
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

/** The part of an id that is enough to identify a decision. */
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
  summary: 'Find precedents for a question or a plan.',
  about: [
    'Ask in plain language. The best precedent comes first; a superseded decision comes below the one that supersedes it. cstp call getDecision takes the id, or its first 8 characters.',
    'A score is between 0 and 1, higher is nearer; a distance (semantic mode) is between 0 and 2, lower is nearer.',
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
    const params = paramsOf(run.words.join(' '), run.flags)
    const found = await withConnection(run, ({ call }) => call('queryDecisions', params))
    await print(run, found, () => render(found, run.terminal))
    return 0
  },
})

function render(found: Result<'queryDecisions'>, { width, paint }: { width: number; paint: Paint }): string {
  const { decisions, total, query_time_ms, no_precedent, degraded, index, corrections } = found
  const partial = `Index incomplete: ${index.indexed} of ${index.total} decisions are searched by meaning.`
  const notes = degraded ? [paint.yellow(index.complete ? 'Embedder unavailable; keyword results only.' : partial)] : []
  for (const { word, by } of corrections) notes.push(paint.yellow(`No decision holds "${word}"; searched for "${by}".`))
  const none = index.complete ? 'No precedent: no decision matches.' : 'No decision matches so far.'
  if (decisions.length === 0) return `${[...notes, none].join('\n')}\n`
  if (no_precedent)
    notes.push(paint.yellow('No precedent: even the best of these fits no better than unrelated decisions.'))
  const under = ({ superseded_by }: Hit) =>
    superseded_by === null ? null : paint.dim(`       superseded by ${shortId(superseded_by)}`)
  const lines = table(decisions, columns(found, paint), width, paint.dim, under)
  const foot = paint.dim(`${decisions.length} of ${total}, in ${Math.round(query_time_ms)} ms`)
  return `${[...notes, ...lines, '', foot].join('\n')}\n`
}
