/** Search terms: what counts as a word in which script, and that no text can hold the analysis up. */
import { expect, test } from 'bun:test'
import { analyse, queryTerms, termsOf } from '../../../src/domain/search/terms.ts'
import * as fc from '../../support/property.ts'
import { recordOf } from '../../support/record.ts'

const terms = (text: string): string[] => [...termsOf(text).counts.keys()]

test('words are lower case, without punctuation, stemmed, and counted', () => {
  const { counts, length } = termsOf('Caching the caches: "cached" -- NOT the DB_url, v2.10!')
  expect(Object.fromEntries(counts)).toEqual({ cach: 3, the: 2, not: 1, db: 1, url: 1, v2: 1, 10: 1 })
  expect(length).toBe(10)
})

test('word families share a stem', () => {
  for (const family of [
    'databases database',
    'caching cached caches',
    'migrations migrating migration',
    'retries retry',
  ])
    expect(terms(family)).toHaveLength(1)
  expect(terms('by is as sky rhythm')).toEqual(['by', 'is', 'as', 'sky', 'rhythm'])
})

test.each([
  ['Café CAFÉ cafe\u0301 cafe', ['cafe']],
  ['Über ÜBER uber', ['uber']],
  ['Ｆｕｌｌ ﬁne ①', ['full', 'fine', '1']],
  ['İstanbul ISTANBUL', ['istanbul']],
  ['Ångström Å', ['angstrom', 'a']],
  ['Решение решения', ['решение', 'решения']],
  ['ёлка елка', ['елка']],
  ['한국어 한국', ['한국어', '한국']],
  ['Straße', ['straße']],
  ['x² ½', ['x2', '1', '2']],
])('%s', (text, expected) => {
  expect(terms(text)).toEqual(expected)
})

test.each([
  ['queryDecisions', ['querydecis', 'queri', 'decis']],
  ['HTTPServer, getURLs', ['httpserver', 'http', 'server', 'geturl', 'get', 'url']],
  ['Base64Encoder.encodeURL', ['base64encoder', 'base64', 'encod', 'encodeurl', 'url']],
  ['get_userName, src/userList.ts', ['get', 'usernam', 'user', 'name', 'src', 'userlist', 'list', 'ts']],
  ['ПриветМир', ['приветмир', 'привет', 'мир']],
  ['straßenName', ['straßenname', 'straßen', 'name']],
  ['URLs, PEPs, k8s, utf8, McDonald', ['url', 'pep', 'k8s', 'utf8', 'mcdonald', 'mc', 'donald']],
  ['aBcDeFgHiJkLmNoPqRsT', ['abcdefghijklmnopqrst']],
])('an identifier is found whole and by its words: %s', (text, expected) => {
  expect(terms(text)).toEqual(expected)
})

test('scripts without spaces become overlapping pairs, also beside Latin words', () => {
  expect(terms('数据库')).toEqual(['数据', '据库'])
  expect(terms('库')).toEqual(['库'])
  expect(terms('使用SQLite数据库')).toEqual(['使用', '数据', '据库', 'sqlite', 'sq', 'lite'])
  expect(terms('キャッシュ')).toEqual(['キャ', 'ャッ', 'ッシ', 'シュ'])
  expect(queryTerms('数据')).toEqual(['数据'])
})

test('the same word gives the same term in ASCII text and beside other scripts', () => {
  for (const word of ['migrations', 'HTTP2', 'snake_case', "don't", '3.14'])
    expect(terms(`${word} ünd`)).toEqual([...terms(word), 'und'])
})

test('any ASCII text has the terms that it has beside another script, also once the table of words was full', () => {
  const piece = fc.oneof(
    fc.stringMatching(/^[A-Za-z0-9]{0,12}$/),
    fc.constantFrom(' ', '_', '-', '\n', 'getUserName', 'HTTPServer', 'caches', 'x'.repeat(70)),
  )
  const same = fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
    const text = pieces.join('')
    const beside = termsOf(`${text} ж`)
    beside.counts.delete('ж')
    expect([...termsOf(text).counts]).toEqual([...beside.counts])
    expect(termsOf(text).length).toBe(beside.length - 1)
  })
  fc.assert(same)
  // More words than are kept.
  expect(termsOf(Array.from({ length: 60_000 }, (_, number) => `w${number}`).join(' ')).counts.size).toBe(60_000)
  fc.assert(same)
})

test('text without words has no terms', () => {
  for (const text of ['', ' \n\t', '!?…—', '😀👍🏽', '\0\u200b\ufeff', '\ud800', '\u0301']) {
    expect(terms(text)).toEqual([])
    expect(queryTerms(text)).toEqual([])
  }
})

test('the words of an identifier count twice in a question, and those of a product name once', () => {
  expect(queryTerms('a __find_attr__ method of PostgreSQL, or queryDecisions')).toEqual(
    'a find attr method of postgresql postgr sql or querydecis queri decis find attr querydecis queri decis'.split(' '),
  )
})

test('nothing in a question is an operator', () => {
  expect(queryTerms('"a" AND NOT b* OR NEAR(c, 2) col:d -e ^f')).toEqual([
    ...['a', 'and', 'not', 'b', 'or', 'near', 'c', '2', 'col', 'd', 'e', 'f'],
  ])
})

test('a question keeps 64 distinct terms, in order of first use', () => {
  const asked = queryTerms(`again again ${Array.from({ length: 100 }, (_, index) => `w${index}`).join(' ')}`)
  expect(asked).toHaveLength(64)
  expect(asked.slice(0, 3)).toEqual(['again', 'w0', 'w1'])
})

test('a record is found by the words of all texts that a person wrote of it, not by other fields', () => {
  const record = recordOf({
    decision: 'alpha',
    context: 'beta',
    reasons: [
      { type: 'nowhere', text: 'gamma', strength: 1 },
      { type: 'nowhere', text: 'delta', strength: 0.1 },
    ],
    tags: ['epsilon'],
    pattern: 'zeta',
    category: 'eta',
    lessons: 'theta',
    actual_result: 'iota',
    alternatives_considered: ['kappa', { option: 'lambda', reason: 'mu', other: 'nowhere' }],
    bridge: { structure: 'nu', function: 'xi', tolerance: ['nowhere'], enforcement: [], prevention: [] },
    bridge_method: 'given',
    project: { name: 'nowhere', feature: null, pr: null, files: [] },
    review_notes: 'nowhere',
  })
  const all = 'alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi'
  expect(analyse(record).split(' ').toSorted()).toEqual(all.split(' ').toSorted())
})

test('a bridge that the rule made counts no word twice', () => {
  expect(analyse(recordOf({ decision: 'alpha', category: 'beta', pattern: 'gamma' }))).toBe('alpha gamma beta')
})

test('terms are well-formed text of at most 64 units', () => {
  const [term, ...rest] = terms(`a${'𐌰'.repeat(100)}`)
  expect(rest).toEqual([])
  expect(term!.isWellFormed()).toBe(true)
  expect(term!.length).toBe(63)
  expect(terms('x'.repeat(200_000))).toEqual(['x'.repeat(64)])
})

/** Texts that are quadratic for a naive analysis. */
const hostile: [string, (size: number) => string][] = [
  ['one word', (size) => 'x'.repeat(size)],
  ['one word of another script', (size) => 'ж'.repeat(size)],
  ['combining marks of two classes in turn', (size) => `a${'\u0301\u0323'.repeat(size / 2)}`],
  ['one combining mark', (size) => '\u0301'.repeat(size)],
  ['letters that decompose', (size) => 'ḗ'.repeat(size)],
  ['Han', (size) => '数'.repeat(size)],
  [
    'distinct Han pairs',
    (size) => String.fromCharCode(...[...'x'.repeat(20_000)].map((_, i) => 0x4e00 + i)).repeat(size / 20_000),
  ],
  ['lone surrogates', (size) => '\ud800'.repeat(size)],
  ['jamo', (size) => '\u1112\u1161\u11ab'.repeat(size / 3)],
  ['short words', (size) => 'a é '.repeat(size / 4)],
  ['joined words', (size) => 'aB'.repeat(size / 2)],
  ['capitals, and a small letter', (size) => `${'A'.repeat(size - 1)}b`],
  ['many joined words', (size) => 'aBc '.repeat(size / 4)],
  ['many y', (size) => `${'y'.repeat(63)} `.repeat(size / 64)],
]

// Quadratic time on a megabyte would not end before the runner gives the test up.
test.each(hostile)('a megabyte is analysed: %s', (_, text) => {
  const megabyte = text(1_000_000)
  const { counts, length } = termsOf(megabyte)
  expect([...counts.values()].reduce((sum, count) => sum + count, 0)).toBe(length)
  expect(queryTerms(megabyte).length).toBeLessThanOrEqual(64)
})
