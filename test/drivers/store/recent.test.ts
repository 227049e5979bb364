/** Documents that were read lately: as many as fit; what nobody asked for since it came goes first. */
import { expect, test } from 'bun:test'
import type { StoredText } from '../../../sdk/storage/decisions.ts'
import { recent } from '../../../src/drivers/store/recent.ts'
import * as fc from '../../support/property.ts'

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

const ids = ['a', 'b', 'c', 'd', 'e']
const sizeOf = (rows: Iterable<StoredText>) => [...rows].reduce((sum, { json }) => sum + json.length, 0)

test('what is kept is what was put last, and never more than fits; nothing goes while there is room', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const kept = recent<StoredText>(100)
      // All that was put and not dropped: what is not kept of it had to make room.
      const put = new Map<string, StoredText>()
      let hadToGo = false
      for (const one of steps) {
        if ('get' in one) {
          const found = kept.get(one.get)
          if (found || !hadToGo) expect(found).toBe(put.get(one.get)!)
        } else if ('drop' in one) {
          kept.delete(one.drop)
          put.delete(one.drop)
        } else {
          const fresh = row(one.put, one.length)
          kept.set(one.put, fresh)
          put.set(one.put, fresh)
          hadToGo ||= sizeOf(put.values()) > 100
          expect(kept.get(one.put)).toBe(fresh)
        }
      }
      expect(sizeOf(ids.flatMap((name) => kept.get(name) ?? []))).toBeLessThanOrEqual(100)
    }),
  )
})

test('what was asked for outlives what was not, and goes when nobody asks for it again', () => {
  const kept = recent<StoredText>(100)
  const put = (...names: string[]) => names.forEach((name) => void kept.set(name, row(name, 40)))
  put('a', 'b')
  kept.get('a')
  put('c')
  // Spared once: it is older than c, but b had not been used.
  expect([kept.get('b'), kept.get('c')?.id]).toEqual([undefined, 'c'])
  put('d')
  expect([kept.get('a'), kept.get('c')?.id, kept.get('d')?.id]).toEqual([undefined, 'c', 'd'])
})
