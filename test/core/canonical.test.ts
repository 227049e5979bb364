/** Canonical JSON is what another implementation of RFC 8785 makes, and refuses what I-JSON can't carry, by its path. */
import { describe, expect, test } from 'bun:test'
import canonicalize from 'canonicalize'
import { canonical, maxDepth, NotInteroperable } from '../../src/core/canonical.ts'
import * as fc from '../support/property.ts'

/** Any number that I-JSON carries: of every size, and near the edges. */
const number = fc
  .oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.maxSafeInteger(),
    fc.constantFrom(0, -0, 2 ** 53 - 1, 1 - 2 ** 53, 1e-7, 1e-6, 0.1 + 0.2, 5e-324, 4.5, 1e20 / 3e5),
    fc.tuple(fc.integer(), fc.integer({ min: -30, max: 15 })).map(([digits, power]) => digits * 10 ** power),
  )
  .filter((value) => Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value)))
const string = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({
    unit: fc.constantFrom('\0', '\b', '\n', '"', '\\', '/', '\x7f', '\u2028', '\ufeff', 'é', 'ﬀ', '😀', '\ue000'),
  }),
)
const { value: json } = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 5 }, fc.constant(null), fc.boolean(), number, string, tie('list'), tie('object')),
  list: fc.array(tie('value'), { maxLength: 5 }),
  object: fc.dictionary(fc.oneof(string, fc.constantFrom('__proto__', 'constructor', '10', '9', '')), tie('value'), {
    maxKeys: 6,
  }),
}))

test('it is the text of another implementation', () => {
  fc.assert(
    fc.property(json, (value) => {
      expect(canonical(value)).toBe(canonicalize(value)!)
    }),
    { numRuns: 3_000 },
  )
})

test('it is the same whatever the order of keys, and parses to the same value', () => {
  const shuffled = (value: unknown): unknown =>
    Array.isArray(value)
      ? value.map(shuffled)
      : value !== null && typeof value === 'object'
        ? Object.fromEntries(
            Object.entries(value)
              .reverse()
              .map(([key, inner]) => [key, shuffled(inner)]),
          )
        : value
  fc.assert(
    fc.property(json, (value) => {
      const text = canonical(value)
      expect(canonical(shuffled(value))).toBe(text)
      expect(canonical(JSON.parse(text))).toBe(text)
    }),
    { numRuns: 1_000 },
  )
})

test('keys are in the order of UTF-16 code units', () => {
  const value = { '\u20ac': 1, '\r': 2, '\ufb33': 3, '1': 4, '\u{1f600}': 5, '\u0080': 6, '\u00f6': 7 }
  expect(canonical(value)).toBe('{"\\r":2,"1":4,"\u0080":6,"\u00f6":7,"\u20ac":1,"\u{1f600}":5,"\ufb33":3}')
})

describe('what I-JSON can’t carry is refused by its path', () => {
  const deep = (levels: number) => JSON.parse('['.repeat(levels) + ']'.repeat(levels)) as unknown
  test.each([
    [2 ** 53, [], /within/],
    [{ a: [0, -(2 ** 53)] }, ['a', 1], /within/],
    [{ a: { b: 1e300 } }, ['a', 'b'], /within/],
    [[Number.NaN], [0], /finite/],
    [{ x: Number.POSITIVE_INFINITY }, ['x'], /finite/],
    [{ x: 'a\ud800' }, ['x'], /surrogate/],
    [{ 'a\udc00b': 1 }, ['a\udc00b'], /surrogate/],
    [{ x: undefined }, ['x'], /JSON value/],
    [[1n], [0], /JSON value/],
    [deep(maxDepth + 1), Array.from({ length: maxDepth }, () => 0), /levels/],
  ] as [unknown, (string | number)[], RegExp][])('%#', (value, path, expected) => {
    let thrown: unknown
    try {
      canonical(value)
    } catch (error) {
      thrown = error
    }
    expect(thrown).toBeInstanceOf(NotInteroperable)
    expect((thrown as NotInteroperable).path).toEqual(path)
    expect((thrown as NotInteroperable).expected).toMatch(expected)
  })

  test('what is just within is not', () => {
    expect(canonical([2 ** 53 - 1, 1 - 2 ** 53, -0])).toBe('[9007199254740991,-9007199254740991,0]')
    expect(canonical(deep(maxDepth))).toHaveLength(2 * maxDepth)
  })
})

test('what was written before has no part in it', () => {
  const first = { b: 1, a: { d: 1, c: 2 } }
  fc.assert(
    fc.property(json, (value) => {
      const text = canonical(first)
      canonical(value)
      expect(canonical(first)).toBe(text)
    }),
  )
  // As many keys as the object before, of which the last differs.
  expect([{ b: 1, c: 2 }, { b: 1, a: 2 }, {}, { '2': 1, a: 2 }].map(canonical)).toEqual([
    '{"b":1,"c":2}',
    '{"a":2,"b":1}',
    '{}',
    '{"2":1,"a":2}',
  ])
  for (const odd of [
    { b: 1, a: '\ud800' },
    { b: 1, '\ud800': 1 },
    { b: 1, '\ud800': 1 },
  ])
    expect(() => canonical(odd)).toThrow(NotInteroperable)
})
