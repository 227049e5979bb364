/** CEL: compiled and typed when loaded, refused where it could run long, and an error where it can't answer. */
import { describe, expect, test } from 'bun:test'
import { RE2JS } from 're2js'
import { random } from '../../../../sdk/storage/conformance/search/corpus.ts'
import type { Action } from '../../../../src/domain/policy/rules/action.ts'
import { compileCel } from '../../../../src/domain/policy/rules/cel.ts'
import { cpuClock } from '../../../support/cpu.ts'
import { actionOf, outcome } from './rules.ts'

const context = { amount: 6000, list: [1, 2, 3], inner: { a: 1 }, text: 'x' }
const cell = (expression: string, action: Partial<Action> = { context }) => outcome({ type: 'cel', expression }, action)

describe('answers', () => {
  test.each([
    ['action.stakes == "medium"', 'y'],
    ['action.stakes in ["high", "critical"]', 'n'],
    ['action.context.amount > 5000', 'y'],
    ['action.context.amount > 5000.5 && action.context.inner.a == 1', 'y'],
    ['has(action.context.missing) && action.context.missing > 1', 'n'],
    ['action.category == null', 'y'],
    ['action.confidence == null || action.confidence < 0.5', 'y'],
    ['action.context.list.all(x, x > 0)', 'y'],
    ['action.context.list.filter(x, x > 2).exists(x, x == 3)', 'y'],
    ['"amount" in action.context', 'y'],
    ['action.description.startsWith("Do")', 'y'],
    ['matches(action.description, "(?i)^do")', 'y'],
    ['matches(action.description, "^to")', 'n'],
    ['command.programs.exists(p, p == "rm")', 'n'],
    ['command.opaque || command.network || edit.size > 0', 'n'],
    // What can't be answered counts against the action.
    ['action.context.missing > 1', '!'],
    ['action.confidence < 0.5', '!'],
    ['action.context.amount == "6000"', 'n'],
    ['action.context.text > 1', '!'],
    ['action.context.text', '!'],
    ['action.context.constructor == null', '!'],
    ['has(action.context.constructor) || has(action.context.__proto__)', 'n'],
  ])('%s → %s', async (expression, wanted) => {
    expect(await cell(expression)).toBe(wanted as never)
  })
})

describe('refused when loaded', () => {
  test.each([
    ['action.stake == "high"', 'No such key: stake'],
    ['actions.stakes == "high"', 'Unknown variable'],
    ['action.stakes', 'the answer is string, expected bool'],
    ['action.stakes + 1 == 2', 'no such overload'],
    ['action.stakes == "high" &&', ''],
    ['process.exit(1)', 'Unknown variable'],
    ['action.description.matches("(a+)+$")', 'write matches(text, "expression")'],
    ['("a" + action.description).matches("(a+)+$")', 'write matches(text, "expression")'],
    ['matches(action.description, action.description)', 'a literal text'],
    ['matches(action.description, "(a")', "matches() can't use"],
    ['matches(action.description, "(?=a)b")', "matches() can't use"],
    ['action.tags.exists(a, action.tags.exists(b, a == b))', 'inside another loop'],
    ['action.tags.map(a, action.tags.map(b, a + b)).size() > 1', 'inside another loop'],
    ['cel.bind(a, "x" + "x", a + a == "xxxx")', 'bind() is not offered'],
    [`${'('.repeat(200)}true${')'.repeat(200)}`, ''],
    [`${'true && '.repeat(600)}true`, ''],
    [`[${'1,'.repeat(600)}1].size() > 1`, ''],
  ])('%.60s', (expression, wanted) => {
    const { error, evaluate } = compileCel(expression)
    expect(error).toStartWith('expression: ')
    expect(error).toContain(wanted)
    expect(() => evaluate(actionOf(), {})).toThrow()
  })
})

test('the largest context is evaluated in no time', async () => {
  const list = Array.from({ length: 12_000 }, (_, at) => at)
  const words = 'word '.repeat(12_000)
  for (const [expression, given] of [
    ['action.context.list.filter(x, x > 1).map(x, x * 2.0).exists(x, x < 0.0)', { list }],
    ['action.context.list.exists(x, action.description.contains("nothing"))', { list }],
    ['action.context.words.contains("nothing") || action.context.words.endsWith("no")', { words }],
  ] as const) {
    const used_ms = cpuClock()
    await cell(expression, { context: given, description: 'x'.repeat(10_000) })
    expect(used_ms()).toBeLessThan(1_000)
  }
})

test('a regular expression reads a large text in no time, and one that is too large is refused before it is compiled', async () => {
  for (const expression of ['(a+)+$', '\\\\s+$', '\\\\bdebugger\\\\b', '(?i)(?:[a-z]{1,90}|\\\\s{1,90})+!'])
    for (const character of ['a', ' ', '0', '"']) {
      const text = `x${character.repeat(262_144)}x`
      const spent = cpuClock()
      expect(await cell(`matches(action.context.text, "${expression}")`, { context: { text } })).toBe('n')
      expect(spent()).toBeLessThan(500)
    }
  const spent = cpuClock()
  for (const large of ['(?:abc[def]){1000}', '\\\\w{1,501}', '((x{9}){9}){9}', `${'x'.repeat(501)}`])
    expect(compileCel(`matches(action.description, "${large}")`).error).toContain('at most 500 steps')
  for (const small of ['\\\\w{1,400}', '[]{9}a]{100}', '\\\\x{10FFFF}{40}', '(?:a{10}b){40}'])
    expect(compileCel(`matches(action.description, "${small}")`).error).toBeNull()
  expect(spent()).toBeLessThan(500)
})

test('a text that gives an expression ever new states counts against the action once it is large, and is answered while it is small', async () => {
  const expression = '[ab]*a[ab]{150}[xy]'
  const next = random(1)
  const text = Array.from({ length: 262_144 }, () => (next() < 0.5 ? 'a' : 'b')).join('')
  const spent = cpuClock()
  const about = (text: string) => cell(`matches(action.context.text, "${expression}")`, { context: { text } })
  expect(await about(text)).toBe('!')
  expect(spent()).toBeLessThan(500)
  for (const some of [text.slice(0, 10_000), `${text.slice(0, 9_000)}x`])
    expect(await about(some)).toBe(RE2JS.compile(expression).test(some) ? 'y' : 'n')
})
