/** What evidence proposes as the outcome of a decision: for whom, and where it says nothing. */
import { expect, test } from 'bun:test'
import { openMemoryProgram } from '../support/program.ts'

const day = 86_400_000
const name = 'acme/app'

test('evidence proposes an outcome for a person to accept, and nothing where it is silent or not clear', async () => {
  const program = await openMemoryProgram()
  const { clock } = program
  const id = async (pr?: number) => program.record({ review_in: '3d', ...(pr && { project: { name, pr } }) })
  const ids = [await id(1), await id(2), await id(3), await id(4), await id(5), await id(6), await id()]
  const at = (days: number) => new Date(clock.now + days * day).toISOString()
  const event = (pr_number: number, event_type: string, days: number, conclusion?: string) => ({
    event_type,
    ts: at(days),
    payload: { repo: name, pr_number, ...(conclusion && { conclusion }) },
  })
  const events = [
    event(1, 'ci_completed', 0.5, 'failure'),
    event(1, 'ci_completed', 1, 'success'),
    ...[1, 2, 3, 5].map((pr) => event(pr, 'pr_merged', 2)),
    event(2, 'pr_reverted', 4),
    event(3, 'ci_completed', 3, 'failure'),
    event(4, 'pr_merged', 19),
  ]
  clock.now += 20 * day
  await program.call('ingestEvidence', { source: 'github', events }, 'root')
  const proposed = (as: 'alice' | 'bob' | 'lead') =>
    Promise.all(ids.map(async (one) => (await program.call('getDecision', { id: one, proposal: true }, as)).proposal))
  const expected = [
    { outcome: 'success', reason: 'PR 1 was merged with passed checks and not reverted for 14 days' },
    { outcome: 'failure', reason: 'PR 2 was reverted within 14 days of its merge' },
    { outcome: null, reason: 'PR 3 was merged with failed checks and not reverted for 14 days' },
    { outcome: null, reason: 'PR 4 was merged less than 14 days ago' },
    { outcome: 'success', reason: 'PR 5 was merged and not reverted for 14 days' },
    undefined,
    undefined,
  ]
  expect(await proposed('lead')).toEqual(expected as never)
  expect(await proposed('alice')).toEqual(expected as never)
  // It would know the outcomes of others before they are scored.
  expect(await proposed('bob')).toEqual(ids.map(() => undefined))
  const { actions } = await program.call('ready', {}, 'lead')
  const of = new Map(actions.map(({ decision_id, proposal }) => [decision_id, proposal]))
  expect(ids.map((one) => of.get(one))).toEqual(expected as never)
  await program.call('reviewDecision', { id: ids[0]!, outcome: 'success' }, 'lead')
  expect((await proposed('lead'))[0]).toBeUndefined()
  expect(await program.call('getDecision', { id: ids[1]! }, 'lead')).not.toHaveProperty('proposal')
  await program.close()
})
