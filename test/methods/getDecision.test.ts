/** cstp.getDecision and the ids that every method takes, on every store. */
import { expect, test } from 'bun:test'
import { forEachBackend } from '../support/program.ts'

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

  test('of what names none is -32007, with the id, also where a pattern would match', async () => {
    const { refused, record } = await open()
    await record()
    for (const id of ['2020-01-01', 'ffffffffffff', '________', '%%%%%%%%'])
      expect(await refused('getDecision', { id })).toMatchObject({ error: 'decision_not_found', data: { id } })
    for (const id of [' ', '', null, 5, ['2026-07-01'], 'x'.repeat(257)])
      expect((await refused('getDecision', { id: id as string })).error).toBe('invalid_params')
  })
})
