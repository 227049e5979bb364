/** cstp.getDecision and the ids that every method takes, on every store. */
import { describe, expect, test } from 'bun:test'
import { forEachBackend, type MethodName } from '../support/program.ts'

forEachBackend((open) => {
  test.each(['id', 'decision_id', 'decisionId'])(
    'finds a record by %s: full, a prefix, or its hexadecimal part',
    async (name) => {
      const { call, record } = await open()
      const id = await record()
      for (const given of [id, id.slice(0, -1), id.slice(-12), id.slice(-12, -4)])
        expect((await call('getDecision', { [name]: given })).id).toBe(id)
    },
  )

  test('a prefix of several names them; a limit of ten', async () => {
    const { refused, record } = await open()
    const ids = []
    for (let index = 0; index < 12; index++) ids.push(await record())
    const error = await refused('getDecision', { id: '2026-07-01-decision-' })
    expect(error).toMatchObject({ error: 'invalid_params', data: { candidates: ids.sort().slice(0, 10) } })
  })

  /** Each method that takes an id, with the rest that it needs. */
  const methods: [MethodName, (id: string) => object][] = [
    ['getDecision', (id) => ({ id })],
    ['updateDecision', (id) => ({ id, updates: { tags: ['a'] } })],
    ['reviewDecision', (id) => ({ decision_id: id, outcome: 'success' })],
    [
      'linkDecisions',
      (id) => ({ source_id: id, target_id: '2020-01-01-decision-000000000001', edge_type: 'relates_to' }),
    ],
  ]

  describe.each(methods)('%s', (name, params) => {
    test('of an unknown id is -32007, with the id', async () => {
      const { refused, record } = await open()
      await record()
      for (const id of ['2020-01-01-decision-000000000000', '2020-01-01', 'ffffffffffff', '________', '%%%%%%%%']) {
        const error = await refused(name, params(id))
        expect(error).toMatchObject({ code: -32007, error: 'decision_not_found', data: { id } })
      }
    })

    test('of less than 8 characters, or of none that are text, is -32602', async () => {
      const { refused, record } = await open()
      await record()
      for (const id of ['2026-07', 'abc', ' ', '', null, 5, ['2026-07-01'], 'x'.repeat(257)]) {
        expect((await refused(name, params(id as string))).code).toBe(-32602)
      }
    })
  })
})
