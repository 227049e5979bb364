/** What an agent should do about its calibration, in words it can follow. */
import type { Bucket, ConfidenceStats, Overall } from './report.ts'

export interface Recommendation {
  type: string
  message: string
  severity: 'info' | 'warning' | 'critical'
}

/** Fewer decisions in a bucket are no ground for advice. */
const leastInBucket = 5
const percent = (share: number): string => `${Math.round(share * 100)} %`
/** One decimal, as a confidence is stated. */
const stated = (value: number): string => (Math.round(value * 20) / 20).toString()

/** Advice for each bucket whose interval excludes the confidence that was stated. */
function aboutBucket({ range, decisions, predicted, actual, actual_low, actual_high }: Bucket): Recommendation[] {
  if (decisions < leastInBucket || predicted === null || actual === null || actual_low === null || actual_high === null)
    return []
  if (predicted >= actual_low && predicted <= actual_high) return []
  const over = predicted > actual_high
  const message = `Your ${range} decisions came true ${percent(actual)} of the time (${decisions} of them): state ${stated(actual)} when you feel ${stated(predicted)}.`
  return [
    {
      type: over ? 'overconfident_range' : 'underconfident_range',
      message,
      severity: Math.abs(predicted - actual) > 0.2 ? 'critical' : 'warning',
    },
  ]
}

/** Advice in the order of its weight. */
export function recommend(overall: Overall, buckets: readonly Bucket[], stats: ConfidenceStats): Recommendation[] {
  if (overall.interpretation === 'insufficient_data') {
    const missing = 5 - overall.scored
    return [
      {
        type: 'insufficient_data',
        message: `Review at least ${missing} more decisions: with ${overall.scored} scored, nothing can be said yet.`,
        severity: 'info',
      },
    ]
  }
  const advice = buckets.flatMap(aboutBucket)
  if (stats.habituation_detected) {
    advice.push({
      type: 'habituation',
      message: `Your confidence hardly varies (${stats.min} to ${stats.max}, mean ${stats.mean}): use the whole scale, so that it tells sure from unsure.`,
      severity: 'warning',
    })
  }
  if (overall.skill !== null && overall.skill < 0) {
    advice.push({
      type: 'no_skill',
      message: `Always stating ${stated(overall.accuracy ?? 0)}, your share of successes, would score better than your own confidences.`,
      severity: 'warning',
    })
  }
  if (advice.length === 0) {
    const noise = overall.ece !== null && overall.ece_noise_floor !== null && overall.ece <= overall.ece_noise_floor
    advice.push({
      type: 'well_calibrated',
      message: noise
        ? 'Your confidence is as good as chance lets it be measured: keep stating it as you do.'
        : 'No range of confidence is clearly off: keep stating it as you do.',
      severity: 'info',
    })
  }
  const rank = { critical: 0, warning: 1, info: 2 }
  return advice.sort((a, b) => rank[a.severity] - rank[b.severity])
}
