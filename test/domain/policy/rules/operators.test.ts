/** Every operator against every kind of value, absent and null ones too. */
import { describe, expect, test } from 'bun:test'
import { outcome } from './rules.ts'

const absent = Symbol('absent')
const actuals = [absent, null, 'a', 'b', 1, 2, 3, true, false, ['a'], [2], {}] as const

/** Columns as in `actuals`: holds, does not hold, or can't be evaluated. */
const matrix: [operator: string, value: unknown, cells: string][] = [
  ['<', 2, 'nn !!ynn!! !!!'],
  ['<=', 2, 'nn !!yyn!! !!!'],
  ['>', 2, 'nn !!nny!! !!!'],
  ['>=', 2, 'nn !!nyy!! !!!'],
  ['=', 2, 'nn !!nyn!! !!!'],
  ['==', 2, 'nn !!nyn!! !!!'],
  ['=', 'a', 'nn yn!!!!! !!!'],
  ['==', 'a', 'nn yn!!!!! !!!'],
  ['=', true, 'nn !!!!!yn !!!'],
  ['=', false, 'nn !!!!!ny !!!'],
  ['!=', 2, 'nn yyynyyy yyy'],
  ['!=', 'a', 'nn nyyyyyy yyy'],
  ['!=', true, 'nn yyyyyny yyy'],
  ['in', [1, 2], 'nn !!yyn!! !!!'],
  ['in', ['a', 2], 'nn ynnyn!! !!!'],
  ['in', [true], 'nn !!!!!yn !!!'],
  ['in', [], 'nn nnnnnnn nnn'],
  ['not_in', ['a', 2], 'nn nyynyyy yyy'],
  ['not_in', [], 'nn yyyyyyy yyy'],
  ['contains', 'a', 'nn yn!!!!! yn!'],
  ['contains', 2, 'nn !!!!!!! ny!'],
  ['contains', true, 'nn !!!!!!! nn!'],
  ['exists', undefined, 'nn yyyyyyy yyy'],
  ['exists', true, 'nn yyyyyyy yyy'],
  ['exists', false, 'yy nnnnnnn nnn'],
]

const contextOf = (actual: unknown): Record<string, unknown> => (actual === absent ? {} : { field: actual })

describe('operators', () => {
  for (const [operator, value, cells] of matrix) {
    test(`${operator} ${JSON.stringify(value)}`, async () => {
      const wanted = cells.replaceAll(' ', '')
      for (const when_missing of [undefined, 'no_match', 'match']) {
        const condition = { type: 'field', field: 'field', operator, value, when_missing }
        let found = ''
        for (const actual of actuals) found += await outcome(condition, { context: contextOf(actual) })
        // Without a word about it, a rule that blocks applies where the field is absent.
        const applies = when_missing === 'match' || (when_missing === undefined && operator !== 'exists')
        expect(found).toBe(applies ? `yy${wanted.slice(2)}` : wanted)
      }
    })
  }

  test('not turns each answer around and keeps what cannot be evaluated', async () => {
    for (const [operator, value, cells] of matrix) {
      const inner = { type: 'field', field: 'context.field', operator, value }
      const condition = { type: 'compound', operator: 'not', conditions: [inner] }
      let found = ''
      for (const actual of actuals) found += await outcome(condition, { context: contextOf(actual) })
      const turned = cells.replaceAll(' ', '').replace(/[yn]/g, (cell) => (cell === 'y' ? 'n' : 'y'))
      expect([operator, value, found]).toEqual([operator, value, turned])
    }
  })

  test('paths lead into objects, never into lists or prototypes', async () => {
    const at = (field: string, context: Record<string, unknown>) =>
      outcome({ type: 'field', field, operator: 'exists' }, { context })
    expect(await at('context.a.b', { a: { b: 1 } })).toBe('y')
    expect(await at('a.b', { a: { b: 1 } })).toBe('y')
    expect(await at('a.b', { 'a.b': 1 })).toBe('y')
    expect(await at('a.length', { a: [1] })).toBe('n')
    expect(await at('a.length', { a: 'text' })).toBe('n')
    for (const name of ['constructor', 'toString', '__proto__', 'hasOwnProperty', 'a.constructor', 'context.__proto__'])
      expect(await at(name, { a: {} })).toBe('n')
  })
})
