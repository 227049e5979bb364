/** cstp.queryDecisions: precedents by meaning, by keyword, or both. */
import * as v from 'valibot'
import { AsOf, AsOfBlock } from '../../sdk/schema/as-of.ts'
import { fraction, nonEmptyText } from '../../sdk/schema/decision.ts'
import { PublishedHits, QueryHit } from '../../sdk/schema/hit.ts'
import { Filters, readParams, shortened, ToolFilters, trackedParams, whole } from '../../sdk/schema/params.ts'
import { parseRecord } from '../../sdk/storage/decisions.ts'
import { sides } from '../../sdk/storage/vectors.ts'
import { defineMethod, toolInput } from '../calls/method.ts'
import type { Call } from '../calls/services.ts'
import { maskSecrets } from '../core/secrets.ts'
import { type Hit, hitOf, Scores } from '../domain/record/decision/hits.ts'
import { toFilter } from '../domain/record/decision/lookup.ts'
import { noteInput, queryInput } from '../domain/record/deliberation/inputs.ts'
import { openPast } from '../domain/record/history/past.ts'
import { limitSearch, pastTools } from '../domain/search/past.ts'
import { searchPublished } from '../domain/search/published.ts'
import { Precedent, RetrievalMode, type SearchInput, search, searchEntries } from '../domain/search/search.ts'

const d = v.description

const params = v.object({
  query: v.pipe(nonEmptyText(10_000), d('Question or plan in natural language.')),
  limit: v.pipe(v.optional(whole(1, 500), 10), d('Maximum number of results.')),
  offset: v.pipe(v.optional(whole(0, 10_000), 0), d('Number of results to skip.')),
  include_reasons: v.pipe(v.optional(v.boolean(), false), d('Include the texts of the reasons.')),
  include_context: v.pipe(v.optional(v.boolean(), false), d('Include the context.')),
  retrieval_mode: v.optional(RetrievalMode, 'semantic'),
  bridge_side: v.pipe(
    v.optional(v.picklist(sides), 'both'),
    d('Compare with the structure of decisions (what they look like), their function (what they are for), or both.'),
  ),
  hybrid_weight: v.pipe(v.optional(fraction, 0.7), d('Weight of the semantic part in hybrid mode.')),
  filters: v.optional(Filters, {}),
  as_of: AsOf,
  ...readParams,
})

async function find(
  call: Call,
  {
    query,
    limit,
    offset,
    include_reasons,
    include_context,
    retrieval_mode,
    bridge_side,
    hybrid_weight,
    filters,
    as_of,
    ...names
  }: v.InferOutput<typeof params>,
) {
  const start = call.now()
  const past = as_of === undefined ? null : await openPast(call, as_of)
  const tools = past ? pastTools(call, past) : call
  const filter = toFilter(filters)
  const input: SearchInput = {
    query,
    mode: retrieval_mode,
    side: bridge_side,
    weight: hybrid_weight,
    filter: past ? { ...filter, created_to_ms: Math.min(filter.created_to_ms ?? past.at_ms, past.at_ms) } : filter,
    offset,
    limit,
  }
  const [{ hits, total, precedent, no_precedent, precedents, corrections, degraded, index }, published] =
    await Promise.all([search(tools, input), past || offset > 0 ? [] : searchPublished(call, input)])
  noteInput(call, names, queryInput(query, hits))
  if (past)
    await limitSearch(
      past,
      call.store,
      hits.map(({ text }) => text.id),
      retrieval_mode !== 'semantic',
    )
  const tailored = include_reasons || include_context
  const shown = (hit: Hit) => {
    const { reasons, context } = tailored ? parseRecord(hit.text) : { reasons: [], context: null }
    return {
      ...hitOf(hit),
      ...(include_reasons && { reasons: reasons.map((one) => one.text) }),
      ...(include_context && { context }),
    }
  }
  return {
    decisions: hits.map(shown),
    ...(published.length > 0 && { published: published.map((hit) => ({ workspace: hit.workspace, ...shown(hit) })) }),
    total,
    query: maskSecrets(query),
    query_time_ms: call.now() - start,
    agent: call.caller.agent,
    retrieval_mode,
    scores: Object.fromEntries(hits.flatMap(({ text, scores }) => (scores ? [[text.id, scores]] : []))),
    precedent,
    no_precedent,
    precedents,
    corrections,
    degraded,
    index,
    ...(past && { as_of: past.block() }),
  }
}

export const queryDecisions = defineMethod({
  summary: 'Finds precedents for a question or a plan by meaning, by keyword, or both.',
  params,
  result: v.object({
    decisions: v.array(QueryHit),
    published: v.optional(PublishedHits),
    total: v.pipe(
      v.number(),
      d(
        'Decisions that match the filters and can be ranked in this mode, whether they fit the query or not; `precedents` counts those that fit.',
      ),
    ),
    query: v.pipe(v.string(), d('The query, without what is likely a secret.')),
    query_time_ms: v.number(),
    agent: v.string(),
    retrieval_mode: RetrievalMode,
    scores: v.pipe(v.record(v.string(), Scores), d('Partial scores by decision id; empty in semantic mode.')),
    precedent: Precedent,
    no_precedent: v.pipe(
      v.boolean(),
      d(
        'True if `precedent` is `none`: even the best hit matches no better than those of unrelated queries; never while `index` is incomplete.',
      ),
    ),
    precedents: v.pipe(
      v.nullable(v.number()),
      d(
        'Number of hits, from the very first one, up to the last precedent, weak ones included; later hits match no better than chance. There may be more if it is `offset` plus the number of hits. Null while `index` is incomplete.',
      ),
    ),
    corrections: v.pipe(
      v.array(
        v.object({
          word: v.pipe(v.string(), d('The word in the query.')),
          by: v.pipe(v.string(), d('The word searched for instead.')),
        }),
      ),
      d('Words of the query that no decision contains, and the similar words searched for instead.'),
    ),
    degraded: searchEntries.degraded,
    index: searchEntries.index,
    shortened,
    as_of: v.optional(AsOfBlock),
  }),
  scope: 'read',
  page: { list: 'decisions' },
  effect: 'read',
  cost: 4,
  failure: 'query_failed',
  mcp: {
    name: 'query_decisions',
    title: 'Find precedents',
    description:
      'Search past decisions before you decide: how was something similar decided, why, and how did it turn out? Ask in natural language. `precedent: none` means that nothing fits. Use get_decision for a full record.',
    input: toolInput(
      v.object({
        query: v.pipe(nonEmptyText(10_000), d('Question or plan in natural language.')),
        limit: v.pipe(v.optional(whole(1, 50), 5), d('Maximum number of results.')),
        retrieval_mode: v.pipe(v.optional(RetrievalMode, 'hybrid'), d('Search by meaning, by keyword, or by both.')),
        filters: v.pipe(v.optional(ToolFilters, {}), d('Filters; all given filters must match.')),
        as_of: AsOf,
        ...trackedParams,
      }),
      (input) => input,
    ),
  },
  handle: find,
})
