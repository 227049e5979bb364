/** The calibration report: the published vectors, the laws of its figures, and the words it finds for them. */
import { describe, expect, test } from 'bun:test'
import { type Outcome, type Settler, settlers } from '../../../../sdk/schema/decision.ts'
import {
  brierOf,
  calibrationError,
  decompose,
  interpret,
  noiseFloor,
  round,
  scoredOf,
  wilson,
} from '../../../../src/core/figures.ts'
import { partName } from '../../../../src/domain/learn/calibration/advice.ts'
import { report } from '../../../../src/domain/learn/calibration/report.ts'
import * as fc from '../../../support/property.ts'
import { sharedText } from '../../../support/shared.ts'
import { groupsOf, type Judged, random } from './groups.ts'

const vectors = sharedText('spec/vectors.json')

test.skipIf(vectors === null)('the vectors of the contract, to the digit', () => {
  const { input, expected } = JSON.parse(vectors!).calibration
  const { overall, buckets, confidence_stats, reviewed_decisions } = report(groupsOf(input))
  expect(reviewed_decisions).toBe(expected.reviewed)
  const { brier_score, accuracy, calibration_gap, ece, reliability, resolution, uncertainty, scored } = expected
  expect(overall).toMatchObject({
    scored,
    brier_score,
    accuracy,
    calibration_gap,
    ece,
    reliability,
    resolution,
    uncertainty,
  })
  expect(buckets.map(({ actual_low: _, actual_high: __, ...one }) => one)).toEqual(expected.buckets)
  expect([buckets[4]!.actual_low, buckets[4]!.actual_high]).toEqual(expected.wilson_0_8_to_1_0)
  expect(confidence_stats).toMatchObject({ mean: expected.mean, std_dev: expected.std_dev })
})

const outcome = fc.constantFrom<Outcome | null>('success', 'failure', 'partial', 'abandoned', null)
const judged = fc.record({
  confidence: fc.double({ min: 0, max: 1, noNaN: true }),
  outcome,
  settled_by: fc.constantFrom(...settlers),
})
const many = fc.array(judged, { minLength: 5, maxLength: 60 })

describe('laws', () => {
  test('no figure depends on the order or on how decisions are grouped', () => {
    fc.assert(
      fc.property(many, fc.func(fc.double({ noNaN: true })), (decisions, key) => {
        const shuffled = [...decisions].sort((a, b) => key(a) - key(b))
        const twice = groupsOf(decisions).map((group) => ({ ...group, count: 2 }))
        expect(report(groupsOf(shuffled))).toEqual(report(groupsOf(decisions)))
        const { overall } = report(groupsOf([...decisions, ...decisions]))
        expect(report(twice).overall.brier_score ?? -1).toBeCloseTo(overall.brier_score ?? -1, 3)
      }),
    )
  })

  test('nor does the last digit of a figure halfway between two', () => {
    const next = random(5)
    for (let round = 0; round < 200; round++) {
      const decisions = Array.from(
        { length: 20 },
        (): Judged => ({ confidence: Math.round(next() * 100) / 100, outcome: next() < 0.5 ? 'success' : 'failure' }),
      )
      const shuffled = decisions.map((one) => ({ one, key: next() })).sort((a, b) => a.key - b.key)
      expect(report(groupsOf(shuffled.map(({ one }) => one)))).toEqual(report(groupsOf(decisions)))
    }
  })

  test('Brier = reliability − resolution + uncertainty where each bucket holds one confidence', () => {
    const exact = fc.record({
      confidence: fc.constantFrom(0.1, 0.3, 0.5, 0.7, 0.9),
      outcome,
      settled_by: fc.constantFrom(...settlers),
    })
    fc.assert(
      fc.property(fc.array(exact, { minLength: 5, maxLength: 60 }), (decisions) => {
        // A partial success is 0.5: Murphy's partition then lacks its spread within the bucket, so only sure outcomes count here.
        const scored = scoredOf(groupsOf(decisions.filter((one) => one.outcome !== 'partial')))
        fc.pre(scored.length > 0)
        const { reliability, resolution, uncertainty } = decompose(scored)
        expect(reliability - resolution + uncertainty).toBeCloseTo(brierOf(scored), 10)
      }),
    )
  })

  test('figures stay in their ranges; pending and abandoned decisions enter no score', () => {
    fc.assert(
      fc.property(many, (decisions) => {
        const { overall, buckets, reviewed_decisions, total_decisions } = report(groupsOf(decisions))
        const sure = decisions.filter(
          (one) => one.outcome !== null && one.outcome !== 'abandoned' && one.settled_by !== 'age',
        )
        expect(overall.scored).toBe(sure.length)
        expect(total_decisions).toBe(decisions.length)
        expect(reviewed_decisions).toBe(decisions.filter((one) => one.outcome !== null).length)
        expect(buckets.length).toBe(5)
        expect(buckets.reduce((sum, one) => sum + one.decisions, 0)).toBe(sure.length)
        for (const { actual, actual_low, actual_high } of buckets)
          if (actual !== null)
            expect([actual_low! <= actual + 1e-4, actual_high! >= actual - 1e-4]).toEqual([true, true])
        if (sure.length < 5) {
          const { scored: _, interpretation, ...figures } = overall
          expect(interpretation).toBe('insufficient_data')
          expect(new Set(Object.values(figures))).toEqual(new Set([null]))
          return
        }
        for (const figure of ['brier_score', 'accuracy', 'ece', 'reliability', 'resolution', 'uncertainty'] as const)
          expect(overall[figure]! >= 0 && overall[figure]! <= 1).toBe(true)
        expect(Number.isFinite(overall.log_score)).toBe(true)
      }),
    )
  })

  test('what others, evidence and the recorder itself settled is reported apart, and neither touches the other', () => {
    fc.assert(
      fc.property(many, (decisions) => {
        const by = (...some: Settler[]) =>
          report(groupsOf(decisions.filter(({ settled_by }) => some.includes(settled_by!)))).overall
        expect(report(groupsOf(decisions)).by_reviewer).toEqual({
          self: by('self'),
          others: by('others', 'curator'),
          observed: by('observed'),
        })
      }),
    )
  })
})

/** Decisions of somebody who is right as often as stated. */
function calibrated(seed: number, count: number, shift = 0): Judged[] {
  const next = random(seed)
  return Array.from({ length: count }, () => {
    const truth = 0.05 + 0.9 * next()
    const confidence = Math.min(1, Math.max(0, truth + shift))
    return { confidence, outcome: next() < truth ? 'success' : 'failure' }
  })
}

describe('a calibrated forecaster', () => {
  test('is not called overconfident, and its error stays near the noise floor', () => {
    for (let seed = 1; seed <= 40; seed++) {
      const { overall, recommendations } = report(groupsOf(calibrated(seed, 2_000)))
      expect(overall.interpretation).toBe('well_calibrated')
      expect(overall.ece! < 3 * overall.ece_noise_floor!).toBe(true)
      expect(recommendations.filter(({ severity }) => severity === 'critical')).toEqual([])
    }
  })

  test('shows about the noise floor on average, at every size', () => {
    for (const count of [20, 100, 500]) {
      const sums = Array.from({ length: 200 }, (_, seed) => {
        const scored = scoredOf(groupsOf(calibrated(seed + 1, count)))
        return [calibrationError(scored), noiseFloor(scored)] as const
      }).reduce(([a, b], [x, y]) => [a + x, b + y] as const)
      expect(sums[0] / sums[1]).toBeGreaterThan(0.9)
      expect(sums[0] / sums[1]).toBeLessThan(1.1)
    }
  })

  test('and one who states a quarter more is, with advice for the ranges concerned', () => {
    const { overall, recommendations } = report(groupsOf(calibrated(3, 500, 0.25)))
    expect(overall.interpretation).toBe('overconfident')
    expect(recommendations.some(({ type }) => type === 'overconfident_range')).toBe(true)
    expect(recommendations.some(({ type }) => type === 'underconfident_range')).toBe(false)
  })
})

test.each<[number, ReturnType<typeof interpret>]>([
  [0, 'well_calibrated'],
  [0.05, 'well_calibrated'],
  [-0.05, 'well_calibrated'],
  [-0.0501, 'slightly_overconfident'],
  [-0.1, 'slightly_overconfident'],
  [-0.1001, 'overconfident'],
  [0.0501, 'slightly_underconfident'],
  [0.1, 'slightly_underconfident'],
  [0.1001, 'underconfident'],
])('a gap of %d is %s', (gap, expected) => {
  expect(interpret(gap, 5)).toBe(expected)
  expect(interpret(gap, 4)).toBe('insufficient_data')
})

test('edges of tenths belong to the upper one, and 1 to the last', () => {
  const confidences = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]
  const { confidence_stats } = report(groupsOf(confidences.map((confidence) => ({ confidence, outcome: null }))))
  expect(confidence_stats.histogram).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 1, 2])
})

test('edges of buckets belong to the upper one, and 1 to the last', () => {
  const { buckets } = report(
    groupsOf([0, 0.2, 0.4, 0.6, 0.8, 1, 0.1 + 0.2 + 0.3].map((confidence) => ({ confidence, outcome: 'success' }))),
  )
  // 0.1 + 0.2 + 0.3 is 0.6000000000000001.
  expect(buckets.map(({ decisions }) => decisions)).toEqual([1, 1, 1, 2, 2])
  expect(buckets.map(({ range }) => range)).toEqual(['0.0-0.2', '0.2-0.4', '0.4-0.6', '0.6-0.8', '0.8-1.0'])
})

test('an interval holds where the normal one fails: no successes, all successes, one trial', () => {
  const rounded = (hits: number, of: number) => Object.values(wilson(hits, of)!).map(round)
  expect(rounded(0, 10)).toEqual([0, 0.2775])
  expect(rounded(10, 10)).toEqual([0.7225, 1])
  expect(rounded(1, 1)).toEqual([0.2065, 1])
  for (let of = 1; of <= 300; of++) {
    expect(wilson(0, of)!.low >= 0).toBe(true)
    expect(wilson(of, of)!.high <= 1).toBe(true)
  }
})

test('certainty that was wrong costs much in the log score, but not without end', () => {
  const wrong = Array.from({ length: 5 }, () => ({ confidence: 1, outcome: 'failure' as const }))
  expect(report(groupsOf(wrong)).overall).toMatchObject({ brier_score: 1, log_score: 13.8155, skill: null })
  const doubted = Array.from({ length: 5 }, () => ({ confidence: 0, outcome: 'success' as const }))
  expect(report(groupsOf(doubted)).overall.log_score).toBe(13.8155)
})

describe('habituation', () => {
  const times = (count: number, confidence: number, outcome: Outcome | null = null): Judged[] =>
    Array.from({ length: count }, () => ({ confidence, outcome }))
  const of = (decisions: Judged[]) => report(groupsOf(decisions)).confidence_stats.habituation_detected
  test.each<[string, Judged[], boolean]>([
    ['always the same, and not reviewed', times(10, 0.7), true],
    ['always the same, but few', times(9, 0.7), false],
    ['always the same, and borne out', [...times(14, 0.7, 'success'), ...times(6, 0.7, 'failure')], false],
    ['always the same, and wrong', [...times(4, 0.7, 'success'), ...times(16, 0.7, 'failure')], true],
    ['all high but one', [...times(9, 0.95), ...times(1, 0.7)], false],
    ['all low, not reviewed', [...times(9, 0.5), ...times(1, 0.3)], false],
    ['close together, but over the edge of a tenth', [...times(5, 0.69), ...times(5, 0.71)], false],
    [
      'two confidences of equal success',
      [0.9, 0.6].flatMap((stated) => [...times(75, stated, 'success'), ...times(25, stated, 'failure')]),
      true,
    ],
    [
      'two confidences that are borne out',
      [0.9, 0.6].flatMap((stated) => [
        ...times(100 * stated, stated, 'success'),
        ...times(100 - 100 * stated, stated, 'failure'),
      ]),
      false,
    ],
  ])('%s', (_, decisions, expected) => expect(of(decisions)).toBe(expected))
})

test('a mean that fits is not well calibrated if confidence says nothing', () => {
  const of = (hits: (stated: number) => number) =>
    report(
      [0.9, 0.6].flatMap((confidence) => [
        { confidence, outcome: 'success', settled_by: 'others', count: hits(confidence) },
        { confidence, outcome: 'failure', settled_by: 'others', count: 100 - hits(confidence) },
      ]),
    )
  expect(of(() => 75).verdict).toMatchObject({ interpretation: 'uninformative', resolution: { finding: 'none' } })
  expect(of(() => 75).recommendations.map(({ type }) => type)).toContain('uninformative')
  expect(of((stated) => 100 * stated).verdict).toMatchObject({
    interpretation: 'well_calibrated',
    resolution: { finding: 'shown' },
  })
  // Between the two, chance explains either.
  expect(of((stated) => 100 * (0.75 + 0.3 * (stated - 0.75))).verdict.interpretation).not.toBe('well_calibrated')
})

test('advice says what to state instead, the worst first', () => {
  const of = (confidence: number, successes: number, failures: number) => [
    ...Array.from({ length: successes }, (): Judged => ({ confidence, outcome: 'success' })),
    ...Array.from({ length: failures }, (): Judged => ({ confidence, outcome: 'failure' })),
  ]
  const { recommendations } = report(groupsOf([...of(0.9, 29, 21), ...of(0.3, 15, 35)]))
  expect(recommendations).toEqual([
    {
      type: 'verdict',
      message:
        'These decisions are overconfident by 3 to 30 points (95 %), 100 scored: state about 16 points less confidence.',
      severity: 'critical',
    },
    {
      type: 'overconfident_range',
      message:
        'Decisions stated at 0.8-1.0 came true 58 % of the time (50 of them; interval 33 to 79 %): state 0.6 instead of 0.9.',
      severity: 'critical',
    },
    {
      type: 'no_skill',
      message: 'Always stating 0.45, the share of successes, would score better than these confidences.',
      severity: 'warning',
    },
  ])
  expect(report(groupsOf(of(0.9, 3, 0))).recommendations).toMatchObject([
    { type: 'insufficient_data', severity: 'info', message: expect.stringContaining('at least 2 more') },
  ])
})

test.each<['recent' | undefined, string]>([
  ['recent', 'in security of the last 30 days'],
  [undefined, 'in security'],
])('a part that is proven by %p decisions is named with its period', (period, expected) =>
  expect(partName({ by: 'category', key: 'security', period })).toBe(expected),
)

test('a p-value is never 0', () => {
  const sure = [0.99, 0.01].flatMap((confidence) =>
    Array<Judged>(300).fill({ confidence, outcome: confidence > 0.5 ? 'success' : 'failure' }),
  )
  const { finding, p_value } = report(groupsOf(sure)).verdict.resolution!
  expect({ finding, p_value }).toEqual({ finding: 'shown', p_value: 0.0001 })
})

test('advice needs five decisions in a range', () => {
  const others = Array.from(
    { length: 10 },
    (_, at): Judged => ({ confidence: 0.5, outcome: at % 2 ? 'success' : 'failure' }),
  )
  const failed = (count: number) =>
    Array.from({ length: count }, (): Judged => ({ confidence: 0.99, outcome: 'failure' }))
  const ranges = (count: number) =>
    report(groupsOf([...others, ...failed(count)])).recommendations.filter(({ type }) => type === 'overconfident_range')
  expect([ranges(4).length, ranges(5).length]).toEqual([0, 1])
})

test('habituation is advised against, with its figures', () => {
  const same = Array.from({ length: 20 }, (): Judged => ({ confidence: 0.9, outcome: null }))
  const other = Array.from({ length: 5 }, (): Judged => ({ confidence: 0.9, outcome: 'success' }))
  expect(report(groupsOf([...same, ...other])).recommendations).toContainEqual({
    type: 'habituation',
    message: 'Confidence hardly varies (0.9 to 0.9, mean 0.9): use the whole scale, so that it tells sure from unsure.',
    severity: 'warning',
  })
})

test('where nothing is off, the interval says how much is known', () => {
  const of = (confidence: number, successes: number, failures: number) => [
    ...Array.from({ length: successes }, (): Judged => ({ confidence, outcome: 'success' })),
    ...Array.from({ length: failures }, (): Judged => ({ confidence, outcome: 'failure' })),
  ]
  expect(report(groupsOf([...of(0.5, 10, 10), ...of(0.9, 18, 2)])).recommendations).toEqual([
    {
      type: 'well_calibrated',
      message:
        'No agent, category, stakes or range is proven to be off. The 40 scored decisions are between 23 points overconfident and 17 underconfident (95 %): keep stating confidence as before.',
      severity: 'info',
    },
  ])
  // Six of six at 0.9: a gap of 10 points, which six decisions don't prove.
  const { overall, verdict, recommendations } = report(groupsOf(of(0.9, 6, 0)))
  expect(overall.interpretation).toBe('slightly_underconfident')
  expect(verdict).toMatchObject({ interpretation: 'insufficient_data', proven_by: null })
  expect(recommendations).toEqual([
    {
      type: 'insufficient_data',
      message:
        'The 6 scored decisions are between 64 points overconfident and 10 underconfident (95 %): too few to tell a gap from chance. Review more.',
      severity: 'info',
    },
  ])
})

test('a skill below 0 without a proven gap is chance, and no advice', () => {
  const of = (confidence: number, successes: number, failures: number) => [
    ...Array.from({ length: successes }, (): Judged => ({ confidence, outcome: 'success' })),
    ...Array.from({ length: failures }, (): Judged => ({ confidence, outcome: 'failure' })),
  ]
  const { overall, recommendations } = report(groupsOf([...of(0.8, 7, 3), ...of(0.6, 8, 2)]))
  expect(overall.skill).toBeLessThan(0)
  expect(recommendations.map(({ type }) => type)).toEqual(['well_calibrated'])
})

test('mean confidence is that of the scored decisions: accuracy less it is the gap', () => {
  const scored = Array.from(
    { length: 10 },
    (_, at): Judged => ({ confidence: 0.6, outcome: at < 6 ? 'success' : 'failure' }),
  )
  const waiting = Array.from({ length: 30 }, (): Judged => ({ confidence: 0.95, outcome: null }))
  const { overall, confidence_stats } = report(groupsOf([...scored, ...waiting]))
  expect(overall).toMatchObject({ accuracy: 0.6, mean_confidence: 0.6, calibration_gap: 0 })
  expect(confidence_stats.mean).toBe(0.8625)
})
