/** The largest bodies of each kind: none may cost much more than the reading of such a body does, or end as an internal error. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { answer } from '../../../src/surfaces/http/jsonrpc.ts'
import { callers, openMemoryProgram, type TestProgram } from '../../support/program.ts'

const megabyte = 1_048_576
const fill = (unit: string, length: number) => unit.repeat(Math.floor(length / unit.length))
const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index))
const call = (method: string, params: object) =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method: `cstp.${method}`, params })
const record = (more: object) => call('recordDecision', { decision: 'a', confidence: 1, category: 'c', ...more })
const batch = (entry: string) => `[${many(100, () => entry).join(',')}]`
const reasons = (count: number, text: (index: number) => string) => ({
  reasons: many(count, (index) => ({ type: 'a', text: text(index) })),
})
const newWords = (index: number) => many(1_100, (word) => `w${index * 1_100 + word}`).join(' ')
const letters = (length: number) => fill('a\u0301\u0323', length)
const marks = () => fill('\u0323\u0301', 10_000)
const wide = (size: number) => ({
  alternatives_considered: [{ option: 'x', ...Object.fromEntries(many(size, (index) => [`k${index}`, index])) }],
})
const long = (size: number) => ({ alternatives_considered: [{ option: 'x', a: many(size, () => 0) }] })

/** What is sent, and the codes that may come back (0 is success). What is longer than a record may be is refused. */
const bodies: [string, number[], () => string][] = [
  ['brackets', [-32600], () => '['.repeat(2 * megabyte) + ']'.repeat(2 * megabyte)],
  ['open brackets', [-32600], () => '['.repeat(4 * megabyte)],
  ['objects in objects', [-32600], () => `${'{"a":'.repeat(650_000)}1${'}'.repeat(650_000)}`],
  ['a batch of numbers', [-32600], () => `[${fill('1,', 4 * megabyte - 10)}1]`],
  ['a batch of brackets', [-32600], () => batch('['.repeat(15_000) + ']'.repeat(15_000))],
  ['steps of four megabytes', [-32602], () => record({ reasoning_trace: many(400, () => 'x'.repeat(10_000)) })],
  ['steps that fit', [0], () => record({ reasoning_trace: many(25, () => 'x'.repeat(10_000)) })],
  ['Han reasons', [-32602], () => record(reasons(100, () => fill('数', 10_000)))],
  ['Han reasons that fit', [0], () => record(reasons(8, () => fill('数', 10_000)))],
  ['reasons of new words', [-32602], () => record(reasons(100, newWords))],
  ['reasons of new words that fit', [0], () => record(reasons(28, newWords))],
  ['combining marks', [-32602], () => record({ context: letters(100_000), ...reasons(100, marks) })],
  ['combining marks that fit', [0], () => record({ context: letters(70_000), ...reasons(6, marks) })],
  ['purposes', [0], () => record({ decision: fill('to to. ', 10_000), context: fill('so that because to ', 100_000) })],
  ['a wide free-form object', [-32602], () => record(wide(200_000))],
  ['a wide free-form object that fits', [0], () => record(wide(15_000))],
  ['a long free-form list', [-32602], () => record(long(490_000))],
  ['a long free-form list that fits', [0], () => record(long(125_000))],
  [
    'unknown keys',
    [-32602],
    () => call('queryDecisions', Object.fromEntries(many(180_000, (index) => [`retrieval_mod${index}`, 1]))),
  ],
  [
    'a long filter',
    [-32602],
    () => call('queryDecisions', { query: 'x', filters: { stakes: many(490_000, () => 'low') } }),
  ],
  ['a long method', [-32601], () => call('x'.repeat(4 * megabyte - 100), {})],
  ['a long number', [-32600], () => `{"jsonrpc":"2.0","method":"x","id":1${'0'.repeat(4 * megabyte)}}`],
  ['a batch of records', [0], () => batch(record({ context: fill('word ', 40_000) }))],
  ['a batch of Han records', [0], () => batch(record({ context: fill('数', 12_000) }))],
  [
    'a batch of unknown keys',
    [-32602],
    () => batch(call('queryDecisions', Object.fromEntries(many(1_500, (index) => [`retrieval_mod${index}`, 1])))),
  ],
  [
    'a batch of long questions',
    [0],
    () => batch(call('queryDecisions', { query: 'word '.repeat(2_000), retrieval_mode: 'hybrid', limit: 20 })),
  ],
]

const cpuMs = (since?: NodeJS.CpuUsage): number => {
  const { user, system } = process.cpuUsage(since)
  return (user + system) / 1_000
}
/** Work between two turns of the event loop, in readings of the largest body: as much on a slow machine as on a fast one. */
const maxReadings = 60
let reading_ms = 0

let program: TestProgram
beforeAll(async () => {
  program = await openMemoryProgram()
  const text = JSON.stringify(many(400_000, (index) => ({ k: index })).slice(0, 350_000))
  const times = many(5, () => {
    const start = process.cpuUsage()
    JSON.stringify(JSON.parse(text))
    return cpuMs(start)
  })
  reading_ms = times.sort((a, b) => a - b)[2]!
})
afterAll(() => program.close())

test.each(bodies)(
  '%s',
  async (_, codes, make) => {
    const text = make()
    let held = 0
    let last = process.cpuUsage()
    const look = () => {
      held = Math.max(held, cpuMs(last))
      last = process.cpuUsage()
    }
    const timer = setInterval(look, 5)
    const exchange = {
      caller: callers.root,
      signal: new AbortController().signal,
      newRequestId: () => 'r',
      take: () => 0,
    }
    const { body } = await answer(Buffer.from(text), exchange, program.dispatch)
    await Bun.sleep(6)
    look()
    clearInterval(timer)
    const replies = [JSON.parse([...body!].join(''))].flat() as { error?: { code: number } }[]
    for (const { error } of replies) expect(codes).toContain(error?.code ?? 0)
    expect(held / reading_ms).toBeLessThan(maxReadings)
  },
  120_000,
)
