/** What an id, or the beginning of one, means. */
import { expect, test } from 'bun:test'
import type { CstpError } from '../../../../sdk/errors.ts'
import { resolveId } from '../../../../src/domain/record/decision/lookup.ts'
import { analyse } from '../../../../src/domain/search/terms.ts'
import { openMemoryStore } from '../../../support/memory/store.ts'
import { recordOf, testStart } from '../../../support/record.ts'

const ids = [
  '2026-07-01-decision-aaaaaaaa0001',
  '2026-07-01-decision-aaaaaaaa0002',
  '2026-07-02-decision-bbbbbbbb0001',
  '2026-07-02-decision-20260701ffff',
  '2026-08-01-by-hand',
  '2026-08-01-by-hand-too',
  ...Array.from({ length: 12 }, (_, index) => `2026-09-01-decision-cccccccc00${index.toString(16).padStart(2, '0')}`),
]

async function find(given: string): Promise<string | CstpError> {
  const store = openMemoryStore({ analyse, now: () => testStart })
  await store.transaction(async (tx) => {
    for (const id of ids) await tx.decisions.put(recordOf({ id }), 0)
  })
  return resolveId(store.decisions, given, 'decision_id').catch((error: CstpError) => error)
}

test.each([
  ['a full id', ids[0]!, ids[0]!],
  ['a unique prefix of one', '2026-07-02-decision-b', ids[2]!],
  ['another', '2026-07-02-decision-bbbbbbbb000', ids[2]!],
  ['8 hexadecimal digits', 'bbbbbbbb', ids[2]!],
  ['12 hexadecimal digits', 'aaaaaaaa0002', ids[1]!],
  ['8 digits that look like a day', '20260701', ids[3]!],
  ['a full id of another form that begins another', '2026-08-01-by-hand', ids[4]!],
  ['the day of one alone', '2026-08-01-by-hand-', ids[5]!],
])('%s', async (_, given, id) => {
  expect(await find(given)).toBe(id)
})

test('a full id is taken at its word, without a look at the store', async () => {
  expect(await find('2020-01-01-decision-000000000000')).toBe('2020-01-01-decision-000000000000')
})

test.each(['', 'a', 'aaaaaaa', '2026-07', 'bbbbbbb'])('%j is too short', async (given) => {
  expect(await find(given)).toMatchObject({ error: 'invalid_params', data: { issues: [{ path: 'decision_id' }] } })
})

test.each([
  ['prefix of two', 'aaaaaaaa', ids.slice(0, 2)],
  ['prefix of two full ids', '2026-07-01-decision-aaaa', ids.slice(0, 2)],
  ['day of two', '2026-07-02', [ids[3]!, ids[2]!]],
  ['at most ten are told', 'cccccccc', ids.slice(6, 16)],
])('ambiguous, with candidates: %s', async (_, given, candidates) => {
  expect(await find(given)).toMatchObject({ error: 'invalid_params', data: { candidates } })
})

test.each([
  'ffffffff',
  'decision-aaaa',
  'aaaa0001aaaa',
  'BBBBBBBB',
  '________',
  '%%%%%%%%',
  '2026-07-0%',
  '2026-07-01*',
  'bbbbbbbb\0',
])('%j is not found', async (given) => {
  expect(await find(given)).toMatchObject({ error: 'decision_not_found', data: { id: given } })
})
