/** Decision files: whatever JSON holds is written as YAML that reads back the same, and mistakes are reported with their line. */
import { expect, test } from 'bun:test'
import { parse } from 'yaml'
import { oddRecord, recordOf } from '../../sdk/storage/conformance/store/records.ts'
import { yamlOf } from '../../src/core/yaml.ts'
import { parseRecord } from '../../src/drivers/store/sqlite/parse.ts'
import * as fc from '../support/property.ts'

const awkward = [
  'yes',
  'NO',
  'null',
  '~',
  '- a',
  'a: b',
  'a #b',
  '#',
  '%YAML 1.2',
  '---',
  '...',
  ' \n',
  '\t',
  '\r\n',
  '\0',
  '\u0085',
]
awkward.push(
  '__proto__',
  'constructor',
  '\u2028',
  '\ufeff',
  '\ufffe',
  '\uffff',
  '\u007f',
  '!!str',
  '&a',
  '*a',
  '|',
  '>-',
  '1e3',
)
awkward.push('0x1f', '<<', '?', '? a', '@', '`', '"', "'", '\\', '{a}', '[a]', 'x'.repeat(1_100), '\n'.repeat(400), '')
const text = fc.oneof(
  fc.constantFrom(...awkward),
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.array(fc.constantFrom(...awkward), { maxLength: 3 }).map((parts) => parts.join('')),
)
const { json } = fc.letrec((tie) => ({
  json: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(null, true, false, 0, 1e21, 1e-7, 5e-324, Number.MAX_SAFE_INTEGER),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    text,
    fc.array(tie('json'), { maxLength: 4 }),
    fc.array(fc.tuple(text, tie('json')), { maxLength: 4 }).map((entries) => Object.fromEntries(entries)),
  ),
}))

test('every JSON value survives', () => {
  fc.assert(
    fc.property(json, (value) => {
      const back: unknown = parse(yamlOf(value))
      expect(JSON.stringify(back)).toBe(JSON.stringify(value))
    }),
    { numRuns: 3_000 },
  )
})

test('a record reads back as it was written', () => {
  for (const record of [oddRecord(1), recordOf(2)])
    expect(parseRecord(Buffer.from(yamlOf(record)), record.id)).toEqual({ record })
})

test('mistakes are named with their line', () => {
  const record = recordOf(2)
  const file = yamlOf(record)
  const problem = (content: string | Uint8Array, id = record.id) => {
    const parsed = parseRecord(typeof content === 'string' ? Buffer.from(content) : content, id)
    return 'problem' in parsed ? parsed.problem : null
  }
  const line = (start: string) => file.split('\n').findIndex((one) => one.startsWith(start)) + 1
  expect(problem(file.replace(/^category: .*$/m, 'category: "open'))).toMatch(/^line \d+: /)
  expect(problem(file.replace(/^confidence: .*$/m, 'confidence: 2'))).toBe(
    `line ${line('confidence')}: confidence: a number from 0 to 1`,
  )
  expect(problem(file.replace(/strength: .*$/m, 'strength: high'))).toMatch(/^line \d+: reasons.0.strength: /)
  expect(problem(`${file}tgas: []\n`)).toMatch(/tgas/)
  expect(problem(file.replace(/^stakes: .*\n/m, ''))).toMatch(/stakes/)
  expect(problem(file.replace(/^created_at: .*$/m, 'created_at: "soon"'))).toMatch(/created_at/)
  expect(problem(`${file}category: "again"\n`)).toMatch(/^line \d+: Map keys must be unique/)
  expect(problem(file, '2026-01-01-decision-000000000000')).toMatch(/^line 1: the id is /)
  expect(problem('- a\n')).not.toBe(null)
  expect(problem('')).toMatch(/object/i)
  expect(problem(Uint8Array.of(0x61, 0xff))).toBe('not UTF-8 text')
})

test('aliases that grow without bound, or hold themselves, are a mistake like any other', () => {
  const lists = Array.from({ length: 5 }, (_, at) => {
    const items = Array(9).fill(at === 0 ? '"lol"' : `*a${at - 1}`)
    return `a${at}: &a${at} [${items}]`
  })
  const { id } = recordOf(2)
  const file = yamlOf(recordOf(2))
  const custom = file.replace(/^pre_decision_protocol:.*\n/m, '')
  for (const text of [
    lists.join('\n'),
    `&a\nid: ${id}\nself: *a\n`,
    `${custom}pre_decision_protocol: &a\n  self: *a\n`,
    `${custom}pre_decision_protocol: &a {b: [*a]}\n`,
  ]) {
    const parsed = parseRecord(Buffer.from(text), id)
    expect('problem' in parsed ? parsed.problem : text).toMatch(/aliases that are not finite/)
  }
  // One that is finite says what its parts say.
  const shared = `${file.replace(/^tags:.*\n(?: +-.*\n)*/m, '')}tags: &t ["x"]\n`
  expect(parseRecord(Buffer.from(shared), id)).toMatchObject({ record: { tags: ['x'] } })
})
