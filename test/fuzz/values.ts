/** Values that break careless programs, and parameters made from a method's schema that are right, nearly right, or absurd. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: text that must not be taken for a variable

import type * as v from 'valibot'
import * as fc from '../support/property.ts'

type Schema = v.GenericSchema<unknown, unknown>
interface Shape {
  type: string
  entries?: Record<string, Schema>
  wrapped?: Schema
  item?: Schema
  options?: unknown[]
  literal?: unknown
  pipe?: Step[]
}
interface Step extends Shape {
  requirement?: unknown
}

/** Stands for a token that JSON.stringify can't write; {@link toText} puts it in. */
export const raw = (token: string): string => `@raw:${token}@`
export const toText = (value: unknown): string =>
  (JSON.stringify(value) ?? 'undefined').replace(
    /"@raw:((?:[^"\\]|\\.)*)@"/g,
    (_, token: string) => JSON.parse(`"${token}"`) as string,
  )

const prototypeNames = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'valueOf',
  '__defineGetter__',
  'then',
]

const yamlText = [
  ...[
    '---',
    '...',
    '- a: b',
    '? x',
    ': y',
    '&a b',
    '*a',
    '!!js/function "x"',
    '!<tag:x> y',
    '|',
    '>-\n  x',
    '# no',
    '%TAG ! x',
  ],
  ...[
    'yes',
    'No',
    'null',
    '~',
    '.inf',
    '0o17',
    '1_000',
    '2026-07-01',
    '<<',
    '"',
    "'",
    '[a',
    '{b',
    'a: b: c',
    'x # y',
    '\t',
    ' ',
    '\n',
  ],
]

const markup = [
  ...[
    '../../etc/passwd',
    '/etc/passwd\0',
    '${HOME}',
    '$(id)',
    '`id`',
    "' OR 1=1 --",
    '"; DROP TABLE decisions;',
    '%s%n%d',
    '%00',
  ],
  ...[
    '<script>alert(1)</script>',
    '{{7*7}}',
    '\x1b[2J',
    '\r\nX-Injected: 1',
    '\u202e\u2066',
    '\ufeff',
    '\u2028\u2029',
    '\uffff\ufffe',
  ],
  ...[
    'NEAR(a b, 2)',
    'a* AND NOT (',
    '"unclosed',
    '^x$',
    'a OR',
    '😀👩‍👩‍👧',
    'e\u0301',
    'ﬁ',
    'İ',
    '数据库 テスト',
    '٣',
    'ŉ',
    '\ud7ff\ue000',
  ],
]

const broken = ['\ud800', '\udc00', 'a\ud83d', '\ude00\ud83d', `${'x'.repeat(118)}\ud83d\ude00`.slice(0, 119)]

/** Long texts, each a different way to be slow. */
const long = [
  ...[
    'a',
    'to ',
    'so that ',
    'a.',
    '\n',
    ' ',
    '\n \n',
    '数',
    '\u0301\u0323',
    'y',
    'é ',
    '"',
    '\\',
    '\0',
    '{',
    '-',
    '😀',
    'word ',
  ].map((unit) => () => unit.repeat(Math.ceil(10_000 / unit.length)).slice(0, 10_000)),
  () => `a${' '.repeat(9_998)}b`,
  () => 'x'.repeat(100_000),
  () => 'a\u0301\u0323'.repeat(33_333),
  () => 'x'.repeat(1_000_000),
]

export const hostileText: fc.Arbitrary<string> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...yamlText) },
  { weight: 6, arbitrary: fc.constantFrom(...markup) },
  { weight: 3, arbitrary: fc.constantFrom(...prototypeNames) },
  { weight: 2, arbitrary: fc.constantFrom(...broken) },
  { weight: 6, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  { weight: 3, arbitrary: fc.string({ unit: 'grapheme', maxLength: 200 }) },
  {
    weight: 4,
    arbitrary: fc.array(fc.constantFrom(...yamlText, ...markup), { maxLength: 8 }).map((parts) => parts.join('\n')),
  },
  { weight: 1, arbitrary: fc.constantFrom(...long).map((make) => make()) },
)

const nested = (open: string, close: string, depth: number) => raw(`${open.repeat(depth)}1${close.repeat(depth)}`)

const absurd: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(null, true, false, 0, -0, -1, 1.5, 1e308, 5e-324, 2 ** 53, -(2 ** 63), '', [], {}, [[]], [null]),
  fc.constantFrom('1e999', '-1e999', '1E400', '0.1e-999', '123456789012345678901234567890', '-0', '"\\ud800"').map(raw),
  fc
    .constantFrom(10, 63, 64, 65, 500, 20_000)
    .chain((depth) =>
      fc.constantFrom(nested('[', ']', depth), nested('{"a":', '}', depth), nested('[{"x":', '}]', depth)),
    ),
  fc
    .constantFrom('{"__proto__":{"polluted":1}}', '{"constructor":{"prototype":{"polluted":1}}}', '{"a":1,"a":2}')
    .map(raw),
  fc.constantFrom(200, 2_000).map((size) => Array(size).fill(1)),
  fc
    .constantFrom(200, 2_000)
    .map((size) => Object.fromEntries(Array.from({ length: size }, (_, index) => [`k${index}`, index]))),
  fc.jsonValue({ maxDepth: 4 }),
  hostileText,
)

/** Ids that exist at the time of the call. */
type KnownIds = () => readonly string[]

const words =
  'cache redis postgres latency queue backup encrypt migrate rollback index shard retry budget deploy'.split(' ')
const plainText = fc.array(fc.constantFrom(...words), { minLength: 1, maxLength: 12 }).map((parts) => parts.join(' '))

function textFor(name: string, ids: KnownIds): fc.Arbitrary<string> {
  if (/(?:^|_)id$/.test(name)) {
    const known = fc.nat().map((at) => ids()[at % Math.max(1, ids().length)] ?? 'none-at-all')
    return fc.oneof(
      { weight: 8, arbitrary: known },
      {
        weight: 2,
        arbitrary: fc.tuple(known, fc.integer({ min: 0, max: 40 })).map(([id, length]) => id.slice(-length)),
      },
      {
        weight: 2,
        arbitrary: fc.tuple(known, fc.integer({ min: 0, max: 40 })).map(([id, length]) => id.slice(0, length)),
      },
      { weight: 1, arbitrary: hostileText },
    )
  }
  if (/date|^ts$|_at$|since/.test(name)) {
    const days = ['2026-07-01', '2026-07-01T12:00:00Z', '2026-06-30T23:59:59.999+14:00', '0000-01-01', '9999-12-31']
    const none = ['2026-02-30', '+275760-09-13', '-000001-01-01', '2026-07-01T12:00:00+99:99', '30d']
    return fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom(...days) },
      { weight: 1, arbitrary: fc.constantFrom(...none) },
    )
  }
  if (name === 'as_of')
    return fc.constantFrom(
      '2026-06-30T12:00:00Z',
      '2026-07-01T12:00:00.5Z',
      '2026-06-30T23:59:59.999+14:00',
      '2026-07-01',
    )
  if (name === 'decisions_path') return fc.oneof(fc.constantFrom('decisions', ''), hostileText)
  if (name === 'scope') return fc.oneof(fc.constantFrom('global', 'tag:cache'), hostileText)
  if (name === 'review_in') return fc.constantFrom('24h', '7d', '2w', '1m', '9999m', '9999h', '0d')
  return fc.oneof({ weight: 3, arbitrary: plainText }, { weight: 1, arbitrary: hostileText })
}

/** The steps of a schema, with those of the schemas that it begins with. */
const stepsOf = ({ pipe = [] }: Shape): Step[] => pipe.flatMap((step) => [step, ...(step.pipe ? stepsOf(step) : [])])

function numberFor(shape: Shape): fc.Arbitrary<number> {
  const pipe = stepsOf(shape)
  const of = (type: string) => pipe.find((one) => one.type === type)?.requirement as number | undefined
  const [min, max] = [of('min_value') ?? 0, of('max_value') ?? 100]
  const upTo = (most: number) => fc.integer({ min, max: Math.min(max, most) })
  // Small ones often: some are places in a log that is short.
  return pipe.some((one) => one.type === 'safe_integer' || one.type === 'integer')
    ? fc.oneof(fc.constantFrom(min, max), upTo(min + 3), upTo(Math.max(min, 1_000)))
    : fc.double({ min, max, noNaN: true })
}

/** Values for a schema: right as far as the schema tells what is right. */
export function valueFor(schema: Schema, name: string, ids: KnownIds): fc.Arbitrary<unknown> {
  const shape = schema as unknown as Shape
  const { type, entries, wrapped, item, options } = shape
  if (wrapped) {
    const inner = valueFor(wrapped, name, ids)
    return type === 'optional'
      ? inner
      : fc.oneof({ weight: 9, arbitrary: inner }, { weight: 1, arbitrary: fc.constant(null) })
  }
  if (entries && (type === 'object' || type === 'loose_object' || type === 'strict_object')) {
    const required = Object.keys(entries).filter((key) => (entries[key] as unknown as Shape).wrapped === undefined)
    const fields = Object.fromEntries(Object.entries(entries).map(([key, one]) => [key, valueFor(one, key, ids)]))
    const known = fc.record(fields, { requiredKeys: required as never[] })
    if (type !== 'loose_object') return known
    return fc
      .tuple(known, fc.dictionary(hostileText, absurd, { maxKeys: 2 }))
      .map(([own, more]) => ({ ...more, ...own }))
  }
  if (type === 'array' && item) return fc.array(valueFor(item, name, ids), { maxLength: 4 })
  if (type === 'literal') return fc.constant(shape.literal)
  if (type === 'picklist') return fc.constantFrom(...(options as string[]))
  if (type === 'union') return fc.oneof(...(options as Schema[]).map((one) => valueFor(one, name, ids)))
  if (type === 'boolean') return fc.boolean()
  if (type === 'number') return numberFor(shape)
  if (type === 'string') return textFor(name, ids)
  return fc.oneof(fc.dictionary(fc.string({ maxLength: 8 }), absurd, { maxKeys: 4 }), absurd)
}

type Mutable = Record<string, unknown>
const camel = (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** One change at a place in an object that `steps` lead to. */
function change(value: unknown, steps: readonly number[], how: (parent: Mutable, key: string) => void): void {
  if (value === null || typeof value !== 'object') return
  const keys = Object.keys(value)
  if (keys.length === 0) return
  const key = keys[(steps[0] ?? 0) % keys.length]!
  const inner = (value as Mutable)[key]
  if (steps.length > 1 && inner !== null && typeof inner === 'object' && Object.keys(inner).length > 0)
    change(inner, steps.slice(1), how)
  else how(value as Mutable, key)
}

const set = (target: Mutable, key: string, value: unknown) =>
  Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true })

/** What was right, with one thing wrong: a value, a name, something missing, something more. */
export function mutated(right: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const steps = fc.array(fc.nat({ max: 30 }), { minLength: 1, maxLength: 4 })
  const kind = fc.constantFrom('value', 'rename', 'drop', 'add', 'twice')
  return fc.tuple(right, steps, kind, absurd, hostileText).map(([value, at, what, other, text]) => {
    const copy = structuredClone(value)
    change(copy, at, (parent, key) => {
      if (what === 'value') set(parent, key, other)
      if (what === 'drop' || what === 'rename') {
        const held = parent[key]
        delete parent[key]
        if (what === 'rename') set(parent, camel(key) === key ? text : camel(key), held)
      }
      if (what === 'add') set(parent, text, other)
      if (what === 'twice') set(parent, camel(key), parent[key])
    })
    return copy
  })
}

export { absurd }
