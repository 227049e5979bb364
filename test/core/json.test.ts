/** Stable JSON: equal for equal values, whatever the order of their keys, and JSON of the same value. */
import { expect, test } from 'bun:test'
import { stableJson } from '../../src/core/canonical.ts'
import * as fc from '../support/property.ts'

/** The same value with its keys the other way round. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, inner]) => [key, reversed(inner)]),
  )
}

test('stable JSON is that of the value, and no other for other orders of keys', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
      expect(JSON.parse(stableJson(value))).toEqual(JSON.parse(JSON.stringify(value)))
      expect(stableJson(reversed(value))).toBe(stableJson(value))
    }),
  )
})

test('keys are in the order of their code units, at every level, also one that names a prototype', () => {
  const value = JSON.parse('{"b":{"é":1,"z":[{"d":1,"c":2}]},"a":null,"__proto__":{"y":1,"x":2}}')
  expect(stableJson(value)).toBe('{"__proto__":{"x":2,"y":1},"a":null,"b":{"z":[{"c":2,"d":1}],"é":1}}')
})
