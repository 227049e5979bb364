/** Which scope each method needs, and that no other opens it. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Caller, type Scope, scopes } from '../../src/core/caller.ts'
import { methods } from '../../src/methods/table.ts'
import { type As, callers, type MethodName, openMemoryProgram, type TestProgram } from '../support/program.ts'

const writing = [
  'recordDecision',
  'updateDecision',
  'reviewDecision',
  'linkDecisions',
  'unlinkDecisions',
  'recordThought',
  'attributeOutcomes',
  'preAction',
  'setPreserve',
]
const admin = [
  'acceptPins',
  'shadowGuardrails',
  'eraseDecision',
  'reindex',
  'resetCircuit',
  'compact',
  'reloadGuardrails',
  'listAudit',
  'listDeliveries',
  'tryGuardrails',
]
const curate = ['closeDrift', 'overruleEvidence', 'setHold']
const evidence = ['ingestEvidence', 'linkEvidence', 'exportEvidenceBundle']

/** The scope that the contract names for a method. */
const scopeOf = (name: string): Scope =>
  name === 'decideApproval'
    ? 'approve'
    : admin.includes(name)
      ? 'admin'
      : curate.includes(name)
        ? 'curate'
        : evidence.includes(name)
          ? 'evidence'
          : writing.includes(name)
            ? 'write'
            : 'read'

const names = [...methods.keys()].map((name) => name.replace('cstp.', '') as MethodName)

test('every method is declared with the scope of the contract', () => {
  expect(names.length).toBeGreaterThanOrEqual(9)
  for (const name of names) expect([name, methods.get(`cstp.${name}`)?.scope]).toEqual([name, scopeOf(name)])
})

describe.each(names)('%s', (name) => {
  let program: TestProgram
  beforeAll(async () => {
    program = await openMemoryProgram()
  })
  afterAll(() => program.close())

  test('without its scope is -32001, before its parameters are looked at', async () => {
    const isRead = methods.get(`cstp.${name}`)!.effect === 'read'
    const without = Object.entries<Caller>(callers).filter(
      ([, { scopes: own }]) =>
        !own.has(scopeOf(name)) && !(isRead && own.has('audit')) && !(byCurators.includes(name) && own.has('curate')),
    )
    expect(without.length).toBeGreaterThan(0)
    for (const [as] of without)
      for (const params of [{}, { nonsense: 1 }, [1], null])
        expect(await program.refused(name, params, as as As)).toMatchObject({
          code: -32001,
          error: 'forbidden',
          data: { scope: scopeOf(name) },
        })
  })

  test('with it is not', async () => {
    for (const params of [{ nonsense_parameter: 1 }, [1], null])
      expect((await program.refused(name, params, 'root')).code).toBe(-32602)
  })
})

/** Methods that a curator may call without `write`. */
const byCurators = [
  'reviewDecision',
  'updateDecision',
  'linkDecisions',
  'unlinkDecisions',
  'setPreserve',
  'tryGuardrails',
  'shadowGuardrails',
]

test('audit opens every read and no write; curate what it is for; admin, audit and oneself the trail', async () => {
  const program = await openMemoryProgram()
  const bad = { nonsense_parameter: 1 }
  const code = async (name: MethodName, as: As, params: object = bad) => (await program.refused(name, params, as)).code
  for (const name of names) {
    const { effect } = methods.get(`cstp.${name}`)!
    expect([name, await code(name, 'auditor')]).toEqual([name, effect === 'read' ? -32602 : -32001])
    const leads = byCurators.includes(name) || /^(?:read|curate|approve)$/.test(scopeOf(name))
    expect([name, await code(name, 'lead')]).toEqual([name, leads ? -32602 : -32001])
  }
  expect(await code('listAudit', 'alice', { agent: 'bob' })).toBe(-32001)
  expect(await code('listAudit', 'alice', {})).toBe(-32001)
  expect(await code('listAudit', 'writer', { agent: 'writer' })).toBe(-32001)
  await program.close()
})

test('there are seven scopes', () => {
  expect(scopes).toEqual(['read', 'write', 'evidence', 'curate', 'approve', 'admin', 'audit'])
})
