/** What an agent should know when it starts a task. */
import type { Contradiction } from '../decision/contradictions.ts'
import type { AgentProfile, CategoryCalibration } from './profile.ts'
import type { ReadyAction } from './ready.ts'
import type { Wisdom } from './wisdom.ts'

export const parts = [
  'decisions',
  'guardrails',
  'calibration',
  'ready',
  'patterns',
  'wisdom',
  'breakers',
  'contradictions',
] as const
export type Part = (typeof parts)[number]

export interface SessionContext {
  agent_profile: AgentProfile | null
  relevant_decisions: { id: string; title: string; category: string; outcome: string | null; date: string }[]
  active_guardrails: { id: string; action: string; description: string | null }[]
  calibration_by_category: CategoryCalibration[]
  ready_queue: ReadyAction[]
  confirmed_patterns: { pattern: string; category: string; count: number; example_ids: string[] }[]
  wisdom: Wisdom[]
  circuit_breakers: { scope: string; state: string }[]
  contradictions: Contradiction[]
}

// The session context as Markdown that a model can use at once, most useful part first, within a budget of tokens.

/** Characters of English text that make about one token. */
const charactersPerToken = 4

const percent = (share: number | null): string => (share === null ? 'unknown' : `${Math.round(share * 100)} %`)

function profile({ agent_profile: one }: SessionContext): string[] {
  if (one === null) return []
  const tendency =
    one.tendency === 'insufficient_data'
      ? 'too few reviews to tell how well calibrated'
      : one.tendency.replaceAll('_', ' ')
  const lines = [
    `- ${one.total_decisions} decisions, ${one.reviewed_decisions} reviewed, success ${percent(one.accuracy)}, Brier score ${one.brier_score ?? 'unknown'}: ${tendency}`,
  ]
  if (one.strongest_category) lines.push(`- Strongest in ${one.strongest_category}, weakest in ${one.weakest_category}`)
  return lines
}

/** The sections with their lines, in the order of their use to an agent that starts a task. */
function sections(context: SessionContext): [string, string[]][] {
  return [
    [
      'Circuit breakers that stop you',
      context.circuit_breakers
        .filter(({ state }) => state !== 'closed')
        .map(({ scope, state }) => `- ${scope}: ${state}`),
    ],
    [
      'Precedents',
      context.relevant_decisions.map(
        ({ id, title, outcome, date, category }) =>
          `- ${title} (${category}, ${date}, ${outcome ?? 'pending'}) \`${id}\``,
      ),
    ],
    [
      'Guardrails',
      context.active_guardrails.map(({ id, action, description }) => `- **${action}** ${description ?? id}`),
    ],
    ['You', profile(context)],
    [
      'Calibration by category',
      context.calibration_by_category
        .filter(({ accuracy }) => accuracy !== null)
        .map(
          ({ category, accuracy, calibration_gap, interpretation }) =>
            `- ${category}: success ${percent(accuracy)}, gap ${calibration_gap}, ${interpretation.replaceAll('_', ' ')}`,
        ),
    ],
    [
      'To be done',
      context.ready_queue.map(
        ({ priority, title, reason, suggestion, decision_id }) =>
          `- [${priority}] ${title ? `${title}: ` : ''}${reason}. ${suggestion}${decision_id ? ` \`${decision_id}\`` : ''}`,
      ),
    ],
    [
      'Contradictions',
      context.contradictions.map(
        ({ first_title, second_title, reason }) => `- "${first_title}" against "${second_title}": ${reason}`,
      ),
    ],
    ['Principles that held', context.confirmed_patterns.map(({ pattern, count }) => `- ${pattern} (${count} times)`)],
    [
      'Wisdom',
      context.wisdom.map(
        ({ category, success_rate, common_failure_mode }) =>
          `- ${category}: success ${percent(success_rate)}${common_failure_mode ? `; fails by: ${common_failure_mode}` : ''}`,
      ),
    ],
  ]
}

const oneLine = (text: string): string => text.replace(/\s*\n\s*/g, ' ')

/** @param token_budget most tokens, about; null for all of it */
export function toMarkdown(context: SessionContext, token_budget: number | null): string {
  let left = token_budget === null ? Number.POSITIVE_INFINITY : token_budget * charactersPerToken
  const parts: string[] = []
  const add = (line: string): boolean => {
    if (line.length + 1 > left) return false
    parts.push(line)
    left -= line.length + 1
    return true
  }
  add('# Decision context')
  for (const [title, lines] of sections(context)) {
    // A heading without a line beneath it says nothing.
    const first = lines[0]
    if (first === undefined || oneLine(first).length + title.length + 8 > left) continue
    add(`\n## ${title}\n`)
    for (const line of lines) if (!add(oneLine(line))) break
  }
  if (parts.length === 1) add('\nNothing is recorded yet: query before you decide, and record what you decide.')
  return `${parts.join('\n')}\n`
}
