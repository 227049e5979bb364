/** Bridge extraction: where structure and function come from, in which order, and that it is bounded and linear. */
import { describe, expect, test } from 'bun:test'
import * as v from 'valibot'
import { Bridge, type Reason } from '../../../../sdk/schema/decision.ts'
import { extractBridge } from '../../../../src/domain/record/decision/bridge.ts'

type Given = Parameters<typeof extractBridge>[0]
const bridgeOf = (given: Partial<Given>) =>
  extractBridge({ decision: 'Adopt Redis.', context: null, pattern: null, reasons: [], ...given })
const purposeOf = (given: Partial<Given>) => bridgeOf(given).function
const reason = (type: string, text: string, strength: number): Reason => ({ type, text, strength })

describe('structure', () => {
  test('is a short decision whole, without white space around it', () => {
    const decision = ' First. Second! Third? '
    expect(bridgeOf({ decision }).structure).toBe(decision.trim())
  })

  test('ends with the sentence that passes 300 characters', () => {
    const sentence = `${'word '.repeat(19)}end.`
    const text = [sentence, sentence, sentence, sentence, sentence].join(' ')
    expect(sentence.length).toBe(99)
    // Three sentences end at 299, the fourth passes 300.
    expect(bridgeOf({ decision: text }).structure).toBe(text.slice(0, 399))
    const longer = text.replace('word', 'words')
    expect(bridgeOf({ decision: longer }).structure).toBe(longer.slice(0, 300))
  })

  test.each(['。', '！', '？', '!', '?', '\n\n', '\n \t\n'])('takes %j for the end of a sentence', (end) => {
    const first = 'x'.repeat(310)
    expect(bridgeOf({ decision: `${first}${end} more` }).structure).toBe(`${first}${end}`.trim())
  })

  test('does not take a dot inside a word or a number for an end', () => {
    const decision = `${'x'.repeat(310)} v1.2.3 node.js continues. Then stops.`
    expect(bridgeOf({ decision }).structure).toBe(`${'x'.repeat(310)} v1.2.3 node.js continues.`)
  })

  test('without an end of a sentence is the whole text', () => {
    const decision = 'word '.repeat(200).trim()
    expect(bridgeOf({ decision }).structure).toBe(decision)
  })
})

describe('function, in order of preference', () => {
  const everything: Given = {
    decision: 'Adopt Redis to cut latency. More.',
    context: 'The site is slow because of joins. Second.',
    pattern: ' Cache what is read often ',
    reasons: [reason('analysis', 'p99 is over budget', 0.9)],
  }
  test('the pattern', () => expect(purposeOf(everything)).toBe('Cache what is read often'))
  test('then the strongest reason of type analysis, constraint or pattern', () => {
    expect(purposeOf({ ...everything, pattern: null })).toBe('p99 is over budget')
    const reasons = [
      reason('analysis', 'weak', 0.2),
      reason('constraint', 'strong', 0.7),
      reason('pattern', 'as strong', 0.7),
      reason('risk', 'no purpose', 1),
      reason('analysis', '  ', 1),
    ]
    expect(purposeOf({ ...everything, pattern: '  ', reasons })).toBe('strong')
  })
  test('then the first purpose clause of the decision', () => {
    expect(purposeOf({ ...everything, pattern: null, reasons: [] })).toBe('to cut latency')
  })
  test('then that of the context', () => {
    expect(purposeOf({ ...everything, pattern: null, reasons: [], decision: 'Adopt Redis.' })).toBe('because of joins')
  })
  test('then the first sentence of the context', () => {
    expect(purposeOf({ context: '\n\n  The site is slow. It costs money.' })).toBe('The site is slow.')
  })
  test('then the structure', () => {
    for (const context of [null, '', ' \n ']) expect(purposeOf({ context })).toBe('Adopt Redis.')
  })
})

describe('purpose clauses', () => {
  test.each([
    ['Cache results so that pages load fast; keep logs', 'so that pages load fast'],
    ['Use WAL in order to let readers through\nand more', 'in order to let readers through'],
    ['BECAUSE OF cost we stay', 'BECAUSE OF cost we stay'],
    ['Pin node.js 22 to avoid v23.1 regressions. Later', 'to avoid v23.1 regressions'],
    ['Switch to SQLite to drop a server', 'to drop a server'],
    ['Moved back to Postgres because JSON indexes matter', 'because JSON indexes matter'],
    ['Due to load, add workers to keep p99 low', 'to keep p99 low'],
    ['Say no to. Then act to ship it', 'to ship it'],
    ['Use a queue to absorb peaks so that orders survive', 'so that orders survive'],
    ['Give the team access to production to fix faults', 'to fix faults'],
    ['Add a key to never charge twice', 'to never charge twice'],
    ['Add an index to cache the totals', 'to cache the totals'],
    ['Split the table to rebuild it faster', 'to rebuild it faster'],
    ['Retry to minimise lost orders', 'to minimise lost orders'],
  ])('%s', (decision, expected) => expect(purposeOf({ decision })).toBe(expected))

  test.each([
    'Tomorrow we stop',
    'Migrate to Kubernetes',
    'Limit access to customers that pay',
    'Add retries to payment calls',
    'Deploy to production',
    'Move billing to stripe',
    'From cron to systemd timers',
    'Write the log to disk',
    'Subscribe to the feed',
    'Into the into',
    'to',
    'Autobecause of',
  ])('none in: %s', (decision) => expect(purposeOf({ decision })).toBe(decision))
})

test('the same input gives the same bridge', () => {
  const given = { decision: 'Switch to X to y. '.repeat(30), context: 'because z', reasons: [reason('a', 'b', 1)] }
  expect(bridgeOf(given)).toEqual(bridgeOf(structuredClone(given)))
})

/** Texts that a careless expression would need quadratic time for, or break. */
const hostile: Record<string, string> = {
  'to to to': 'to '.repeat(33_333),
  'so that': 'so that '.repeat(12_500),
  'to and dots': 'to. '.repeat(25_000),
  'to and spaces': `to${' '.repeat(99_990)}x`,
  'to and many spaces': `to${' '.repeat(99)}.`.repeat(980),
  'no end': 'x'.repeat(100_000),
  dots: '.'.repeat(100_000),
  'line breaks': `a${'\n'.repeat(99_998)}b`,
  'line breaks with spaces': `a${'\n      '.repeat(14_000)}b`,
  spaces: `a${' '.repeat(99_998)}b`,
  'breaks first': `${'\n\n'.repeat(300)}a`,
  surrogates: `to ${'😀'.repeat(50_000)}`,
  'a pair on the edge': `Do x to a${'😀 '.repeat(400)}`,
}

test.each(Object.keys(hostile))('hostile text is taken in linear time and gives a valid bridge: %s', (name) => {
  const text = hostile[name]!
  const bridges = [
    bridgeOf({ decision: text }),
    bridgeOf({ context: text }),
    bridgeOf({ decision: text.slice(0, 10_000), context: text }),
  ]
  for (const bridge of bridges) {
    v.parse(Bridge, bridge)
    expect(bridge.structure.isWellFormed() && bridge.function.isWellFormed()).toBe(true)
  }
})
