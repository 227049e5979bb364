/** Bodies of requests: well-formed calls of every method, and everything else that a body can contain. */

import { methods } from '../../src/methods/table.ts'
import * as fc from '../support/property.ts'
import { absurd, hostileText, mutated, raw, toText, valueFor } from './values.ts'

/** How often a method is called, where calling it costs more than others. */
const rare: Record<string, number> = { 'cstp.reindex': 2, 'cstp.exportEvidenceBundle': 2 }

/** Ids that the method knows, at the time of the call. */
export type KnownIds = (method: string) => readonly string[]

export interface Input {
  text: string
  /** The one call that the body holds, where it holds one. */
  call?: { method: string; params: unknown }
}

const envelope = (method: string, params: unknown) => ({ jsonrpc: '2.0', method, params, id: 1 })

/** A well-formed body that calls this method, with parameters that are right, nearly right, or absurd. */
export function callOf(name: string, ids: KnownIds): fc.Arbitrary<Input> {
  const { params } = methods.get(name) as unknown as { params: Parameters<typeof valueFor>[0] }
  const right = valueFor(params, name, () => ids(name))
  const given = fc.oneof(
    { weight: 5, arbitrary: right },
    { weight: 4, arbitrary: mutated(right) },
    { weight: 1, arbitrary: absurd },
  )
  return given.map((value) => ({ text: toText(envelope(name, value)), call: { method: name, params: value } }))
}

const calls = (ids: KnownIds): fc.Arbitrary<Input> =>
  fc.oneof(...[...methods.keys()].map((name) => ({ weight: rare[name] ?? 20, arbitrary: callOf(name, ids) })))

const id = fc.oneof(
  fc.constantFrom<unknown>(0, -1, 1.5, null, '', raw('1e999'), [], {}, raw('9007199254740993')),
  hostileText,
)

const envelopes: fc.Arbitrary<Input> = fc
  .oneof(
    fc.record(
      {
        jsonrpc: fc.constantFrom('2.0', '1.0', 2, null),
        method: fc.oneof(hostileText, fc.constantFrom('cstp.getStats', 5)),
        params: absurd,
        id,
      },
      { requiredKeys: [] },
    ),
    absurd,
  )
  .map((value) => ({ text: toText(value) }))

const texts: fc.Arbitrary<Input> = fc
  .oneof(
    fc.constantFrom(
      '',
      ' ',
      '{',
      '}',
      '[',
      '{"',
      '{"a"',
      '{"a":',
      '{"a":1,}',
      '[,]',
      '01',
      '+1',
      '.5',
      'NaN',
      'undefined',
      "{'a':1}",
    ),
    fc.constantFrom(
      '/*x*/1',
      '\ufeff',
      '\0',
      '"\u0001"',
      '{"a":1}{',
      '"\\x41"',
      '"\\u12"',
      '["\\ud800"]',
      '-',
      '1e',
      'tru',
    ),
    fc
      .constantFrom('[', '{"a":', '"', '[[],', '{"jsonrpc":"2.0","method":"cstp.getStats","params":')
      .map((unit) => unit.repeat(30_000)),
    hostileText,
  )
  .map((text) => ({ text }))

/** A well-formed body in which some characters were lost, doubled or replaced. */
function damaged(whole: fc.Arbitrary<Input>): fc.Arbitrary<Input> {
  const cut = fc.tuple(
    fc.nat(),
    fc.nat({ max: 5 }),
    fc.constantFrom('', '"', '{', '}', '[', ',', ':', '\\', '\0', '\ud800', '1', 'e'),
  )
  return fc.tuple(whole, fc.array(cut, { minLength: 1, maxLength: 3 })).map(([{ text }, cuts]) => ({
    text: cuts.reduce((now, [at, length, put]) => {
      const start = now.length === 0 ? 0 : at % now.length
      return now.slice(0, start) + put + now.slice(start + length)
    }, text),
  }))
}

function batches(whole: fc.Arbitrary<Input>): fc.Arbitrary<Input> {
  return fc.oneof(
    fc.array(whole, { maxLength: 4 }).map((entries) => ({ text: `[${entries.map(({ text }) => text).join(',')}]` })),
    fc
      .constantFrom(100, 101, 5_000)
      .map((size) => ({ text: `[${Array(size).fill('{"jsonrpc":"2.0","method":"cstp.getStats"}').join(',')}]` })),
  )
}

/** Anything that may be sent to /cstp. */
export function requests(ids: KnownIds): fc.Arbitrary<Input> {
  const whole = calls(ids)
  return fc.oneof(
    { weight: 70, arbitrary: whole },
    { weight: 8, arbitrary: envelopes },
    { weight: 6, arbitrary: texts },
    { weight: 10, arbitrary: damaged(whole) },
    { weight: 3, arbitrary: batches(whole) },
  )
}
