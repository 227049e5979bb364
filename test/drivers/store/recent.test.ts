/** Documents that were read last: as many as fit, the ones longest unused go first. */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import type { StoredText } from '../../../sdk/storage/decisions.ts'
import { recent } from '../../../src/drivers/store/recent.ts'

const row = (id: string, length: number): StoredText => ({
  id,
  agent: 'a',
  created_ms: 0,
  revision: 1,
  indexed: true,
  json: 'x'.repeat(length),
})
const id = fc.constantFrom('a', 'b', 'c', 'd', 'e')
const step = fc.oneof(
  fc.record({ put: id, length: fc.integer({ min: 1, max: 40 }) }),
  fc.record({ get: id }),
  fc.record({ drop: id }),
)

test('what is kept is what a list in the order of last use would keep', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const kept = recent(100)
      let model: StoredText[] = []
      for (const one of steps) {
        if ('get' in one) {
          const found = model.find(({ id }) => id === one.get)
          expect(kept.get(one.get)).toBe(found!)
          if (found) model = [...model.filter((other) => other !== found), found]
        } else if ('drop' in one) {
          kept.delete(one.drop)
          model = model.filter(({ id }) => id !== one.drop)
        } else {
          const fresh = row(one.put, one.length)
          kept.set(one.put, fresh)
          model = [...model.filter(({ id }) => id !== one.put), fresh]
          while (model.reduce((sum, { json }) => sum + json.length, 0) > 100) model.shift()
        }
      }
      for (const name of ['a', 'b', 'c', 'd', 'e']) expect(kept.get(name)).toBe(model.find(({ id }) => id === name)!)
    }),
  )
})
