/** cstp.attributeOutcomes where the evidence knows the pull request: each history with its outcome, on every store. */
import { expect, test } from 'bun:test'
import { filterFields } from '../../sdk/storage/fields.ts'
import { canonical } from '../../src/core/canonical.ts'
import { appendEvents } from '../../src/domain/ledger/evidence/chain.ts'
import { attribute } from '../../src/domain/lifecycle/attribution.ts'
import { forEachBackend } from '../support/program.ts'
import { recordOf, testStart } from '../support/record.ts'

const day = 86_400_000
const name = 'acme/app'

/** Of an event: its type, the days after the decision, what its payload holds beside number and repository, and how it was reported. */
type Told = [event_type: string, days: number, more?: Record<string, unknown>, given?: object]

const histories: [string, Told[], string, string | null][] = [
  [
    'merged and stable',
    [
      ['pr_opened', 1],
      ['pr_merged', 3],
    ],
    'evidence',
    'success',
  ],
  ['merged and no more', [['pr_merged', 3]], 'evidence', 'success'],
  [
    'merged lately',
    [
      ['pr_opened', 1],
      ['pr_merged', 25],
    ],
    'evidence',
    null,
  ],
  [
    'reverted within',
    [
      ['pr_merged', 3],
      ['pr_reverted', 10],
    ],
    'evidence',
    'failure',
  ],
  [
    'reverted later',
    [
      ['pr_merged', 3],
      ['pr_reverted', 10.5],
    ],
    'evidence',
    'success',
  ],
  [
    'reverted twice',
    [
      ['pr_merged', 3],
      ['pr_reverted', 20],
      ['pr_reverted', 5],
    ],
    'evidence',
    'failure',
  ],
  [
    'ingested in another order',
    [
      ['pr_reverted', 5],
      ['pr_merged', 3],
      ['pr_opened', 1],
    ],
    'evidence',
    'failure',
  ],
  [
    'a revert before the merge',
    [
      ['pr_reverted', 2],
      ['pr_merged', 3],
    ],
    'evidence',
    'success',
  ],
  [
    'closed without a merge',
    [
      ['pr_opened', 1],
      ['pr_closed', 3],
    ],
    'evidence',
    'abandoned',
  ],
  [
    'opened again',
    [
      ['pr_closed', 3],
      ['pr_opened', 4],
    ],
    'evidence',
    null,
  ],
  [
    'opened again and merged',
    [
      ['pr_closed', 3],
      ['pr_opened', 4],
      ['pr_merged', 5],
    ],
    'evidence',
    'success',
  ],
  [
    'still open',
    [
      ['pr_opened', 1],
      ['pr_review_approved', 2],
    ],
    'evidence',
    null,
  ],
  [
    'after more events than a page',
    [...Array.from({ length: 600 }, (): Told => ['pr_commit', 1]), ['pr_closed', 2]],
    'evidence',
    'abandoned',
  ],
  ['another pull request', [['pr_closed', 3, { pr_number: 9_999 }]], 'age', null],
  ['a number that is text', [['pr_closed', 3, { pr_number: '115' }]], 'age', null],
  ['the number of another repository', [['pr_closed', 3, { repo: 'acme/other' }]], 'age', null],
  [
    'two repositories',
    [
      ['pr_closed', 3, { repo: 'acme/other' }],
      ['pr_merged', 3],
    ],
    'evidence',
    'success',
  ],
  ['nothing names a repository', [['pr_closed', 3, { repo: null }]], 'evidence', 'abandoned'],
  [
    'one that names none beside one that does',
    [
      ['pr_closed', 3, { repo: null }],
      ['pr_opened', 1],
    ],
    'evidence',
    null,
  ],
  [
    'none beside one of another',
    [
      ['pr_closed', 3, { repo: null }],
      ['pr_opened', 1, { repo: 'x' }],
    ],
    'age',
    null,
  ],
  ['attested, not observed', [['pr_closed', 3, {}, { evidence_class: 'attested' }]], 'age', null],
]

forEachBackend((open) => {
  test('where the evidence knows the pull request, it decides: each by its own events, and a dry run shows the same', async () => {
    const program = await open()
    const start = program.clock.now - 30 * day
    const at = (days: number) => new Date(start + days * day).toISOString()
    const prOf = (index: number) => 101 + index
    for (const [index, [, told]] of histories.entries()) {
      await program.record({ created_at: at(index / 1_000), project: { name, pr: prOf(index) } }, 'root')
      const events = told.map(([event_type, days, more, given]) => ({
        ts: at(days),
        source: 'github',
        event_type,
        evidence_class: 'observed' as const,
        payload: canonical({ pr_number: prOf(index), repo: name, ...more }),
        ...given,
      }))
      await appendEvents(program.services.evidence, events)
    }
    const settle = async (dry_run: boolean) => {
      const { decisions } = await program.call('attributeOutcomes', { project: name, since: '90d', dry_run }, 'root')
      return decisions.map(({ pr, outcome, basis }) => [histories[pr - prOf(0)]![0], basis, outcome])
    }
    const expected = histories.map(([what, , basis, outcome]) => [what, basis, outcome])
    expect(await settle(true)).toEqual(expected)
    expect(await settle(false)).toEqual(expected)
    expect(await settle(false)).toEqual(expected.filter(([, , outcome]) => outcome === null))
  })
})

const at = (days: number) => new Date(testStart + days * day).toISOString()
const reverted = (days: number) => ({ at: at(days), what: 'reverted' as const, is_inferred: false })
test.each<[string, Parameters<typeof attribute>[1], number, string | null]>([
  ['merged and stable', { merged_at: at(0), failed: null, closed: null, first_at: at(0) }, 7, 'success'],
  [
    'merged, which closed it',
    { merged_at: at(0), failed: null, closed: { at: at(0), how: 'unknown' }, first_at: at(0) },
    7,
    'success',
  ],
  ['merged lately', { merged_at: at(0), failed: null, closed: null, first_at: at(0) }, 6, null],
  ['reverted in time', { merged_at: at(0), failed: reverted(7), closed: null, first_at: at(0) }, 30, 'failure'],
  ['reverted later', { merged_at: at(0), failed: reverted(8), closed: null, first_at: at(0) }, 30, 'success'],
  ...(
    [
      ['rejected', 'failure'],
      ['by its author', 'abandoned'],
      ['by another', 'abandoned'],
      ['unknown', 'abandoned'],
    ] as const
  ).map(([how, outcome]): [string, Parameters<typeof attribute>[1], number, string] => [
    `closed without a merge, ${how}`,
    { merged_at: null, failed: null, closed: { at: at(1), how }, first_at: at(0) },
    30,
    outcome,
  ]),
  ['still open', { merged_at: null, failed: null, closed: null, first_at: at(0) }, 30, null],
])('by evidence: %s', (_, history, days, outcome) => {
  const found = attribute(
    filterFields(recordOf({ project: { name, feature: null, pr: 7, files: [] } }), false),
    history,
    { stability_days: 7, by_age: false },
    testStart + days * day,
  )
  expect([found.basis, found.outcome]).toEqual(['evidence', outcome as never])
})
