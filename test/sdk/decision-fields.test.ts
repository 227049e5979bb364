/** What derives from the declared fields of a decision: parameters, their mapping to a filter, and what a caller can record. */
import { describe, expect, test } from 'bun:test'
import * as v from 'valibot'
import { DecisionRecord } from '../../sdk/schema/decision.ts'
import {
  decisionFields,
  decisionFilters,
  type Field,
  type FilterName,
  type ParamKind,
  paramFilters,
  paramName,
} from '../../sdk/schema/decision-fields.ts'
import { Filters, ListFilters } from '../../sdk/schema/params.ts'
import { RecordParams, RecordUpdates } from '../../sdk/schema/record.ts'
import { toFilter, toListFilter } from '../../src/domain/record/decision/lookup.ts'

/** A value that a parameter takes, and the operand that it becomes. */
function sample(name: FilterName): [given: unknown, operand: unknown] {
  const { field, operator } = decisionFilters[name]
  const { type, values, range }: Field = decisionFields[field]
  if (values !== undefined) return operator === 'in' ? [values[0], [values[0]]] : [values[0], values[0]]
  if (type === 'time') return ['2026-07-01T10:00:00Z', Date.parse('2026-07-01T10:00:00Z')]
  const one = type === 'boolean' ? false : type === 'text' ? 'one' : type === 'texts' ? ['one'] : (range?.[0] ?? 0)
  return [one, one]
}

const schemas: Record<ParamKind, v.GenericSchema> = { query: Filters, list: v.object(ListFilters) }
const mappings = { query: toFilter, list: toListFilter }

describe.each(['query', 'list'] as const)('a filter given as a parameter (%s)', (kind) => {
  test.each(paramFilters)('%s reaches the store', (name) => {
    const [value, operand] = sample(name)
    const given = v.parse(schemas[kind], { [paramName(name, kind)]: value }) as object
    expect<object>(mappings[kind](given)).toEqual({ [name]: operand })
  })
})

// Everything else in a record must be a parameter of recordDecision.
const written = [
  ...['id', 'title', 'status', 'outcome', 'date', 'review_by', 'bridge_method', 'verdict', 'quality', 'related_to'],
  ...[
    'links',
    'imported_by',
    'source',
    'adopted_by',
    'adopted_at',
    'holds',
    'recorded_at',
    'updated_at',
    'actual_result',
    'lessons',
  ],
  ...[
    'review_notes',
    'reviewed_at',
    'reviewed_by',
    'self_reviewed',
    'curated',

    'confidence_at_review',
  ],
  ...['review_history', 'breaker_scopes', 'revision_count', 'preserve', 'auto_attributed', 'attribution_basis'],
  'attribution_reason',
]

test('every field of a record is a parameter of recordDecision, or written by the program', () => {
  const left = Object.keys(DecisionRecord.entries).filter((name) => !(name in RecordParams.entries))
  expect(left.toSorted()).toEqual(written.toSorted())
})

// What identifies a decision, how it came about, and what its score depends on.
const fixed = [
  ...['stakes', 'alternatives_considered', 'review_in', 'reasoning_trace', 'deliberation', 'agent_id'],
  ...['pre_decision_protocol', 'created_at', 'recorded_by', 'source_key', 'confidence_at_record'],
]

test('every field that recordDecision takes can be updated, or is fixed', () => {
  const given = Object.keys(RecordParams.entries).filter((name) => name in DecisionRecord.entries)
  expect(given.filter((name) => !(name in RecordUpdates)).toSorted()).toEqual(fixed.toSorted())
})
