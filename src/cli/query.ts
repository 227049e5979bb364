/** cstp query: precedents for a question, as a table. */
import { Filters } from '../../sdk/schema/params.ts'
import { queryDecisions } from '../methods/index.ts'
import { type Command, defineCommand } from './command.ts'
import { connectionFlags, type Params, printCall, type Result } from './connection.ts'
import { parametersOf } from './parameters.ts'
import { asOfLines, type Column, outcomePaint, type Paint, plain, shortId, table } from './terminal.ts'

const asked = parametersOf(queryDecisions.params, {
  ...{ query: null, filters: null, include_reasons: null, agent_id: null, tracker_scope: null, track: null },
  retrieval_mode: 'mode',
  bridge_side: 'side',
  hybrid_weight: 'weight',
})
const filtered = parametersOf(Filters, {
  agent: 'by',
  tags: 'tag',
  date_after: 'after',
  date_before: 'before',
  has_outcome: 'reviewed',
})

type Hit = Result<'queryDecisions'>['decisions'][number]

function columns({ retrieval_mode, scores }: Result<'queryDecisions'>, paint: Paint): Column<Hit>[] {
  const measure: Column<Hit> =
    retrieval_mode === 'semantic'
      ? { title: 'distance', right: true, text: ({ distance }) => distance?.toFixed(3) ?? '' }
      : { title: 'score', right: true, text: ({ id }) => scores[id]?.combined.toFixed(3) ?? '' }
  return [
    measure,
    { title: 'decision', text: ({ title }) => plain(title), grows: true, paint: (text) => paint.bold(text) },
    { title: 'category', text: ({ category }) => plain(category ?? ''), rank: 1 },
    {
      title: 'outcome',
      text: ({ outcome }) => outcome ?? 'pending',
      paint: (text, { outcome }) => outcomePaint(paint, outcome)(text),
    },
    { title: 'date', text: ({ date }) => date, rank: 2 },
    { title: 'id', text: ({ id }) => shortId(id), paint: (text) => paint.cyan(text) },
  ]
}

export const query: Command = defineCommand({
  name: 'query',
  usage: '<text …>',
  summary: 'Find precedents for a question or a plan.',
  about: [
    'Ask in plain language. The best precedent comes first; a superseded decision comes below the one that supersedes it. cstp show takes the id.',
    'A score is between 0 and 1, higher is nearer; a distance (semantic mode) is between 0 and 2, lower is nearer.',
  ],
  flags: { ...asked.flags, ...filtered.flags, ...connectionFlags },
  examples: [
    ['cstp query "how do we limit retries?"', 'the ten nearest decisions'],
    ['cstp query caching --category architecture --reviewed --limit 3', 'only reviewed ones of a category'],
    ['cstp query "ERR_TIMEOUT" --mode keyword', 'exact words'],
    ['cstp query "session storage" --after 2026-01-01 --json', 'this year, for a program'],
  ],
  async run(run) {
    const params = {
      retrieval_mode: 'hybrid',
      ...asked.read(run.flags),
      query: run.words.join(' '),
      filters: filtered.read(run.flags),
    } as Params<'queryDecisions'>
    await printCall(run, 'queryDecisions', params, (found) => render(found, run.terminal))
  },
})

function render(found: Result<'queryDecisions'>, { width, paint }: { width: number; paint: Paint }): string {
  const { decisions, total, query_time_ms, precedent, degraded, index, corrections } = found
  const partial = `Index incomplete: ${index.indexed} of ${index.total} decisions are searched by meaning.`
  const notes = degraded ? [paint.yellow(index.complete ? 'Embedder unavailable; keyword results only.' : partial)] : []
  notes.push(...asOfLines(found.as_of).map(paint.yellow))
  for (const { word, by } of corrections)
    notes.push(paint.yellow(`No decision contains "${word}"; searched for "${by}".`))
  const none = index.complete ? 'No precedent: no decision matches.' : 'No decision matches so far.'
  if (decisions.length === 0) return `${[...notes, none].join('\n')}\n`
  if (precedent === 'weak') notes.push(paint.yellow('Weak: none of these fits clearly.'))
  if (precedent === 'none')
    notes.push(paint.yellow('No precedent: even the best of these fits no better than unrelated decisions.'))
  const under = ({ superseded_by }: Hit) =>
    superseded_by === null ? null : paint.dim(`       superseded by ${shortId(superseded_by)}`)
  const lines = table(decisions, columns(found, paint), width, paint.dim, under)
  const foot = paint.dim(`${decisions.length} of ${total}, in ${Math.round(query_time_ms)} ms`)
  return `${[...notes, ...lines, '', foot].join('\n')}\n`
}
