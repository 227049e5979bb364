/** Rules in words: every kind of condition, joined as the rule joins them. */
import { expect, test } from 'bun:test'
import { describeRule, ruleInWords } from '../../../../src/domain/policy/rules/describe.ts'
import { parseRules } from '../../../../src/domain/policy/rules/parse.ts'

const wordsOf = (yaml: string, inWords = describeRule): string => {
  const { rules, errors } = parseRules(yaml, 'test.yaml')
  expect(errors).toEqual([])
  return inWords(rules[0]!)
}

test.each([
  [
    '- { id: a, conditions: [{ type: field, field: stakes, operator: in, value: [high, critical] }] }',
    'stakes is high or critical',
  ],
  ['- { id: a, condition_context.amount: "> 5000" }', 'context.amount > 5000'],
  [
    '- { id: a, conditions: [{ type: command, targets: { access: delete, whole: true, class: system, outside: true } }] }',
    'the command would delete all of a path in system outside the project',
  ],
  [
    '- { id: a, conditions: [{ type: command, program: chmod, targets: { access: [permissions, write] }, opaque: true }] }',
    'the command runs chmod to change the permissions of or write a path and is known only at run time',
  ],
  [
    '- { id: a, conditions: [{ type: field, field: context.ticket, operator: exists, value: false }] }',
    'context.ticket is absent',
  ],
  [
    '- { id: a, conditions: [{ type: semantic, threshold: 0.6, outcome: failure, within_days: 30, min_matches: 2 }] }',
    'at least 2 decisions of the last 30 days that failed are similar to it (0.6)',
  ],
  [
    '- { id: a, conditions: [{ type: temporal, field: category, value: deployment, window_hours: 24, max_occurrences: 3 }] }',
    '3 or more decisions with category deployment in 24 hours',
  ],
  [
    '- { id: a, conditions: [{ type: temporal, between: ["22:00", "06:00"], weekdays: [sat, sun], timezone: Europe/Berlin }] }',
    'between 22:00 and 06:00 Europe/Berlin on sat, sun',
  ],
  [
    '- { id: a, conditions: [{ type: aggregate, category: trading, metric: success_rate, operator: "<", value: 0.5, window_days: 90 }] }',
    'success_rate of trading decisions of the last 90 days < 0.5',
  ],
  [
    '- { id: a, conditions: [{ type: compound, operator: or, conditions: [{ type: field, field: stakes, operator: "=", value: low }, { type: compound, operator: not, conditions: [{ type: field, field: has_query, operator: "=", value: true }] }] }] }',
    '(stakes = low or not (has_query = true))',
  ],
  ['- { id: a, conditions: [{ type: cel, expression: "action.confidence < 0.5" }] }', 'action.confidence < 0.5'],
  ['- { id: a, condition_stakes: high, requires_has_backup: true }', 'stakes = high, unless there is has_backup'],
  [
    '- { id: a, condition_stakes: high, requires: [{ evidence: pr_review_approved }, { approval: lead }] }',
    'stakes = high, unless there is evidence of pr_review_approved and approval of lead',
  ],
])('%s', (yaml, words) => expect(wordsOf(yaml)).toBe(words))

test.each([
  [
    '- { id: a, condition_phase: record, requires_has_query: true, requires_rollback_plan: true }',
    'the call is to record it, unless there is a query and rollback plan',
  ],
  [
    '- { id: a, conditions: [{ type: field, field: stakes, operator: in, value: [high, critical] }, { type: field, field: confidence, operator: "<", value: 0.5, when_missing: match }, { type: field, field: reason_count, operator: "<", value: 2 }] }',
    'the stakes are high or critical and the confidence is below 0.5 or not given and the number of reasons is below 2',
  ],
  [
    '- { id: a, conditions: [{ type: semantic, threshold: 0.6, outcome: failure, min_matches: 1 }] }',
    'at least 1 decision that failed is similar to it (0.6)',
  ],
])('for a reader who does not know rules: %s', (yaml, words) => expect(wordsOf(yaml, ruleInWords)).toBe(words))
