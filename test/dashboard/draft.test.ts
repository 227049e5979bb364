/** What is typed of a decision: it becomes what is recorded, and joining it with what others wrote loses nothing. */
import { describe, expect, test } from 'bun:test'
import type { GetDecisionResult } from '../../sdk/client.ts'
import { mergedOf } from '../../src/dashboard/pages/write/conflict.tsx'
import {
  type Draft,
  draftOf,
  editable,
  emptyDraft,
  keyFor,
  recordParamsOf,
  updatesOf,
} from '../../src/dashboard/pages/write/draft.ts'
import * as fc from '../support/property.ts'
import { recordOf } from '../support/record.ts'

const word = fc.constantFrom('', 'a', 'b', 'c')
const drafts: fc.Arbitrary<Draft> = fc
  .record({
    ...Object.fromEntries(editable.filter((field) => field !== 'reasons').map((field) => [field, word] as const)),
    reasons: fc.array(fc.record({ type: word, text: word, strength: word }), { maxLength: 2 }),
  })
  .map((given) => ({ ...emptyDraft, ...given }))

describe('a draft', () => {
  test('joined with what others stored has of each field the one text that changed, or the chosen one', () => {
    fc.assert(
      fc.property(drafts, drafts, drafts, fc.constantFrom('yours', 'stored'), (base, mine, stored, side) => {
        const merged = mergedOf(base, mine, stored, () => side as 'yours' | 'stored')
        for (const field of editable) {
          const same = (one: Draft, other: Draft) => JSON.stringify(one[field]) === JSON.stringify(other[field])
          const expected = same(stored, base) ? mine : same(mine, base) || side === 'stored' ? stored : mine
          expect(merged[field]).toEqual(expected[field])
        }
      }),
    )
  })

  test('of a recorded decision records the same, and changes nothing while nothing is typed', () => {
    const one: GetDecisionResult = {
      ...recordOf({
        confidence: 0.655,
        context: 'One server.',
        reasons: [{ type: 'risk', text: 'small', strength: 0.3 }],
        alternatives_considered: ['Two', { option: 'Three', reason: 'costly' }],
        tags: ['a', 'b'],
        project: { name: 'acme/app', feature: null, pr: 7, files: [] },
      }),
    }
    expect(recordParamsOf(draftOf(one))).toMatchObject({
      decision: one.decision,
      confidence: 0.655,
      category: one.category,
      stakes: one.stakes,
      context: one.context,
      reasons: one.reasons,
      alternatives_considered: one.alternatives_considered,
      tags: one.tags,
      project: { name: 'acme/app', feature: null, pr: 7 },
    })
    const draft = draftOf(one)
    expect(updatesOf(draft, draft, one)).toEqual({})
    expect(updatesOf({ ...draft, pr: '8', tags: 'a' }, draft, one)).toEqual({ tags: ['a'], project: { pr: 8 } })
    // Of a bridge the parts that have no field are kept.
    const kept = updatesOf({ ...draft, structure: 'new' }, draft, one)
    expect(kept).toEqual({ bridge: { ...one.bridge, structure: 'new' } })
  })

  test('facts that are not an object are refused with what was expected', () => {
    for (const facts of ['{', '[]', '1', 'null'])
      expect(() => recordParamsOf({ ...emptyDraft, facts })).toThrow('action_context: expected a JSON object')
  })

  test('the same write has the same key, another one another', () => {
    const first = keyFor({ decision: 'a' }, null)
    expect(keyFor({ decision: 'a' }, first)).toBe(first)
    expect(keyFor({ decision: 'b' }, first).key).not.toBe(first.key)
    expect(first.key).toMatch(/^[0-9a-f]{32}$/)
  })
})
