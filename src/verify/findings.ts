/** The checks of a verification and their findings, and the verifier's own parser of control rules. */
import { shown } from './read.ts'

/** Every check with its question, in the order of the report. */
export const checks = {
  form: 'The file is a bundle, in canonical JSON',
  chain: 'Every event follows the one before it, unchanged',
  head: 'Size, head hash and Merkle root are those of the events',
  checkpoint: 'The checkpoint is of these events, and the key in the bundle signed it',
  signature: 'The key in the bundle signed all of it: rules, conclusions, digests and times too',
  key: 'The key that you gave signed the checkpoint and the bundle',
  witness: 'The witness that you named cosigned the checkpoint',
  conclusions: 'Mappings, insufficiencies and coverage follow from the events by the rules in the bundle',
  rules: 'The rules are published ones, or those that you gave',
  decisions: 'A digest is listed for each linked decision',
  links: 'Each linked decision is as it was when it was linked',
  older: 'The events of the older bundle are the first ones of this one, and its linked decisions are unchanged',
} as const
export type CheckName = keyof typeof checks

export interface Finding {
  check: CheckName
  /** Number of the event concerned, if any. */
  seq: number | null
  message: string
}

export interface Findings {
  add(check: CheckName, message: string, seq?: number | null): void
  list: Finding[]
  /** Number of findings of a check; only the first of them are in the list. */
  count(check: CheckName): number
}

/** Findings of one check that are kept; a damaged file can produce a million. */
const kept = 20

export function openFindings(): Findings {
  const counts = new Map<CheckName, number>()
  const list: Finding[] = []
  return {
    list,
    add(check, message, seq = null) {
      const count = (counts.get(check) ?? 0) + 1
      counts.set(check, count)
      if (count <= kept) list.push({ check, seq, message })
    },
    count: (check) => counts.get(check) ?? 0,
  }
}

export type Fields = Record<string, unknown>

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

/** The conclusions from an event, without its number and pull request: many events share them. */
export interface Conclusion {
  mappings: Fields[]
  insufficient: Fields[]
}

export const isFields = (value: unknown): value is Fields =>
  value !== null && typeof value === 'object' && !Array.isArray(value)
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

/** The conclusions from events under the rules; equal conclusions are the same object. */
export function openConclusions(book: RuleBook) {
  const known = new Map<string, Conclusion>()
  return (event_type: string, evidence_class: string, payload: Fields): Conclusion => {
    const found: [mapped: Rule[], short: Rule[]] = [[], []]
    let key = `${evidence_class} `
    for (const group of book.groups.get(key + event_type) ?? []) {
      let isMapped = false
      let short: Rule | null = null
      for (const rule of group) {
        if (!rule.conditions.every((one) => holds(one, payload))) continue
        if (rule.insufficient) short ??= rule
        else {
          isMapped = true
          found[0].push(rule)
          key += `${rule.number},`
        }
      }
      if (isMapped || short === null) continue
      found[1].push(short)
      key += `${short.number},`
    }
    // The type comes last, since it may be any text.
    key += ` ${event_type}`
    const before = known.get(key)
    if (before) return before
    const conclusion: Conclusion = {
      mappings: found[0].map(({ id, framework, stage, function_id, control_name }) => ({
        ...{ event_type, rule_id: id, framework, stage, function_id, control_name, evidence_class },
        type: 'mapping',
      })),
      insufficient: found[1].map(({ framework, function_id, control_name, reason }) => ({
        ...{ framework, function_id, control_name, evidence_class, reason },
        type: 'INSUFFICIENT_EVIDENCE',
      })),
    }
    known.set(key, conclusion)
    return conclusion
  }
}
