/** The parts of the command line that need no process: lines of an import, tables, text on a terminal, and the pace of many calls. */
import { describe, expect, test } from 'bun:test'
import * as v from 'valibot'
import { parseFlags } from '../../src/cli/args.ts'
import { commands } from '../../src/cli/commands.ts'
import { untracked } from '../../src/cli/connection.ts'
import { type Line, planLine, readLines } from '../../src/cli/import-lines.ts'
import { parametersOf } from '../../src/cli/parameters.ts'
import { serverUrl } from '../../src/cli/remote.ts'
import { fit, plain, prettyJson, table } from '../../src/cli/terminal.ts'
import { methods } from '../../src/methods/table.ts'
import * as fc from '../support/property.ts'

test('commands say of every tracked read that it is no deliberation, and of nothing else', async () => {
  const sent: [method: string, params: unknown][] = []
  const send = untracked(async (method, params) => void sent.push([method, params]))
  for (const method of methods.keys()) await send(method, {})
  const tracked = ['checkGuardrails', 'getDecision', 'getReasonStats', 'getSessionContext', 'queryDecisions']
  expect(sent.filter(([, params]) => 'track' in (params as object))).toEqual(
    tracked.map((name) => [`cstp.${name}`, { track: false }]),
  )
})

async function* inChunks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}
const collect = async (input: AsyncIterable<Uint8Array>): Promise<Line[]> => {
  const lines: Line[] = []
  for await (const line of readLines(input)) lines.push(line)
  return lines
}

describe('lines', () => {
  test('are the same however the bytes arrive', async () => {
    const bytes = Buffer.from('\ufeff{"a":"ä€😀"}\r\n\n  \n[1,2]\n{"b":1')
    const whole = await collect(inChunks(bytes, bytes.length))
    expect(whole).toEqual([
      { line: 1, value: { a: 'ä€😀' } },
      { line: 4, value: [1, 2] },
      { line: 5, problem: expect.stringContaining('is not JSON') },
    ])
    for (let size = 1; size < 12; size++) expect(await collect(inChunks(bytes, size))).toEqual(whole)
  })

  test('one without end is refused without being kept', async () => {
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (let mib = 0; mib < 40; mib++) yield new Uint8Array(1_048_576).fill(97)
      yield Buffer.from('\n{"after":true}\n')
    }
    expect(await collect(endless())).toEqual([
      { line: 1, problem: 'is longer than 16 MiB' },
      { line: 2, value: { after: true } },
    ])
  })

  test('have the same key for the same content, and take both names of an import field', () => {
    const line = { decision: 'x', category: 'c', confidence: 0.5 }
    expect(planLine(line).record.source_key).toBe(planLine({ ...line, outcome: 'success' }).record.source_key)
    expect(planLine(line).record.source_key).not.toBe(planLine({ ...line, confidence: 0.6 }).record.source_key)
    expect(planLine({ ...line, source_key: 'k', recordedBy: 'ann', created_at: '2024-02-29' }).record).toMatchObject({
      source_key: 'k',
      recorded_by: 'ann',
      created_at: '2024-02-29T00:00:00.000Z',
    })
    expect(() => planLine({ ...line, source: 'a', source_key: 'b' })).toThrow('mean the same')
    expect(() => planLine({ ...line, date: '2023-02-29' })).toThrow('date')
  })
})

test('a table fits: the growing column is cut, columns of low rank go', () => {
  const rows = [{ title: '決定は長い題名を持つことがあるので切られる', kind: 'architecture', id: 'abcdef01' }]
  const columns = [
    { title: 'title', text: ({ title }: (typeof rows)[0]) => title, grows: true },
    { title: 'kind', text: ({ kind }: (typeof rows)[0]) => kind, rank: 1 },
    { title: 'id', text: ({ id }: (typeof rows)[0]) => id },
  ]
  const at = (width: number) => table(rows, columns, width, (text) => text)
  expect(at(80)[1]).toContain(rows[0]!.title)
  expect(at(44)[0]).not.toContain('kind')
  for (const width of [80, 60, 44, 30])
    for (const line of at(width)) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(width)
})

test('stored text cannot drive the terminal', () => {
  expect(plain('a\x1b[31mb\r\nc\u202ed\x9b2J\u061c')).toBe('a b cd')
  expect(prettyJson({ a: '\x9b2J\x7f\u202e' })).toBe('{\n  "a": "\\u009b2J\\u007f\\u202e"\n}\n')
  expect(fit('👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦', 5)).toBe('👩‍👩‍👧‍👦👩‍👩‍👧‍👦…')
})

test('flags: values, lists and switches, before and after words; what is wrong is named', () => {
  const own = {
    tag: { kind: 'list', about: '' },
    local: { kind: 'switch', about: '' },
    limit: { kind: 'value', about: '' },
    form: { kind: 'list', about: '', choices: ['long', 'short'] },
  } as const
  expect(parseFlags(['--tag', 'a,b', 'word', '--tag=c', '--local', '--port', '0', '--', '--limit'], own)).toEqual({
    flags: { tag: ['a', 'b', 'c'], local: true, limit: undefined, form: [], json: false, help: false, version: false },
    words: ['word', '--limit'],
    settings: { '--port': '0' },
  })
  expect(() => parseFlags(['--limit', '--local'], own)).toThrow('--limit needs a value')
  expect(() => parseFlags(['--local=yes'], own)).toThrow('--local takes no value')
  expect(() => parseFlags(['--loca'], own)).toThrow('did you mean --local?')
  expect(() => parseFlags(['-x'], own)).toThrow('unknown flag -x')
  expect(parseFlags(['--form', 'long,short'], own).flags.form).toEqual(['long', 'short'])
  expect(() => parseFlags(['--form', 'long,wide'], own)).toThrow('--form: expected long, short; received "wide"')
})

test('a flag of one name takes as much in every command, so that it may come before the command', () => {
  const arity = new Map<string, boolean>()
  const all = commands.flatMap((one) => [one, ...(one.verbs ?? [])])
  expect(all.length).toBeGreaterThan(commands.length)
  for (const { name, flags } of all)
    for (const [flag, { kind }] of Object.entries(flags)) {
      const takesNone = kind === 'switch'
      expect([name, flag, arity.get(flag) ?? takesNone]).toEqual([name, flag, takesNone])
      arity.set(flag, takesNone)
    }
})

describe('parameters as flags', () => {
  const schema = v.object({
    how_many: v.optional(v.pipe(v.number(), v.safeInteger()), 3),
    share: v.nullable(v.pipe(v.number(), v.minValue(0), v.maxValue(1))),
    kinds: v.optional(v.union([v.picklist(['a', 'b']), v.array(v.picklist(['a', 'b']))])),
    notes: v.optional(v.array(v.pipe(v.string(), v.maxLength(10_000))), () => []),
    strict: v.optional(v.boolean(), false),
    loud: v.optional(v.boolean(), true),
    place: v.optional(v.union([v.string(), v.object({ name: v.string() })])),
    shape: v.optional(v.object({ x: v.number() })),
  })
  const { flags, read } = parametersOf(schema, { notes: 'note', strict: null })

  test('each has the kind that its type asks for', () => {
    expect(Object.entries(flags).map(([name, { kind, value }]) => [name, kind, value])).toEqual([
      ['how-many', 'value', 'n'],
      ['share', 'value', '0..1'],
      ['kinds', 'list', 'a|b'],
      ['note', 'texts', 'text'],
      ['loud', 'value', 'true|false'],
      ['place', 'value', 'text'],
      ['shape', 'value', 'json'],
    ])
    expect(flags['how-many']!.about).toBe(' By default 3.')
  })

  test('values come back as the parameters, and only those that were given', () => {
    const line = ['--how-many', '7', '--kinds', 'a,b', '--note', 'one, two', '--note', 'three', '--loud', 'false']
    expect(read(parseFlags([...line, '--place', '12', '--shape', '{"x":1}'], flags).flags)).toEqual({
      how_many: 7,
      kinds: ['a', 'b'],
      notes: ['one, two', 'three'],
      loud: false,
      place: '12',
      shape: { x: 1 },
    })
    expect(read(parseFlags([], flags).flags)).toEqual({})
  })

  test.each([
    [['--how-many', '1e309'], '--how-many needs a number, received "1e309"'],
    [['--how-many', ''], '--how-many needs a number, received ""'],
    [['--loud', 'yes'], '--loud is true or false, received "yes"'],
    [['--shape', '{'], '--shape needs object as JSON, received "{"'],
  ])('%j is refused by name', (line, message) => {
    expect(() => read(parseFlags(line, flags).flags)).toThrow(message)
  })

  test('any text comes back as it was given', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' }).filter((text) => !text.startsWith('--'))), (notes) => {
        const line = notes.flatMap((note) => ['--note', note])
        expect(read(parseFlags(line, flags).flags)).toEqual(notes.length > 0 ? { notes } : {})
      }),
    )
  })
})

test('the server to ask: the address given, or the one of the settings where it can be reached', () => {
  expect(serverUrl('https://host/base/cstp/', { host: 'x', port: 1 })).toBe('https://host/base')
  expect(serverUrl(undefined, { host: '0.0.0.0', port: 9991 })).toBe('http://127.0.0.1:9991')
  expect(serverUrl(undefined, { host: '::1', port: 9991 })).toBe('http://[::1]:9991')
  expect(() => serverUrl(undefined, { host: 'x', port: 0 })).toThrow('--url')
  expect(() => serverUrl('host:9991', { host: 'x', port: 1 })).toThrow('--url needs an address')
})
