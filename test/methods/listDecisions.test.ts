/** cstp.listDecisions: filters, order and pages, on every store. */
import { expect, test } from 'bun:test'
import { forEachBackend, type TestProgram } from '../support/program.ts'

/** Six decisions, recorded a day apart by two agents. */
async function fill({ record, call, clock }: TestProgram): Promise<Record<string, string>> {
  const project = (name: string, feature: string | null = null, pr: number | null = null) => ({ name, feature, pr })
  const given: Record<string, object> = {
    a: { decision: 'alpha wolf', category: 'x', confidence: 0.1, stakes: 'low', tags: ['t1'], project: project('p') },
    b: {
      decision: 'beta',
      category: 'x',
      confidence: 0.9,
      stakes: 'critical',
      tags: ['t1', 't2'],
      project: project('p', 'f', 3),
    },
    c: {
      decision: 'gamma wolf',
      category: 'y',
      confidence: 0.5,
      stakes: 'high',
      tags: ['T1'],
      project: project('q', 'f'),
    },
    d: { decision: 'delta', category: 'Y', confidence: 0.5, stakes: 'medium', context: 'a wolf, too' },
    e: { decision: 'epsilon', category: 'z', confidence: 1, stakes: 'low', project: project('q', 'g', 4) },
    f: { decision: 'zeta', category: 'z', confidence: 0, stakes: 'high' },
  }
  const ids: Record<string, string> = {}
  for (const [name, one] of Object.entries(given)) {
    ids[name] = await record(one as Record<string, unknown>, name < 'd' ? 'alice' : 'bob')
    clock.now += 86_400_000
  }
  await call('reviewDecision', { id: ids.b, outcome: 'success' })
  await call('reviewDecision', { id: ids.c, outcome: 'failure' })
  await call('reviewDecision', { id: ids.e, outcome: 'abandoned' })
  return ids
}

/** Parameters, and the decisions that they list. */
const cases: [object, string][] = [
  [{}, 'fedcba'],
  [{ order: 'asc' }, 'abcdef'],
  [{ category: 'x' }, 'ba'],
  [{ category: 'y' }, 'c'],
  [{ stakes: 'low' }, 'ea'],
  [{ stakes: ['low', 'critical'] }, 'eba'],
  [{ stakes: [] }, ''],
  [{ status: 'reviewed' }, 'ecb'],
  [{ status: ['pending'] }, 'fda'],
  [{ outcome: 'success' }, 'b'],
  [{ outcome: ['failure', 'abandoned'] }, 'ec'],
  [{ agent: 'bob' }, 'fed'],
  [{ agent: 'Bob' }, ''],
  [{ project: 'q' }, 'ec'],
  [{ feature: 'f' }, 'cb'],
  [{ pr: 3 }, 'b'],
  [{ tags: ['t1'] }, 'ba'],
  [{ tags: ['t2', 'T1'] }, 'cb'],
  [{ tags: [] }, ''],
  [{ date_from: '2026-07-03' }, 'fedc'],
  [{ date_to: '2026-07-03' }, 'cba'],
  [{ dateFrom: '2026-07-02', dateTo: '2026-07-03' }, 'cb'],
  [{ date_from: '2026-07-03T12:00:00Z', date_to: '2026-07-04T12:00:00Z' }, 'dc'],
  [{ date_from: '2026-07-03T12:00:00.001Z', date_to: '2026-07-04T11:59:59.999Z' }, ''],
  [{ date_from: '2026-07-03T14:00:00+02:00', date_to: '2026-07-03' }, 'c'],
  [{ date_from: '2026-07-05', date_to: '2026-07-03' }, ''],
  [{ project: 'p', status: 'reviewed', tags: ['t1'] }, 'b'],
  [{ search: 'wolf' }, 'dca'],
  [{ search: 'Wolves alpha' }, ''],
  [{ search: 'WOLF, alpha!' }, 'a'],
  [{ search: 'wolf', agent: 'alice', order: 'asc' }, 'ac'],
  [{ search: 'nothing' }, ''],
  [{ search: '"wolf" OR beta' }, ''],
  [{ sort: 'confidence', order: 'asc' }, 'facdbe'],
  [{ sort: 'confidence' }, 'ebdcaf'],
  [{ sort: 'stakes' }, 'bfcdea'],
  [{ sort: 'stakes', order: 'asc' }, 'aedcfb'],
  [{ sort: 'category', order: 'asc' }, 'dabcef'],
  [{ sort: 'status' }, 'ecbfda'],
]

forEachBackend((open) => {
  test('filters and orders', async () => {
    const program = await open()
    const names = new Map(Object.entries(await fill(program)).map(([name, id]) => [id, name]))
    for (const [params, expected] of cases) {
      const { decisions, total } = await program.call('listDecisions', params)
      expect([params, decisions.map(({ id }) => names.get(id)).join('')]).toEqual([params, expected])
      expect(total).toBe(expected.length)
    }
  })

  test('rows and hits are those of the record as it is now', async () => {
    const { call, record } = await open()
    const id = await record({ decision: 'alpha wolf' })
    const asked = { query: 'alpha wolf', retrieval_mode: 'keyword' } as const
    const seen = async () => [
      (await call('listDecisions')).decisions[0]?.lessons,
      (await call('queryDecisions', asked)).decisions[0]?.lessons,
    ]
    expect(await seen()).toEqual([null, null])
    for (const lessons of ['Ask first', 'Ask twice']) {
      await call('reviewDecision', { id, outcome: 'failure', lessons })
      expect(await seen()).toEqual([lessons, lessons])
    }
  })
})
