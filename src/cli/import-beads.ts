/** Reads decisions from issues that beads exports as JSON Lines. */
import type { EdgeType } from '../../sdk/schema/decision.ts'
import type { ImportLink, Line } from './import-lines.ts'

const edges: Record<string, EdgeType> = {
  blocks: 'depends_on',
  'conditional-blocks': 'depends_on',
  'waits-for': 'depends_on',
  'parent-child': 'refines',
  supersedes: 'supersedes',
  'caused-by': 'caused_by',
  'discovered-from': 'caused_by',
  related: 'relates_to',
  'relates-to': 'relates_to',
}
/** Outcome by the first words of a closing reason; any other reason gives no outcome. */
const outcomes: readonly [pattern: RegExp, outcome: string][] = [
  [
    /^(?:success|succeeded|done|completed?|shipped|works|worked|implemented|resolved|fixed|merged|delivered)\b/i,
    'success',
  ],
  [/^(?:partial|partly|mixed)/i, 'partial'],
  [/^(?:fail|reverted|rolled back|did not work|didn['’]t work|broken)/i, 'failure'],
  [
    /^(?:abandon|won['’]?t|wontfix|reject|cancel|obsolete|duplicate|supersede|stale|declined|not planned|no longer)/i,
    'abandoned',
  ],
]

type Issue = Record<string, unknown>
const textOf = (value: unknown): string | null =>
  typeof value === 'string' && value.trim() !== '' ? value.trim() : null
const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
const sourceOf = (id: string): string => `beads:${id}`

function linksOf(issue: Issue, decisions: ReadonlySet<string>): ImportLink[] {
  return listOf(issue.dependencies).flatMap((one) => {
    const { depends_on_id: target, type } = (one ?? {}) as Issue
    const edge_type = Object.hasOwn(edges, String(type)) ? edges[String(type)] : undefined
    // Tasks and bugs are not decisions: links to them are left out.
    if (edge_type === undefined || typeof target !== 'string' || !decisions.has(target) || target === issue.id)
      return []
    return [{ target: sourceOf(target), edge_type, weight: 1, context: null }]
  })
}

function lineOf(issue: Issue, decisions: ReadonlySet<string>): unknown {
  const closed = textOf(issue.close_reason)
  const outcome = closed === null ? undefined : outcomes.find(([pattern]) => pattern.test(closed))?.[1]
  const parts = [
    ['', textOf(issue.description)],
    ['Design', textOf(issue.design)],
    ['Acceptance criteria', textOf(issue.acceptance_criteria)],
    ['Notes', textOf(issue.notes)],
    ['Closed', outcome === undefined ? closed : null],
  ] as const
  const context = parts.flatMap(([name, text]) =>
    text === null ? [] : [name === '' ? text : `### ${name}\n\n${text}`],
  )
  const date = textOf(issue.created_at)
  const agent = textOf(issue.created_by) ?? textOf(issue.owner)
  return {
    source: sourceOf(String(issue.id)),
    decision: issue.title,
    category: null,
    confidence: null,
    ...(date !== null && { date }),
    ...(agent !== null && { agent }),
    context: context.length === 0 ? null : context.join('\n\n'),
    tags: listOf(issue.labels).filter((label) => textOf(label) !== null),
    ...(outcome !== undefined && { outcome, actual_result: closed }),
    links: linksOf(issue, decisions),
  }
}

/** The decisions among the issues, with the links between them; invalid lines are passed on. */
export async function* beadLines(lines: AsyncIterable<Line>): AsyncGenerator<Line> {
  const decisions: (Line & { value: Issue })[] = []
  for await (const entry of lines) {
    if ('problem' in entry) yield entry
    else if (typeof entry.value !== 'object' || entry.value === null || Array.isArray(entry.value))
      yield { ...entry, problem: 'is no issue: expected an object' }
    else if ((entry.value as Issue).issue_type === 'decision') decisions.push(entry as Line & { value: Issue })
  }
  const ids = new Set(decisions.map(({ value }) => String(value.id)))
  for (const entry of decisions) yield { ...entry, value: lineOf(entry.value, ids) }
}
