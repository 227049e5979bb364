/** The corpus of transcripts on every store, and over every transport; and that it covers every method. */
import { afterAll, afterEach, describe, expect, test } from 'bun:test'
import { methods } from '../../src/methods/table.ts'
import { forEachBackend, type Open, openMemoryProgram } from '../support/program.ts'
import { type CallStep, wireCases } from './case.ts'
import { differences } from './match.ts'
import { hasTool, mcpHttp, mcpStdio } from './mcp.ts'
import { replay, type TransportKind } from './replay.ts'
import { serveProgram } from './server.ts'
import { client, commandLine, http } from './transports.ts'

const stdio = mcpStdio()
afterAll(() => stdio.close())
const transports: TransportKind[] = [http, client, commandLine, mcpHttp, stdio]
const cases = await wireCases()

const opened: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close()
})
const inMemory: Open = async () => {
  const program = await openMemoryProgram()
  opened.push(program)
  return program
}

for (const transport of transports)
  describe(`over ${transport.name}`, () => {
    const suite = (open: Open) =>
      test.each(cases.map((one) => [`${one.method}: ${one.name}`, one] as const))('%s', async (_, one) => {
        const program = await open()
        const server = serveProgram(program)
        opened.push({ close: server.stop })
        const carrier = await transport.open(server)
        await replay(one, program, carrier, await http.open(server))
        await carrier.close?.()
      })
    // What carries a call knows nothing of the store.
    if (transport === http) forEachBackend(suite)
    else suite(inMemory)
  })

describe('the corpus', () => {
  const calls = cases.flatMap(({ method, steps }) =>
    steps.flatMap((step) => ('pass' in step || 'embedder' in step ? [] : [{ ...step, call: step.call ?? method }])),
  )
  const of = (name: string): CallStep[] => calls.filter(({ call }) => call === name)

  test.each([...methods])('has the main case and the main errors of %s', (wire, { params }) => {
    const steps = of(wire.replace('cstp.', ''))
    const errors = new Set(steps.flatMap(({ error }) => error?.error ?? []))
    expect(steps.some(({ result }) => result !== undefined)).toBe(true)
    expect([...errors]).toContain('invalid_params')
    expect([...errors]).toContain('forbidden')
    if ('id' in params.entries || 'decision_id' in params.entries || 'source_id' in params.entries)
      if (wire !== 'cstp.recordDecision' && !/Approval$/.test(wire)) expect([...errors]).toContain('decision_not_found')
  })

  const tools = [...methods].filter(([, { mcp }]) => mcp).map(([wire]) => wire.replace('cstp.', ''))
  test.each(tools)('has calls of %s that its tool can make', (name) => {
    const carried = of(name).filter(({ params }) => hasTool(name, params))
    expect(carried.some(({ result }) => result !== undefined)).toBe(true)
    expect(carried.some(({ error }) => error?.error === 'invalid_params')).toBe(true)
  })

  test('names no method that is not there, but to show so', () => {
    const stray = calls.filter(({ call, error }) => !methods.has(`cstp.${call}`) && error?.error !== 'method_not_found')
    expect(stray).toEqual([])
  })
})

describe('matching', () => {
  test.each<[unknown, unknown]>([
    ['<id>', '2026-07-01-decision-0123456789ab'],
    ['<time>', '2026-07-01T12:00:00.000Z'],
    ['<0.5 ± 0.01>', 0.509],
    ['</^a.c$/>', 'abc'],
    [
      { a: 1, '...': 'more' },
      { a: 1, b: 2 },
    ],
    [
      [1, '...'],
      [1, 2, 3],
    ],
    ['<nothing known>', '<nothing known>'],
    [null, null],
  ])('%j fits %j', (expected, value) => expect(differences(expected, value)).toEqual([]))

  test.each<[unknown, unknown]>([
    ['<id>', 'x'],
    ['<number>', '1'],
    ['<number>', Number.NaN],
    ['<0.5 ± 0.01>', 0.52],
    ['<any>', undefined],
    [{ a: 1 }, { a: 1, b: 2 }],
    [{ a: 1 }, {}],
    [[1], [1, 2]],
    [[1, 2, '...'], [1]],
    [null, undefined],
    [0, false],
    [{}, []],
    ['<nothing known>', 'x'],
  ])('%j does not fit %j', (expected, value) => expect(differences(expected, value)).not.toEqual([]))
})
