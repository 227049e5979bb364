/** The corpus of transcripts over every transport; and that it covers every method. */
import { afterAll, describe, expect, test } from 'bun:test'
import { methods } from '../../src/methods/table.ts'
import { forEachBackend } from '../support/program.ts'
import { type CallStep, type WireCase, wireCases } from './case.ts'
import { differences } from './match.ts'
import { hasTool, mcpHttp, mcpStdio } from './mcp.ts'
import { replay, type TransportKind } from './replay.ts'
import { serveProgram } from './server.ts'
import { client, commandLine, http } from './transports.ts'

const stdio = mcpStdio()
afterAll(() => stdio.close())
const transports: TransportKind[] = [http, client, commandLine, mcpHttp, stdio]
const cases = await wireCases()

/** Methods whose cases show each shape of parameters, results and errors: what a transport could break. */
const shapes = new Set([
  ...['recordDecision', 'getDecision', 'queryDecisions', 'checkGuardrails', 'preAction', 'ingestEvidence'],
  ...['getSessionContext', 'listAudit', 'getVerification', 'setPreserve', 'unknown'],
])
const isTool = ({ method }: WireCase): boolean => methods.get(`cstp.${method}`)?.mcp !== undefined

/** HTTP carries all cases. Tools spell their input in their own way, so MCP carries those of every tool; the rest carry each shape. */
function casesOf(transport: TransportKind): WireCase[] {
  if (transport === http) return cases
  return cases.filter((one) => shapes.has(one.method) || (transport === mcpHttp && isTool(one)))
}

describe.each(transports.map((one) => [one.name, one] as const))('over %s', (_, transport) => {
  forEachBackend((open) =>
    test.each(casesOf(transport).map((one) => [`${one.method}: ${one.name}`, one] as const))('%s', async (_, one) => {
      const program = await open()
      const server = serveProgram(program)
      const carrier = await transport.open(server)
      await replay(one, program, carrier, await http.open(server))
      await carrier.close?.()
      await server.stop()
    }),
  )
})

describe('the corpus', () => {
  const calls = cases.flatMap(({ method, steps }) =>
    steps.flatMap((step) => ('params' in step ? [{ ...step, call: step.call ?? method }] : [])),
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
