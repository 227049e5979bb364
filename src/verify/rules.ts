/** The verifier's own control rules: reads the sets of a bundle, and draws conclusions from events. */
import { type Fields, isFields, shown } from './report.ts'

interface Rule {
  id: string
  /** Unique within the book: a malicious bundle may use an id twice. */
  number: number
  framework: string
  stage: string
  function_id: string
  control_name: string
  insufficient: boolean
  reason: string
  event_type: string
  conditions: Condition[]
}

/** A test of the value at the end of these steps. */
interface Condition {
  steps: readonly string[]
  test: Fields
}

/** Rules by class and type of the event, grouped by control in the order of the file. */
interface RuleBook {
  groups: Map<string, Rule[][]>
  /** Number of rules. */
  size: number
}

export const openBook = (): RuleBook => ({ groups: new Map(), size: 0 })

const textIn = (fields: Fields, name: string): string | null =>
  typeof fields[name] === 'string' ? (fields[name] as string) : null

function readRule(value: unknown, framework: string, number: number): Rule | null {
  if (!isFields(value) || !isFields(value.match)) return null
  const texts = ['id', 'stage', 'function_id', 'control_name'].map((name) => textIn(value, name))
  const event_type = textIn(value.match, 'event_type')
  const conditions = value.match.conditions ?? []
  if (texts.includes(null) || event_type === null || !Array.isArray(conditions) || !conditions.every(isFields))
    return null
  const [id, stage, function_id, control_name] = texts as string[]
  const insufficient = value.insufficient_evidence === true
  const reason = textIn(value, 'reason') ?? ''
  if (insufficient && reason === '') return null
  return {
    id: id!,
    number,
    framework: textIn(value, 'framework') ?? framework,
    stage: stage!,
    function_id: function_id!,
    control_name: control_name!,
    insufficient,
    reason,
    event_type,
    conditions: conditions.map((test) => ({ steps: shown(test.field).split('.'), test })),
  }
}

/** Adds the rules of a set. @returns false for an invalid set */
export function addRules(book: RuleBook, set: unknown): boolean {
  if (!isFields(set) || !Array.isArray(set.rules)) return false
  const framework = textIn(set, 'framework')
  const { evidence_class } = set
  if (framework === null || (evidence_class !== 'observed' && evidence_class !== 'attested')) return false
  const byControl = new Map<string, Rule[]>()
  for (const one of set.rules) {
    const rule = readRule(one, framework, book.size++)
    if (!rule) return false
    const control = JSON.stringify([rule.event_type, rule.framework, rule.function_id])
    const before = byControl.get(control)
    if (before) before.push(rule)
    else {
      const group = [rule]
      byControl.set(control, group)
      const key = `${evidence_class} ${rule.event_type}`
      book.groups.set(key, [...(book.groups.get(key) ?? []), group])
    }
  }
  return true
}

function fieldOf(payload: Fields, steps: readonly string[]): unknown {
  let value: unknown = payload
  for (const step of steps) {
    if (value === null || typeof value !== 'object' || !Object.hasOwn(value, step)) return undefined
    value = (value as Fields)[step]
  }
  return value
}

function holds({ steps, test: condition }: Condition, payload: Fields): boolean {
  const value = fieldOf(payload, steps)
  if ('equals' in condition) return value === condition.equals
  if ('gt' in condition) return typeof value === 'number' && typeof condition.gt === 'number' && value > condition.gt
  if ('lt' in condition) return typeof value === 'number' && typeof condition.lt === 'number' && value < condition.lt
  if ('in' in condition) return Array.isArray(condition.in) && condition.in.includes(value)
  if ('absent' in condition) return (value === undefined || value === null) === condition.absent
  if (typeof value === 'string') return value.trim() !== ''
  return value === true || (typeof value === 'number' && value !== 0)
}

/** What follows from an event, apart from its number and pull request: many events share it. */
export interface Conclusion {
  event_type: string
  evidence_class: string
  mapped: Rule[]
  insufficient: Rule[]
}

/** The conclusions from events under the rules; equal conclusions are the same object. */
export function openConclusions(book: RuleBook) {
  const known = new Map<string, Conclusion>()
  return (event_type: string, evidence_class: string, payload: Fields): Conclusion => {
    const [mapped, insufficient]: [Rule[], Rule[]] = [[], []]
    for (const group of book.groups.get(`${evidence_class} ${event_type}`) ?? []) {
      const holding = group.filter(({ conditions }) => conditions.every((one) => holds(one, payload)))
      const mappings = holding.filter((rule) => !rule.insufficient)
      mapped.push(...mappings)
      const short = holding.find((rule) => rule.insufficient)
      if (mappings.length === 0 && short) insufficient.push(short)
    }
    const numbers = [mapped, insufficient].map((rules) => rules.map(({ number }) => number).join())
    // The type comes last, since it may be any text.
    const key = `${evidence_class} ${numbers.join(' ')} ${event_type}`
    const before = known.get(key)
    if (before) return before
    const conclusion: Conclusion = { event_type, evidence_class, mapped, insufficient }
    known.set(key, conclusion)
    return conclusion
  }
}

export type ListName = 'mappings' | 'insufficient_evidence' | 'unmapped'

/** The entries that an event has in each list of a bundle. Their members are in canonical order. */
export const entriesOf: Record<ListName, (conclusion: Conclusion, pr_number: number | null, seq: number) => Fields[]> =
  {
    mappings: ({ event_type, evidence_class, mapped }, pr_number, seq) =>
      mapped.map(({ control_name, framework, function_id, id: rule_id, stage }) => ({
        ...{ control_name, event_type, evidence_class, framework, function_id, pr_number, rule_id, seq, stage },
        type: 'mapping',
      })),
    insufficient_evidence: ({ evidence_class, insufficient }, pr_number, seq) =>
      insufficient.map(({ control_name, framework, function_id, reason }) => ({
        ...{ control_name, evidence_class, framework, function_id, pr_number, reason, seq },
        type: 'INSUFFICIENT_EVIDENCE',
      })),
    unmapped: ({ event_type, evidence_class, mapped }, pr_number, seq) =>
      mapped.length === 0 ? [{ event_type, evidence_class, pr_number, seq }] : [],
  }
