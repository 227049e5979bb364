/** Retention rules: what is refused when they are read, and that no two that are accepted ask for opposites. */
import { expect, test } from 'bun:test'
import { stakesValues } from '../../../sdk/schema/decision.ts'
import {
  contradictions,
  limitsOf,
  parseRetention,
  type RetentionRule,
} from '../../../src/domain/erasure/retention-rules.ts'
import * as fc from '../../support/property.ts'

const problemsOf = (...rules: string[]): string[] => {
  const parsed = parseRetention(`retention:\n${rules.map((one) => `  - ${one}`).join('\n')}\n`, 'r.yaml')
  return 'problems' in parsed ? parsed.problems : []
}
const decision = (rest: string) => `{ kind: decision, basis: b, ${rest} }`

test.each([
  ['of one kind', decision('at_least: 90d'), decision('at_most: 30d')],
  ['in years', decision('at_least: 1y'), decision('at_most: 365d')],
  ['of a category and of all', decision('category: x, at_least: 90d'), decision('at_most: 30d')],
  ['of stakes that meet', decision('stakes: [high, low], at_least: 90d'), decision('stakes: low, at_most: 30d')],
])('rules that contradict each other are refused, both by name: %s', (_, one, other) => {
  for (const rules of [
    [one, other],
    [other, one],
  ]) {
    const [problem, ...more] = problemsOf(...rules)
    expect(more).toEqual([])
    for (const name of ['rule 1 (b)', 'rule 2 (b)']) expect(problem).toContain(name)
  }
})

test.each([
  ['of other kinds', '{ kind: audit, at_least: 90d, basis: b }', decision('at_most: 30d')],
  ['of other categories', decision('category: x, at_least: 90d'), decision('category: y, at_most: 30d')],
  ['of other stakes', decision('stakes: high, at_least: 90d'), decision('stakes: low, at_most: 30d')],
  ['that leave time', decision('at_least: 30d'), decision('at_most: 30d')],
])('rules that do not meet are no contradiction: %s', (_, one, other) => {
  expect(problemsOf(one, other)).toEqual([])
})

test.each([
  ['at_most: 30d', '{ kind: decision, at_most: 30d }', 'basis'],
  ['neither', decision('category: x'), 'neither at_least nor at_most'],
  ['a unit that is none', decision('at_most: 30h'), 'at_most'],
  ['a category of the trail', '{ kind: audit, category: x, at_most: 9d, basis: b }', 'category and stakes'],
  ['longer than sessions are kept', '{ kind: session, at_least: 91d, basis: b }', '90 days'],
  ['an unknown key', decision('at_mots: 30d'), 'at_mots'],
  ['an unknown kind', '{ kind: thought, at_most: 30d, basis: b }', 'kind'],
])('what makes no rule is refused: %s', (_, rule, said) => {
  const problems = problemsOf(rule)
  expect(problems.length).toBeGreaterThan(0)
  expect(problems.join()).toContain(said)
})

const ruleText = fc.record({
  category: fc.constantFrom(null, 'x', 'y'),
  stakes: fc.option(fc.subarray([...stakesValues], { minLength: 1 })),
  at_least_ms: fc.option(fc.nat(5)),
  at_most_ms: fc.option(fc.nat(5)),
})

test('of rules that are accepted none ends what another one keeps', () => {
  fc.assert(
    fc.property(fc.array(ruleText, { maxLength: 5 }), (given) => {
      const rules = given.map((one, at): RetentionRule => {
        const open = one.at_least_ms === null && one.at_most_ms === null
        return { ...one, ...(open && { at_most_ms: 9 }), kind: 'decision', basis: '', unless: [], name: `${at}` }
      })
      const clash = [null, 'x', 'y', 'z'].some((category) =>
        stakesValues.some((stakes) => {
          const { least, most } = limitsOf(rules, { kind: 'decision', category, stakes })
          return least !== null && most !== null && least.at_least_ms! > most.at_most_ms!
        }),
      )
      expect(contradictions(rules).length > 0).toBe(clash)
    }),
  )
})
