/** Drift: the thresholds of the contract, and p-values that mean what they say. */
import { describe, expect, test } from 'bun:test'
import type { Scored } from '../../../../src/core/figures.ts'
import type { Change } from '../../../../src/domain/learn/calibration/change.ts'
import { drift } from '../../../../src/domain/learn/calibration/drift.ts'
import { type Counted, permutationTest } from '../../../../src/domain/learn/calibration/permutation.ts'
import { random } from './groups.ts'

const thresholds = { brier: 0.05, accuracy: 0.1 }
const soak = process.env.CSTP_SOAK === '1'
const histories = soak ? 5_000 : 1_000

/** So many decisions at one confidence, of which some succeed. */
const of = (confidence: number, successes: number, failures: number): Scored[] => [
  { confidence, value: 1, count: successes },
  { confidence, value: 0, count: failures },
]

const compared = (recent: Scored[], historical: Scored[], given = thresholds) => drift(recent, historical, null, given)

test('what stays as it was raises nothing', () => {
  expect(compared(of(0.8, 40, 10), of(0.8, 160, 40))).toEqual({
    drift_detected: false,
    change: null,
    alerts: [],
    recent_period: 'last 30 days',
    historical_period: '90 days ago and earlier',
    recent_scored: 50,
    historical_scored: 200,
    recommendations: [],
  })
})

test('two periods that differ are information: only the sequential test finds drift', () => {
  const { drift_detected, alerts, recommendations } = compared(of(0.8, 20, 30), of(0.8, 160, 40))
  expect(drift_detected).toBe(false)
  expect(alerts).toMatchObject([
    { type: 'brier_degradation', recent_value: 0.4, historical_value: 0.16, change_pct: 150, severity: 'info' },
    { type: 'accuracy_drop', recent_value: 0.4, historical_value: 0.8, change_pct: -50, severity: 'info' },
  ])
  for (const { p_value } of alerts) expect(p_value).toBeLessThan(0.01)
  expect(recommendations[0]).toContain('One comparison proves no lasting change: watch it.')
})

test('a finding raises alerts with the figures before and since the change, whatever the periods show', () => {
  const change: Change = {
    since: '2026-05-01',
    found: '2026-05-20',
    before: of(0.8, 160, 40),
    after: of(0.8, 20, 30),
    p: 0.004,
  }
  const { drift_detected, alerts, recommendations, ...report } = drift([], [], change, thresholds)
  expect(drift_detected).toBe(true)
  expect(alerts).toMatchObject([
    { type: 'brier_degradation', recent_value: 0.4, historical_value: 0.16, p_value: 0.004, severity: 'critical' },
    { type: 'accuracy_drop', recent_value: 0.4, historical_value: 0.8, p_value: 0.004, severity: 'critical' },
  ])
  expect(recommendations[1]).toStartWith('Successes fell from 0.8 to 0.4 since 2026-05-01')
  expect(report.change).toMatchObject({
    since: '2026-05-01',
    before: { scored: 200, calibration_gap: 0 },
    after: { scored: 50, calibration_gap: -0.4 },
  })
})

test('what got better raises nothing', () => {
  expect(compared(of(0.8, 48, 2), of(0.8, 100, 100)).alerts).toEqual([])
})

test('the thresholds are absolute differences, and their own value is beyond them', () => {
  const historical = of(1, 90, 10)
  const alerts = (recent: Scored[], given = thresholds) =>
    compared(recent, historical, given).alerts.map(({ type }) => type)
  expect(alerts(of(1, 80, 20))).toEqual(['brier_degradation', 'accuracy_drop'])
  expect(alerts(of(1, 81, 19))).toEqual(['brier_degradation'])
  expect(alerts(of(1, 86, 14))).toEqual([])
  expect(alerts(of(1, 86, 14), { brier: 0.04, accuracy: 0.04 })).toEqual(['brier_degradation', 'accuracy_drop'])
  expect(alerts(of(1, 89, 11), { brier: 0, accuracy: 0 })).toEqual(['brier_degradation', 'accuracy_drop'])
  expect(alerts(historical, { brier: 0, accuracy: 0 })).toEqual([])
})

test('a rise from 0 has no percentage', () => {
  expect(compared(of(1, 10, 10), of(1, 20, 0)).alerts[0]).toMatchObject({ change_pct: null, historical_value: 0 })
})

test.each([
  [4, 50],
  [50, 4],
  [0, 0],
])('with %d recent and %d historical there is nothing to compare', (recent, historical) => {
  const found = compared(of(0.8, 0, recent), of(0.8, historical, 0))
  expect(found).toMatchObject({
    drift_detected: false,
    alerts: [],
    recent_scored: recent,
    historical_scored: historical,
  })
  expect(found.recommendations[0]).toStartWith('Not enough reviewed decisions')
})

/** Squared errors of a forecaster whose calibration never changes. */
function squares(next: () => number, count: number): Counted[] {
  return Array.from({ length: count }, () => {
    const confidence = 0.3 + 0.65 * next()
    return { figure: (confidence - (next() < confidence - 0.1 ? 1 : 0)) ** 2, count: 1 }
  })
}

describe('on stationary histories', () => {
  const simulate = (recent: number, historical: number) =>
    Array.from({ length: histories }, (_, seed) => {
      const next = random(seed + 1)
      return permutationTest(squares(next, recent), squares(next, historical), 1)
    })

  test.each([
    [25, 60],
    [60, 25],
    [120, 300],
    [300, 120],
  ])(`p ≤ .05 comes up in about 5 %% of ${histories}: %d recent, %d historical`, (recent, historical) => {
    const p = simulate(recent, historical)
    const share = (limit: number) => p.filter((one) => one <= limit).length / histories
    expect(share(0.05)).toBeGreaterThan(0.03)
    expect(share(0.05)).toBeLessThan(0.07)
    expect(share(0.5)).toBeGreaterThan(0.45)
    expect(share(0.5)).toBeLessThan(0.55)
    expect(share(0)).toBe(0)
  })

  test('the same history has the same p-value', () => {
    const [recent, historical] = [squares(random(1), 40), squares(random(2), 90)]
    const p = permutationTest(recent, historical, 1)
    expect(permutationTest(recent, historical, 1)).toBe(p)
  })
})

/** Logarithm of the number of ways to choose k of n. */
const choices = (n: number, k: number): number =>
  Array.from({ length: k }, (_, at) => Math.log((n - at) / (at + 1))).reduce((sum, one) => sum + one, 0)

/** How often at least k of `size` drawn are among `marked` of `all`: what the p-value of figures 1 and 0 is, exactly. */
const exactly = (all: number, marked: number, size: number, k: number): number =>
  Array.from({ length: Math.min(size, marked) - k + 1 }, (_, at) =>
    Math.exp(choices(marked, k + at) + choices(all - marked, size - k - at) - choices(all, size)),
  ).reduce((sum, one) => sum + one, 0)

describe('the p-value is the exact one', () => {
  test.each([
    [30, 90, 40],
    [99, 1_000, 800],
    [100, 1_000, 800],
    [100, 1_000, 50],
    [110, 200, 40],
    [400, 5_000, 100],
    [1_000, 12_000, 9_000],
    [600, 1_000, 300],
  ])('%d of %d, of which %d are marked', (size, all, marked) => {
    const expected = (size * marked) / all
    const spread = Math.sqrt(expected * (1 - marked / all) * (1 - size / all))
    for (const deviations of [0, 1, 1.64, 2, 3]) {
      const k = Math.round(expected + deviations * spread)
      const recent = [
        { figure: 1, count: k },
        { figure: 0, count: size - k },
      ]
      const historical = [
        { figure: 1, count: marked - k },
        { figure: 0, count: all - marked - size + k },
      ]
      const p = exactly(all, marked, size, k)
      const negated = (groups: Counted[]) => groups.map(({ figure, count }) => ({ figure: -figure, count }))
      const found = [
        permutationTest(recent, historical, 1),
        permutationTest(negated(recent), negated(historical), -1),
        // What is more of one side is less of the other.
        permutationTest(historical, recent, -1),
      ]
      // Sampled p-values vary with the root; the limit is nearer.
      const slack = Math.min(size, all - size) < 100 ? 0.045 * Math.sqrt(p) + 0.004 : 0.003
      for (const one of found) expect(Math.abs(one - p)).toBeLessThan(slack)
    }
  })

  test('what no random split shows is still not impossible', () => {
    const [recent, historical] = [[{ figure: 1, count: 20 }], [{ figure: 0, count: 20 }]]
    expect(permutationTest(recent, historical, 1)).toBe(1 / 4_001)
    expect(permutationTest(recent, historical, -1)).toBe(1)
  })

  test('where all figures are alike nothing is worse than chance', () => {
    const same = (count: number) => [{ figure: 0.25, count }]
    expect([permutationTest(same(10), same(20), 1), permutationTest(same(200), same(300), 1)]).toEqual([1, 1])
  })
})
