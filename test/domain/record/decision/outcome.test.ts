/** Which of a decision's reviews counts, and what reviews leave on the record. */
import { describe, expect, test } from 'bun:test'
import { type DecisionRecord, type Outcome, outcomeValues } from '../../../../sdk/schema/decision.ts'
import { isIndependent, ruleSettlers, settlerOf } from '../../../../sdk/storage/fields.ts'
import {
  type Attribution,
  applyReview,
  countedReview,
  type Reviewer,
  replaces,
} from '../../../../src/domain/record/decision/outcome.ts'
import { applyUpdate } from '../../../../src/domain/record/decision/revisions.ts'
import { recordOf } from '../../../support/record.ts'
import { random } from '../../learn/calibration/groups.ts'

const later = '2026-07-02T00:00:00.000Z'
const first = { outcome: 'failure', actual_result: 'broke', lessons: 'test it', notes: 'n' } as const
const said = (outcome: Outcome) => ({ outcome, actual_result: null, lessons: null, notes: null })
const by = (basis: Attribution['basis']): Attribution => ({ outcome: null, basis, reason: 'seen' })

/** An author without the scope curate. */
const agent = (name: string): Reviewer => ({ agent: name, curates: false })
const bases = ['evidence', 'inferred', 'age'] as const

/**
 * The record after these reviews: `<agent> <outcome>`, or a basis in place of the agent. Alice recorded it; `curator` gives a reason and
 * `silent` curates without one.
 */
const after = (steps: readonly string[], record: DecisionRecord = recordOf()) =>
  steps.reduce((one, step) => {
    const [who, outcome] = step.split(' ') as [string, Outcome]
    const basis = bases.find((name) => name === who)
    const author = { agent: basis ? 'carol' : who, curates: who === 'curator' || who === 'silent' }
    const input = { ...said(outcome), notes: who === 'curator' ? 'I looked into it' : null }
    return applyReview(one, input, author, later, basis ? by(basis) : null).record
  }, record)

describe('a review', () => {
  test('sets status, outcome and what was learnt', () => {
    expect(applyReview(recordOf({ confidence: 0.7 }), first, agent('bob'), later)).toMatchObject({
      before: null,
      counts: true,
      record: {
        status: 'reviewed',
        outcome: 'failure',
        actual_result: 'broke',
        lessons: 'test it',
        review_notes: 'n',
        reviewed_at: later,
        reviewed_by: 'bob',
        self_reviewed: false,
        updated_at: later,
        confidence_at_review: 0.7,
        review_history: [
          { ...first, reviewed_at: later, reviewed_by: 'bob', self_reviewed: false, basis: null, counts: true },
        ],
      },
    })
  })

  test('that comes second keeps what it does not give', () => {
    const own = applyReview(recordOf(), first, agent('alice'), later).record
    const again = applyReview(own, said('success'), agent('eve'), '2026-07-03T00:00:00.000Z').record
    expect(again).toMatchObject({ outcome: 'success', actual_result: 'broke', lessons: 'test it', reviewed_by: 'eve' })
    expect(again.review_history.map(({ lessons, counts }) => [lessons, counts])).toEqual([
      ['test it', false],
      [null, true],
    ])
  })

  test('keeps the confidence at recording and at the first review, whatever updates say', () => {
    const update = (record: DecisionRecord, confidence: number) =>
      applyUpdate(record, { confidence }, 'alice', later).record
    const reviewed = after(['alice success'], update(recordOf({ confidence: 0 }), 0.4))
    expect(after(['bob failure'], update(reviewed, 1))).toMatchObject({
      confidence: 1,
      confidence_at_review: 0.4,
      confidence_at_record: 0,
    })
  })
})

test.each<[string[], Outcome, string]>([
  [['alice failure', 'alice success'], 'failure', 'self'],
  [['alice failure', 'alice abandoned'], 'failure', 'self'],
  [['alice success', 'alice failure'], 'failure', 'self'],
  [['alice abandoned', 'alice success'], 'success', 'self'],
  [['alice success', 'bob failure'], 'failure', 'others'],
  [['bob failure', 'alice success'], 'failure', 'others'],
  [['bob failure', 'carol success'], 'failure', 'others'],
  [['bob abandoned', 'carol success'], 'success', 'others'],
  [['alice success', 'evidence failure'], 'failure', 'observed'],
  [['alice failure', 'evidence abandoned'], 'failure', 'self'],
  [['evidence failure', 'alice success', 'bob success'], 'failure', 'observed'],
  [['evidence success', 'evidence failure'], 'failure', 'observed'],
  [['evidence failure', 'evidence success'], 'failure', 'observed'],
  [['evidence abandoned', 'evidence success'], 'success', 'observed'],
  [['bob success', 'evidence failure'], 'failure', 'observed'],
  [['bob success', 'inferred failure'], 'failure', 'inferred'],
  [['inferred failure', 'bob success'], 'failure', 'inferred'],
  [['inferred failure', 'evidence success'], 'success', 'observed'],
  [['evidence success', 'inferred failure'], 'success', 'observed'],
  [['bob failure', 'bob success'], 'success', 'others'],
  [['bob failure', 'bob abandoned'], 'abandoned', 'others'],
  [['bob success', 'carol failure'], 'success', 'others'],
  [['bob failure', 'silent success'], 'success', 'others'],
  [['evidence failure', 'silent success'], 'failure', 'observed'],
  [['evidence failure', 'curator success'], 'success', 'curator'],
  [['inferred failure', 'curator success'], 'success', 'curator'],
  [['curator success', 'evidence failure', 'bob failure', 'silent failure'], 'success', 'curator'],
  [['curator success', 'curator failure'], 'failure', 'curator'],
  [['age success', 'evidence failure'], 'failure', 'observed'],
  [['age success', 'alice failure'], 'failure', 'self'],
  [['bob failure', 'age success'], 'failure', 'others'],
])('%j counts as %s, settled by %s', (steps, outcome, settler) => {
  const record = after(steps)
  expect([record.outcome, settlerOf(record)]).toEqual([outcome, settler as never])
  expect(record.review_history).toHaveLength(steps.length)
})

describe('over random orders of reviews', () => {
  const who = ['alice', 'alice', 'bob', 'carol', 'evidence', 'age', 'inferred', 'curator', 'silent']
  test('what an attribution would change is named by outcome and settler alone', () => {
    const next = random(5)
    const one = <T>(values: readonly T[]): T => values[Math.floor(next() * values.length)]!
    for (let run = 0; run < 2_000; run++) {
      const steps = Array.from({ length: 1 + Math.floor(next() * 4) }, () => `${one(who)} ${one(outcomeValues)}`)
      const record = after(steps)
      const [basis, outcome] = [one(bases), one(outcomeValues)]
      const before = { outcome: record.outcome!, settled_by: settlerOf(record)! }
      expect(applyReview(record, said(outcome), agent('carol'), later, by(basis)).counts).toBe(
        replaces(before, { outcome, settled_by: ruleSettlers[basis] }),
      )
    }
  })

  const value: Record<Outcome, number> = { success: 1, partial: 0.5, failure: 0, abandoned: 0 }

  test('one review counts, and the recorder changes nothing that others or evidence settled', () => {
    const next = random(7)
    const one = <T>(values: readonly T[]): T => values[Math.floor(next() * values.length)]!
    for (let run = 0; run < 2_000; run++) {
      let record = recordOf()
      for (let step = 0; step < 6; step++) {
        const given = `${one(who)} ${one(outcomeValues)}`
        const before = record
        record = after([given], record)
        expect(record.review_history.filter(({ counts }) => counts)).toHaveLength(1)
        expect(countedReview(record)).toMatchObject({ outcome: record.outcome!, reviewed_by: record.reviewed_by! })
        if (!given.startsWith('alice')) continue
        const settler = settlerOf(before)
        if (isIndependent(settler)) expect(record.outcome).toBe(before.outcome)
        // A tested outcome of its own never gets better.
        if (settler === 'self' && before.outcome !== 'abandoned')
          expect(value[record.outcome!]).toBeLessThanOrEqual(value[before.outcome!])
      }
    }
  })

  test('whatever the recorder does in between, others’ outcomes score the same', () => {
    const next = random(11)
    const one = <T>(values: readonly T[]): T => values[Math.floor(next() * values.length)]!
    for (let run = 0; run < 2_000; run++) {
      const others = Array.from(
        { length: 1 + Math.floor(next() * 3) },
        () => `${one(['bob', 'carol'])} ${one(outcomeValues)}`,
      )
      let [honest, gamed] = [recordOf({ confidence: 0.7 }), recordOf({ confidence: 0.7 })]
      const meddle = () => {
        const confidence = next()
        gamed = applyUpdate(gamed, { confidence, tags: [] }, 'alice', later).record
        gamed = after([`alice ${one(outcomeValues)}`], gamed)
      }
      for (const step of others) {
        if (next() < 0.7) meddle()
        honest = after([step], honest)
        gamed = after([step], gamed)
        if (next() < 0.7) meddle()
      }
      const scored = ({ outcome, confidence_at_record, breaker_scopes }: DecisionRecord) => ({
        outcome,
        confidence_at_record,
        breaker_scopes,
      })
      expect(scored(gamed)).toEqual(scored(honest))
    }
  })
})

/** Who settled a decision first, from the lightest to the heaviest: a later word of a heavier one replaces it, whatever it says. */
const order = ['age', 'alice', 'bob', 'inferred', 'evidence', 'curator']
const tested: Outcome[] = ['success', 'partial', 'failure']
const settlerBy: Record<string, string> = { alice: 'self', bob: 'others', evidence: 'observed' }

describe.each(order)('after the word of %s', (earlier) => {
  test.each(order)('the word of %s counts by one order, in both directions', (next) => {
    for (const was of tested)
      for (const is of tested) {
        const record = after([`${earlier} ${was}`, `${next} ${is}`])
        const more = order.indexOf(next) - order.indexOf(earlier)
        const worse = tested.indexOf(is) - tested.indexOf(was)
        const own = next === 'bob' || next === 'curator' || (next === 'alice' ? worse >= 0 : worse > 0)
        const counts = more > 0 || (more === 0 && own)
        expect([was, is, record.review_history.map((one) => one.counts)]).toEqual([was, is, [!counts, counts]])
        expect(record.outcome).toBe(counts ? is : was)
        const by = counts ? next : earlier
        expect(settlerOf(record)).toBe((settlerBy[by] ?? by) as never)
      }
  })

  test.each(['alice', 'bob', 'carol', 'curator', 'silent'])(
    'texts of %s are kept and attributed, also as a remark',
    (who) => {
      const before = after([`${earlier} failure`])
      const input = { ...said('success'), actual_result: 'It held', lessons: 'Ask first', notes: 'seen' }
      const author = { agent: who, curates: who === 'curator' || who === 'silent' }
      const { record } = applyReview(before, input, author, later)
      expect(record.review_history.at(-1)).toMatchObject({ ...input, reviewed_by: who })
      expect(record).toMatchObject({ actual_result: 'It held', lessons: 'Ask first' })
      // A later remark does not take the place of what another one said.
      const again = applyReview(
        after(['curator failure'], record),
        { ...input, lessons: 'Never' },
        agent('dave'),
        later,
      )
      expect([again.counts, again.record.lessons]).toEqual([false, 'Ask first'])
      expect(again.record.review_history.at(-1)!.lessons).toBe('Never')
    },
  )
})
