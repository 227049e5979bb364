/** How a pull request ended that was closed without a merge, from deliveries in GitHub's form. */
import { expect, test } from 'bun:test'
import { pullRequestHistory } from '../../../src/domain/lifecycle/pull-request.ts'
import { closed, type Example, openTaker, pullRequest, repo, review, user } from '../../support/github.ts'

const [ann, bob, cat, bot] = [user('ann'), user('bob'), user('cat'), user('stale[bot]', 'Bot')]
async function endOf(deliveries: readonly Example[]) {
  const { evidence, tell } = openTaker()
  await tell(...deliveries)
  return (await pullRequestHistory(evidence, repo, 7))!.closed
}
const opened = pullRequest('opened')
const refuses = (at = 1, id = 2) => review(bob, 'changes_requested', { at, id })

test.each<[string, Example[], string]>([
  ['by a reviewer who requested changes', [opened, refuses(), closed({ sender: bob, at: 5 })], 'rejected'],
  ['by somebody else, after changes were requested', [opened, refuses(), closed({ sender: cat, at: 5 })], 'rejected'],
  ['by its author, after changes were requested', [opened, refuses(), closed({ sender: ann, at: 5 })], 'by its author'],
  ['by its author in another spelling', [opened, refuses(), closed({ sender: user('ANN'), at: 5 })], 'by its author'],
  ['by somebody else without a review', [opened, closed({ sender: bob, at: 5 })], 'by another'],
  ['by a bot that closes what is stale', [opened, refuses(), closed({ sender: bot, at: 5 })], 'by another'],
  [
    'after the same reviewer approved',
    [opened, refuses(), review(bob, 'approved', { at: 3, id: 4 }), closed({ sender: cat, at: 5 })],
    'by another',
  ],
  [
    'after another reviewer approved, while changes are still requested',
    [opened, refuses(), review(cat, 'approved', { at: 3, id: 4 }), closed({ sender: bob, at: 5 })],
    'rejected',
  ],
  [
    'after the review was dismissed',
    [
      opened,
      refuses(),
      review(bob, 'dismissed', { at: 1, id: 2, action: 'dismissed', dismissed_at: 3 }),
      closed({ sender: cat, at: 5 }),
    ],
    'by another',
  ],
  ['before changes were requested', [opened, closed({ sender: bob, at: 5 }), refuses(6)], 'by another'],
  [
    'of an author whose account is gone',
    [pullRequest('opened', { author: null }), closed({ author: null, sender: bob, at: 5 })],
    'unknown',
  ],
])('%s', async (_, deliveries, how) => {
  expect(await endOf(deliveries)).toMatchObject({ how })
})

test('a rejected pull request that is opened again has no end', async () => {
  expect(
    await endOf([opened, refuses(), closed({ sender: bob, at: 5 }), pullRequest('reopened', { at: 6 })]),
  ).toBeNull()
})
