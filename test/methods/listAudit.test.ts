/** cstp.listAudit: every write and every evaluation, newest first, filtered and in pages, on every store. */
import { expect, test } from 'bun:test'
import { forEachBackend } from '../support/program.ts'

forEachBackend((open) => {
  test('pages follow each other without holes', async () => {
    const program = await open()
    for (let at = 0; at < 7; at++)
      await program.call('checkGuardrails', { action: { description: 'Do it', confidence: at / 10 } })
    const seen: number[] = []
    for (let cursor: number | null = null; ; ) {
      const page: { entries: { seq: number }[]; next_cursor: number | null } = await program.call(
        'listAudit',
        { limit: 3, ...(cursor !== null && { cursor }) },
        'root',
      )
      seen.push(...page.entries.map(({ seq }) => seq))
      cursor = page.next_cursor
      if (cursor === null) break
    }
    expect(seen.length).toBe(7)
    expect([...seen].sort((a, b) => b - a)).toEqual(seen)
  })

  test('who approves reads what stopped others, and nothing else of them', async () => {
    const program = await open()
    await program.rules('- { id: critical, message: m, condition_stakes: critical }')
    for (const stakes of ['low', 'critical'])
      await program.call('checkGuardrails', { action: { description: 'Deploy', stakes } })
    const list = (given: object, as: 'lead' | 'approver' | 'curator') => program.call('listAudit', given, as)
    for (const as of ['lead', 'approver'] as const) {
      expect((await list({ allowed: false }, as)).entries.map(({ rules }) => rules)).toEqual([['critical']])
      for (const given of [{}, { allowed: true }, { agent: 'alice' }])
        expect(await program.refused('listAudit', given, as)).toMatchObject({ error: 'forbidden' })
    }
    expect(await program.refused('listAudit', { allowed: false }, 'curator')).toMatchObject({ error: 'forbidden' })
  })

  test('each filter alone, and all at once', async () => {
    const program = await open()
    const { call, clock } = program
    await program.rules('- { id: critical, message: m, condition_stakes: critical }')
    const check = (stakes: string, as: 'alice' | 'bob') =>
      call('checkGuardrails', { action: { description: 'Deploy', stakes } }, as)
    await check('low', 'alice')
    await check('critical', 'alice')
    clock.now += 86_400_000
    await check('critical', 'bob')
    const id = await program.record({}, 'bob')
    const list = async (given: object) => (await call('listAudit', given, 'root')).entries
    expect((await list({})).map(({ method, agent, allowed }) => [method, agent, allowed])).toEqual([
      ['cstp.recordDecision', 'bob', true],
      ['cstp.checkGuardrails', 'bob', false],
      ['cstp.checkGuardrails', 'alice', false],
      ['cstp.checkGuardrails', 'alice', true],
    ])
    expect((await list({ method: 'cstp.recordDecision' }))[0]!.ids).toEqual([id])
    expect((await list({ without: ['cstp.checkGuardrails', 'cstp.nothing'] })).map(({ ids }) => ids)).toEqual([[id]])
    expect((await list({ without: [] })).length).toBe(4)
    const all = { agent: 'bob', method: 'cstp.checkGuardrails', rule: 'critical', allowed: false, since: '2026-07-02' }
    const counts = []
    for (const [name, value] of Object.entries(all)) counts.push((await list({ [name]: value })).length)
    expect(counts).toEqual([2, 3, 2, 2, 2])
    expect((await list(all)).length).toBe(1)
    expect(await list({ ...all, agent: 'alice' })).toEqual([])
  })
})
