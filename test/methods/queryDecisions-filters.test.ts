/** cstp.queryDecisions: filters before ranking, successors above what they supersede, and what is refused, on every store. */
import { describe, expect, test } from 'bun:test'
import { forEachBackend, type TestProgram } from '../support/program.ts'

const modes = ['semantic', 'keyword', 'hybrid'] as const

/** Four decisions of one text that only their fields tell apart. */
async function fill({ record, call, clock }: TestProgram): Promise<Map<string, string>> {
  const project = (name: string, feature: string | null = null, pr: number | null = null) => ({ name, feature, pr })
  const given: Record<string, object> = {
    a: { category: 'x', confidence: 0.1, stakes: 'low', tags: ['t1', 't2'], project: project('p', 'f', 1) },
    b: { category: 'x', confidence: 0.5, stakes: 'medium', tags: ['t2'], project: project('p') },
    c: { category: 'y', confidence: 0.9, stakes: 'high', project: project('q', 'f', 2) },
    d: { category: 'y', confidence: 1, stakes: 'critical' },
  }
  const names = new Map<string, string>()
  for (const [name, one] of Object.entries(given)) {
    names.set(await record({ decision: 'Use Redis', ...one }, name === 'd' ? 'bob' : 'alice'), name)
    clock.now += 86_400_000
  }
  for (const [id, name] of names)
    if ('bc'.includes(name)) await call('reviewDecision', { id, outcome: name === 'b' ? 'success' : 'failure' })
  return names
}

/** Filters, and the decisions that pass. */
const cases: [object, string][] = [
  [{}, 'abcd'],
  [{ category: 'x' }, 'ab'],
  [{ min_confidence: 0.5 }, 'bcd'],
  [{ max_confidence: 0.5 }, 'ab'],
  [{ minConfidence: 0.5, maxConfidence: 0.9 }, 'bc'],
  [{ min_confidence: 0.9, max_confidence: 0.1 }, ''],
  [{ stakes: ['low', 'critical'] }, 'ad'],
  [{ stakes: [] }, ''],
  [{ status: ['reviewed'] }, 'bc'],
  [{ status: ['pending', 'reviewed'] }, 'abcd'],
  [{ has_outcome: true }, 'bc'],
  [{ hasOutcome: false }, 'ad'],
  [{ has_outcome: true, status: ['pending'] }, ''],
  [{ outcome: 'success' }, 'b'],
  [{ outcome: ['success', 'failure'] }, 'bc'],
  [{ outcome: 'partial' }, ''],
  [{ outcome: [] }, ''],
  [{ outcome: 'failure', has_outcome: false }, ''],
  [{ agent: 'alice' }, 'abc'],
  [{ agent: 'bob' }, 'd'],
  [{ agent: 'Bob' }, ''],
  [{ agent: 'alice', outcome: 'success', tags: ['t2'] }, 'b'],
  [{ project: 'p' }, 'ab'],
  [{ project: 'P' }, ''],
  [{ feature: 'f' }, 'ac'],
  [{ pr: 2 }, 'c'],
  [{ tags: ['t1'] }, 'a'],
  [{ tags: ['t2', 'none'] }, 'ab'],
  [{ date_after: '2026-07-02' }, 'bcd'],
  [{ date_before: '2026-07-02' }, 'ab'],
  [{ date_after: '2026-07-02T12:00:00Z', date_before: '2026-07-03T12:00:00Z' }, 'bc'],
  [{ dateAfter: '2026-07-02T12:00:00.001Z', dateBefore: '2026-07-03T11:59:59.999Z' }, ''],
  [{ category: 'y', has_outcome: false, stakes: ['critical'] }, 'd'],
]

forEachBackend((open) => {
  test('each filter holds in each mode, before the ranking: totals count what passes, pages are full', async () => {
    const program = await open()
    const names = await fill(program)
    for (const [filters, expected] of cases)
      for (const retrieval_mode of modes) {
        const ask = (limit: number) =>
          program.call('queryDecisions', { query: 'use redis', retrieval_mode, filters, limit })
        const { decisions, total } = await ask(10)
        const found = decisions
          .map(({ id }) => names.get(id))
          .sort()
          .join('')
        expect([retrieval_mode, filters, found, total]).toEqual([retrieval_mode, filters, expected, expected.length])
        expect((await ask(1)).decisions).toHaveLength(Math.min(1, expected.length))
      }
  })

  describe('a superseded decision', () => {
    test('and its successor stay together on one page or on two', async () => {
      const { call, record } = await open()
      const ids = []
      for (let index = 0; index < 6; index++)
        ids.push(await record({ decision: `Use Redis ${'again '.repeat(index)}` }))
      await call('linkDecisions', { source_id: ids[5], target_id: ids[1], edge_type: 'supersedes' })
      const ask = async (offset: number, limit: number) =>
        (await call('queryDecisions', { query: 'use redis', offset, limit })).decisions.map(({ id }) => id)
      const whole = await ask(0, 10)
      expect(whole.indexOf(ids[5]!)).toBe(whole.indexOf(ids[1]!) - 1)
      for (const limit of [1, 2, 4]) {
        const pages = []
        for (let offset = 0; offset < 6; offset += limit) pages.push(...(await ask(offset, limit)))
        expect(pages).toEqual(whole)
      }
    })
  })
})
