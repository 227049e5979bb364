/** What is suspicious about rules that load: rules that can never fire, that another one covers, or that nobody can satisfy. */
import type { Condition, FieldCondition, Rule } from '../../../sdk/schema/guardrail.ts'
import { actionFields } from './action.ts'
import type { LoadedRule } from './parse.ts'

export interface LintFinding {
  rule: string
  file: string
  line: number
  kind: 'unknown_field' | 'never_fires' | 'shadowed' | 'contradiction' | 'no_message'
  message: string
}

const booleanFields = new Set(['has_deliberation', 'has_reasoning', 'has_query', 'has_check'])
const numberFields = new Set(['confidence', 'reason_count', 'quality_score'])
const known = new Set<string>(actionFields)
const closedValues: Record<string, readonly string[]> = {
  stakes: ['low', 'medium', 'high', 'critical'],
  phase: ['check', 'pre_action', 'record'],
}

const stable = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    inner !== null && typeof inner === 'object' && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )

/** The values of a field that pass all of a rule's conditions on it, as far as equality and order tell. */
interface Range {
  low: number
  lowOpen: boolean
  high: number
  highOpen: boolean
  /** Null where any value may pass. */
  among: Set<unknown> | null
}

function narrow(range: Range, { operator, value }: FieldCondition): Range {
  const next = { ...range }
  const keep = (values: Set<unknown>) => {
    next.among = next.among === null ? values : new Set([...next.among].filter((one) => values.has(one)))
  }
  if (operator === '=' || operator === '==') keep(new Set([value]))
  if (operator === 'in') keep(new Set(value as unknown[]))
  if ((operator === '!=' || operator === 'not_in') && next.among) {
    const out = new Set(Array.isArray(value) ? value : [value])
    next.among = new Set([...next.among].filter((one) => !out.has(one as never)))
  }
  if (typeof value === 'number') {
    if ((operator === '<' || operator === '<=') && (value < next.high || (value === next.high && operator === '<')))
      [next.high, next.highOpen] = [value, operator === '<']
    if ((operator === '>' || operator === '>=') && (value > next.low || (value === next.low && operator === '>')))
      [next.low, next.lowOpen] = [value, operator === '>']
  }
  return next
}

const within = (range: Range, value: unknown): boolean =>
  typeof value !== 'number' ||
  ((range.lowOpen ? value > range.low : value >= range.low) &&
    (range.highOpen ? value < range.high : value <= range.high))

function impossible(field: string, conditions: FieldCondition[]): string | null {
  let range: Range = {
    low: Number.NEGATIVE_INFINITY,
    lowOpen: false,
    high: Number.POSITIVE_INFINITY,
    highOpen: false,
    among: null,
  }
  if (field === 'confidence' || field === 'quality_score') range = { ...range, low: 0, high: 1 }
  if (closedValues[field]) range.among = new Set(closedValues[field])
  if (booleanFields.has(field)) range.among = new Set([true, false])
  for (const condition of conditions) range = narrow(range, condition)
  if (range.low > range.high || (range.low === range.high && (range.lowOpen || range.highOpen)))
    return `no value of ${field} meets all of its conditions`
  if (range.among !== null && ![...range.among].some((value) => within(range, value)))
    return `no value of ${field} meets all of its conditions`
  const wrong = conditions.find(
    ({ operator, value }) => ['=', '=='].includes(operator) && numberFields.has(field) && typeof value !== 'number',
  )
  return wrong ? `${field} is a number and never equals ${JSON.stringify(wrong.value)}` : null
}

const fieldsIn = (conditions: readonly Condition[]): FieldCondition[] =>
  conditions.flatMap((one) => (one.type === 'field' ? [one] : one.type === 'compound' ? fieldsIn(one.conditions) : []))

/** True when whatever fires `b` fires `a` too: a's conditions are among b's, its scope is no narrower, and it is at least as strict. */
function covers(a: Rule, b: Rule): boolean {
  const conditions = new Set(b.conditions.map(stable))
  const scopes = (rule: Rule) =>
    rule.scope === undefined ? null : Array.isArray(rule.scope) ? rule.scope : [rule.scope]
  const [wide, narrowed] = [scopes(a), scopes(b)]
  const wider = wide === null || (narrowed?.every((one) => wide.includes(one)) ?? false)
  const strict = { block: 2, warn: 1, log: 0 }
  const requires =
    a.requirements.length === 0 ||
    (b.requirements.length > 0 && b.requirements.every((one) => a.requirements.includes(one)))
  return (
    wider &&
    strict[a.action] >= strict[b.action] &&
    requires &&
    a.conditions.every((one) => conditions.has(stable(one)))
  )
}

/**
 * Findings over a set of rules, in the order of the rules.
 * @param context_fields fields of the context that callers are known to give; others are taken as they come
 */
export function lintRules(rules: readonly LoadedRule[]): LintFinding[] {
  return rules.flatMap((rule, index): LintFinding[] => {
    const finding = (kind: LintFinding['kind'], message: string): LintFinding => ({
      rule: rule.id,
      file: rule.file,
      line: rule.line,
      kind,
      message,
    })
    const found: LintFinding[] = []
    const direct = rule.conditions.filter((one) => one.type === 'field')
    for (const field of new Set(direct.map((one) => one.field))) {
      const problem = impossible(
        field,
        direct.filter((one) => one.field === field),
      )
      if (problem) found.push(finding('never_fires', problem))
    }
    for (const { field } of fieldsIn(rule.conditions)) {
      const capital = [...known].find((one) => one !== field && one === field.toLowerCase().replaceAll('-', '_'))
      if (capital)
        found.push(finding('unknown_field', `${field} is looked up in the context; did you mean ${capital}?`))
    }
    for (const field of rule.requirements) {
      if (known.has(field) && !booleanFields.has(field))
        found.push(finding('contradiction', `${field} is never exactly true, so the requirement can't be met`))
      if (direct.some((one) => one.field === field && ['=', '=='].includes(one.operator) && one.value !== true)) {
        found.push(
          finding('contradiction', `the rule applies only when ${field} is not true, and requires it to be true`),
        )
      }
    }
    const cover = rules.find(
      (other, at) => other !== rule && covers(other, rule) && (!covers(rule, other) || at < index),
    )
    if (cover) found.push(finding('shadowed', `whatever it catches, ${cover.id} catches too`))
    if (rule.action === 'block' && rule.message === undefined)
      found.push(finding('no_message', 'a blocked agent is not told why: add a message'))
    return found
  })
}
