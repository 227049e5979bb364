/** What an agent should know when it starts a task. */
import type { Contradiction } from './contradictions.ts'
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
