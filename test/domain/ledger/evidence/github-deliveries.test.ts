/** Deliveries of GitHub: each once, what does not fit is refused, and GitHub’s own examples are understood. */
import { describe, expect, test } from 'bun:test'
import { openMemoryEvidence } from '../../../../docs/examples/driver/evidence.ts'
import { appendEvents } from '../../../../src/domain/ledger/evidence/chain.ts'
import { takeDelivery } from '../../../../src/domain/ledger/evidence/github/events.ts'
import * as gh from '../../../support/github.ts'
import * as fc from '../../../support/property.ts'

const bea = gh.user('bea')

describe('each delivery once', () => {
  test('the same id, and the same body under another id', async () => {
    const { take, evidence } = gh.openTaker()
    const delivery = gh.deliveryOf(gh.merged({ number: 15, title: 'Revert x', body: 'Reverts #12' }), 'd1')
    expect(await take(delivery)).toEqual({ outcome: 'ingested', ingested: 2, first_seq: 1 })
    await take(gh.deliveryOf(gh.pullRequest('opened'), 'd2'))
    expect(await take(delivery)).toEqual({ outcome: 'repeated', ingested: 0, first_seq: 1 })
    expect(await take({ ...delivery, id: 'd3' })).toEqual({ outcome: 'repeated', ingested: 0, first_seq: 1 })
    expect(await take(gh.deliveryOf(gh.closed(), 'd2'))).toEqual({ outcome: 'repeated', ingested: 0, first_seq: 3 })
    expect((await evidence.head()).seq).toBe(3)
  })

  test('at once', async () => {
    const { take, evidence } = gh.openTaker()
    const all = await Promise.all(Array.from({ length: 20 }, (_, n) => take(gh.deliveryOf(gh.merged(), `d${n}`))))
    expect(all.filter(({ outcome }) => outcome === 'ingested').length).toBe(1)
    expect((await evidence.head()).seq).toBe(1)
  })

  test('an id or a digest that others wrote into the log hides nothing', async () => {
    const { take, evidence } = gh.openTaker()
    const delivery = gh.deliveryOf(gh.merged(), 'd1')
    await take(delivery)
    const [own] = await evidence.read(1, 1)
    const other = openMemoryEvidence()
    await appendEvents(other, [{ ...own!, source: 'github' }])
    expect((await takeDelivery(gh.chainOf(other), delivery, [])).outcome).toBe('ingested')
  })
})

describe('what does not fit', () => {
  const bodies = {
    opened: gh.pullRequest('opened'),
    review: gh.review(bea, 'approved'),
    push: gh.push({ before: 'x', commits: [] }),
    suite: gh.suite('x', []),
  }
  const mapped = [
    'pull_request',
    'pull_request_review',
    'pull_request_review_comment',
    'push',
    'check_suite',
    'check_run',
  ]

  test('a body under the name of another kind', async () => {
    const { take, evidence } = gh.openTaker()
    for (const { kind, body } of [
      ...Object.values(bodies),
      ...gh.examples().filter((one) => mapped.includes(one.kind)),
    ]) {
      for (const other of mapped.filter((one) => one !== kind)) {
        const taken = await take(gh.deliveryOf({ kind: other, body }))
        expect([kind, other, taken.outcome]).toEqual([kind, other, 'refused'])
      }
    }
    expect((await evidence.head()).seq).toBe(0)
  })

  test('the reason names the member and stays short', async () => {
    const { take } = gh.openTaker()
    const reason = async (given: gh.Example) => {
      const taken = await take(gh.deliveryOf(given))
      return taken.outcome === 'refused' ? taken.reason : taken.outcome
    }
    expect(await reason(gh.pullRequest('closed', {}, { merged: true, merged_at: 'yesterday' }))).toContain(
      'pull_request.merged_at',
    )
    expect(await reason(gh.pullRequest('opened', { number: 2 ** 53 }))).toContain('number')
    expect(await reason({ kind: 'push', body: { ref: 5, x: 'y'.repeat(10_000) } })).toContain('ref')
    expect((await reason(gh.pullRequest('opened', {}, { title: { a: 'y'.repeat(10_000) } }))).length).toBeLessThan(300)
    expect(await reason(gh.pullRequest('opened', { title: 'half \ud800' }))).toContain('title')
    const mixed = gh.pullRequest('opened')
    expect(await reason({ kind: 'pull_request', body: { ...mixed.body, number: 8 } })).toContain('number')
  })

  test('any JSON under any name is refused or recorded, and never throws', async () => {
    const { take } = gh.openTaker()
    const kind = fc.constantFrom(...mapped, 'issues', 'constructor', '__proto__')
    await fc.assert(
      fc.asyncProperty(kind, fc.jsonValue(), async (name, body) => {
        const { outcome } = await take(gh.deliveryOf({ kind: name, body: body as never }))
        expect(['refused', 'nothing', 'ingested']).toContain(outcome)
      }),
      { numRuns: 300 },
    )
  })

  test('one member of a real body replaced by anything: refused or recorded, and the chain takes it', async () => {
    const { take, evidence } = gh.openTaker()
    const real = gh.examples().filter(({ kind }) => mapped.includes(kind))
    const paths = (value: unknown, path: string[] = []): string[][] =>
      value !== null && typeof value === 'object'
        ? Object.entries(value).flatMap(([key, one]) => [
            [...path, key],
            ...(path.length < 3 ? paths(one, [...path, key]) : []),
          ])
        : []
    const spoilt = fc
      .constantFrom(...real)
      .chain((one) =>
        fc.tuple(
          fc.constant(one),
          fc.constantFrom(...paths(one.body)),
          fc.oneof(
            fc.jsonValue(),
            fc.constant(2 ** 53),
            fc.constant('\ud800'),
            fc.constant('9'.repeat(5_000)),
            fc.constant(-1),
          ),
        ),
      )
    await fc.assert(
      fc.asyncProperty(spoilt, async ([{ kind, body }, path, value]) => {
        const copy = structuredClone(body)
        const last = path.at(-1)!
        const parent = path
          .slice(0, -1)
          .reduce<Record<string, unknown>>((at, key) => at[key] as Record<string, unknown>, copy)
        parent[last] = value
        const { outcome } = await take(gh.deliveryOf({ kind, body: copy }))
        expect(['refused', 'nothing', 'ingested', 'repeated']).toContain(outcome)
      }),
      { numRuns: 400 },
    )
    for (const record of await evidence.read(1, 1_000)) expect(Number.isNaN(Date.parse(record.ts))).toBe(false)
  })
})

describe('GitHub’s own examples', () => {
  const mapped: Record<string, string[]> = {
    'check_run.completed': ['ci_completed'],
    'check_suite.completed': ['ci_completed'],
    'pull_request.closed': ['pr_closed'],
    'pull_request.opened': ['pr_opened'],
    'pull_request.reopened': ['pr_opened'],
    'pull_request.synchronize': ['pr_commit'],
    'pull_request_review.dismissed': ['pr_review_comment'],
    'pull_request_review.submitted': ['pr_review_comment'],
    'pull_request_review_comment.created': ['pr_review_comment'],
  }
  const versions = ['api.github.com', 'ghes-31', 'ghes-32', 'ghes-33', 'ghes-34', 'ghes-35']

  test.each(versions)('%s: none is refused, and exactly those that are mapped say something', async (version) => {
    const seen = new Set<string>()
    for (const one of gh.examples(version)) {
      const [events] = await gh.openTaker().tell(one)
      const name = one.body.action ? `${one.kind}.${one.body.action}` : one.kind
      expect([name, events!.map(({ event_type }) => event_type)]).toEqual([name, mapped[name] ?? []])
      seen.add(name)
    }
    if (version === 'api.github.com') expect([...seen]).toEqual(expect.arrayContaining(Object.keys(mapped)))
  })
})
