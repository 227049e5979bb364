/** Describes conditions in words, for agents that must comply with a rule. */
import type { CommandCondition, Condition } from '../../../../sdk/schema/guardrail.ts'
import type { LoadedRule } from './parse.ts'

const value = (one: unknown): string =>
  Array.isArray(one) ? one.map(value).join(' or ') : typeof one === 'string' ? one : JSON.stringify(one)

/** How decisions turned out, in words. */
export const turnedOut = {
  success: 'succeeded',
  failure: 'failed',
  partial: 'succeeded in part',
  abandoned: 'was abandoned',
}

const days = (count: number | undefined): string => (count === undefined ? '' : ` of the last ${count} days`)

const either = (one: string | readonly string[]): string => [one].flat().join(' or ')

/** What a command does to a path, after `to`. */
const doing: Partial<Record<string, string>> = { permissions: 'change the permissions of', send: 'send' }

/** A condition on a command in words. */
function describeCommand({ program, subcommand, flags, targets, code_from, opaque }: CommandCondition): string {
  const path = targets && [
    ...(targets.whole === undefined ? [] : [targets.whole ? 'all of' : 'a part of']),
    targets.class === undefined ? 'a path' : `a path in ${either(targets.class)}`,
    ...(targets.outside === undefined ? [] : [targets.outside ? 'outside the project' : 'inside the project']),
    ...(targets.recursive === undefined ? [] : [targets.recursive ? 'with everything in it' : 'alone']),
  ]
  const accesses = targets?.access === undefined ? ['use'] : [targets.access].flat()
  const parts = [
    ...(program === undefined ? [] : [`runs ${either(program)}`]),
    ...(subcommand === undefined ? [] : [either(subcommand)]),
    ...(flags?.any ? [`with ${either(flags.any)}`] : []),
    ...(flags?.all ? [`with ${flags.all.join(' and ')}`] : []),
    ...(flags?.none ? [`without ${either(flags.none)}`] : []),
    ...(path
      ? [
          `${program === undefined ? 'would' : 'to'} ${either(accesses.map((one) => doing[one] ?? one))} ${path.join(' ')}`,
        ]
      : []),
    ...(code_from === undefined
      ? []
      : [`${program === undefined && !path ? 'runs' : 'with'} code from a ${either(code_from)}`]),
  ]
  const known = opaque === undefined ? [] : [opaque ? 'is known only at run time' : 'is known before it runs']
  return `the command ${[...(parts.length > 0 ? [parts.join(' ')] : []), ...known].join(' and ')}`
}

const compared: Record<string, string> = {
  '<': 'is below',
  '<=': 'is at most',
  '>': 'is above',
  '>=': 'is at least',
  '=': 'is',
  '==': 'is',
  '!=': 'is not',
  in: 'is',
  not_in: 'is not',
}
const signs: Record<string, string> = { '==': '=', in: 'is', not_in: 'is not' }

/** How conditions name fields and comparisons: as rules do, or as a sentence does. */
interface Style {
  field(name: string): string
  comparison(operator: string): string
  value(field: string, bound: unknown): string
  /** What is added if a condition holds without a value as well. */
  missing: string
  /** What a requirement asks for. */
  required(name: string): string
}
const asWritten: Style = {
  field: (name) => name,
  comparison: (operator) => signs[operator] ?? operator,
  value: (_, bound) => value(bound),
  missing: '',
  required: (name) => name,
}
/** Fields of an action, and the phases of its calls, as a sentence names them. */
const spokenFields: Partial<Record<string, string>> = {
  phase: 'the call',
  category: 'the category',
  stakes: 'the stakes',
  confidence: 'the confidence',
  reason_count: 'the number of reasons',
}
const spokenPhases: Partial<Record<string, string>> = {
  check: 'to ask',
  pre_action: 'to decide',
  record: 'to record it',
}
const spoken = (name: string): string => name.replace(/^context\./, '').replace(/[_.]/g, ' ')
const asSaid: Style = {
  field: (name) => spokenFields[name] ?? spoken(name),
  comparison: (operator) => compared[operator] ?? operator,
  value: (field, bound) =>
    value(field === 'phase' ? [bound].flat().map((one) => spokenPhases[String(one)] ?? one) : bound),
  missing: ' or not given',
  required: (name) => spoken(name).replace(/^has /, 'a '),
}

/** One condition in words. */
function describe(condition: Condition, style: Style): string {
  const { field: named, comparison } = style
  switch (condition.type) {
    case 'field': {
      const { field, operator, value: bound, when_missing } = condition
      if (operator === 'exists') return `${named(field)} is ${bound === false ? 'absent' : 'given'}`
      const said = `${named(field)} ${comparison(operator)} ${style.value(field, bound)}`
      return `${said.replace(/^the stakes is/, 'the stakes are')}${when_missing === 'match' ? style.missing : ''}`
    }
    case 'semantic': {
      const { outcome, threshold, within_days, min_matches } = condition
      const [kind, are] = min_matches === 1 ? ['decision', 'is'] : ['decisions', 'are']
      const ended =
        outcome === undefined ? '' : ` that ${turnedOut[outcome].replace('was', min_matches === 1 ? 'was' : 'were')}`
      const near = threshold === 'auto' ? '' : ` (${threshold})`
      return `at least ${min_matches} ${kind}${days(within_days)}${ended} ${are} similar to it${near}`
    }
    case 'temporal': {
      const { field, value: counted, window_hours, max_occurrences, between, weekdays, timezone = 'UTC' } = condition
      if (window_hours !== undefined)
        return `${max_occurrences} or more decisions with ${field} ${counted} in ${window_hours} hours`
      const at = between === undefined ? [] : [`between ${between[0]} and ${between[1]} ${timezone}`]
      return [...at, ...(weekdays === undefined ? [] : [`on ${weekdays.join(', ')}`])].join(' ')
    }
    case 'aggregate': {
      const { metric, category, operator, value: bound, window_days } = condition
      return `${named(metric)} of ${category ?? 'all'} decisions${days(window_days)} ${comparison(operator)} ${bound}`
    }
    case 'compound': {
      const inner = condition.conditions.map((one) => describe(one, style))
      if (condition.operator === 'not') return `not (${inner[0]})`
      return inner.length === 1 ? inner[0]! : `(${inner.join(` ${condition.operator} `)})`
    }
    case 'command':
      return describeCommand(condition)
    case 'cel':
      return condition.expression
  }
}

type Described = Pick<LoadedRule, 'conditions' | 'requirements' | 'requires'>

/** When a rule applies, in words: the conditions that must hold, and the requirements of which one must be missing. Empty for a rule that always applies. */
function inStyle({ conditions, requirements, requires }: Described, style: Style): string {
  const missing = [
    ...requirements.map(style.required),
    ...requires.map((one) =>
      'approval' in one ? `approval of ${one.approval}` : `evidence of ${style.field(one.evidence)}`,
    ),
  ]
  return [
    conditions.map((one) => describe(one, style)).join(' and '),
    missing.length === 0 ? '' : `unless there is ${missing.join(' and ')}`,
  ]
    .filter((part) => part !== '')
    .join(', ')
}

/** When a rule applies, for those who write rules: with the names of fields and the signs of rules. */
export const describeRule = (rule: Described): string => inStyle(rule, asWritten)

/** When a rule applies, for a reader who does not know the syntax of rules. */
export const ruleInWords = (rule: Described): string => inStyle(rule, asSaid)
