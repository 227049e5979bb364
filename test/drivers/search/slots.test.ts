/** Slots of the resident index: those that pass a filter, whatever was put and removed before. */
import { expect, test } from 'bun:test'
import { filterFields } from '../../../sdk/storage/fields.ts'
import { compileFilter } from '../../../sdk/storage/filter.ts'
import type { DecisionFields, DecisionFilter } from '../../../sdk/storage/store.ts'
import { openSlots } from '../../../src/drivers/search/resident/slots.ts'
import * as fc from '../../support/property.ts'
import { recordOf } from '../../support/record.ts'

const outcomes = [null, 'success', 'failure'] as const
const fields = filterFields(recordOf(), true)
const changed = fc.record({
  outcome: fc.constantFrom(...outcomes),
  indexed: fc.boolean(),
  created_ms: fc.nat(9),
  category: fc.constantFrom('a', 'b'),
})
const step = fc.record({ id: fc.nat(12).map(String), change: fc.option(changed) })
const filter = fc.record(
  {
    outcome: fc.subarray(['success', 'failure'] as const, { minLength: 1 }),
    created_from_ms: fc.nat(9),
    category: fc.constantFrom('a', 'b'),
  },
  { requiredKeys: [] },
)

test('what passes is what a look at each decision finds', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.array(filter, { minLength: 4 }), (steps, filters) => {
      const slots = openSlots()
      const known = new Map<string, DecisionFields>()
      for (const { id, change } of steps)
        if (change === null) {
          slots.remove(id)
          known.delete(id)
        } else {
          const own = { ...fields, ...change, id } as DecisionFields
          slots.put(id, own)
          known.set(id, own)
        }
      for (const one of filters as DecisionFilter[]) {
        const passes = compileFilter(one)
        const expected = [...known.values()].filter((own) => own.indexed && passes(own)).map(({ id }) => id)
        const found = slots.passing(one).map((slot) => slots.at(slot)!.id)
        expect(found.sort()).toEqual(expected.sort())
      }
    }),
  )
})
