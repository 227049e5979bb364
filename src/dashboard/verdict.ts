/** The verdict on confidence in words: what is proven, of whom, and by how much. */
import type { GetCalibrationResult } from '../../sdk/client.ts'
import { percent, words } from './figures.ts'
import { inPoints, partWords } from './texts/points.ts'
import { texts } from './texts.ts'

const t = texts.verdict

type Verdict = GetCalibrationResult['verdict']
type Overall = GetCalibrationResult['overall']

/** The decisions of a part: `of coder in deployment`. */
const partOf = ({ by, key }: NonNullable<Verdict['subject']>): string => {
  const values = by.includes('_') ? key.split(' / ') : [key]
  return partWords(Object.fromEntries(by.split('_').map((name, at) => [name, values[at]])))
}

/** How many of the five ranges of confidence are proven to be off. */
export const rangesOff = ({ recommendations }: Pick<GetCalibrationResult, 'recommendations'>): number =>
  recommendations.filter(({ type }) => type.endsWith('_range')).length
const ranges = (off: number): string => t.ranges(off)

type Report = Pick<GetCalibrationResult, 'verdict' | 'overall' | 'recommendations'>

/** What is proven of all decisions is proven by the last 30 days. */
const isOnlyLate = ({ verdict, overall: { gap_low, gap_high } }: Report): boolean =>
  verdict.proven_by === null && verdict.recent?.gap_low != null && (gap_low ?? 0) <= 0 && (gap_high ?? 0) >= 0

/** The verdict in a sentence. */
export function verdictSentence(report: Report): string {
  const { interpretation, proven_by, subject, recent, before } = report.verdict
  if (subject !== null && recent !== null && proven_by?.key !== subject.key)
    return t.watched(
      partOf(subject),
      percent(recent.mean_confidence),
      percent(recent.accuracy),
      recent.scored,
      before && percent(before.accuracy),
    )
  if (proven_by !== null) {
    const { n, low, high } = proven_by
    return t.proven(partOf(proven_by), inPoints({ low, high }), texts.amount.scoredDecision(n))
  }
  const { gap_low, gap_high, scored } = report.overall
  if (gap_low === null || gap_high === null) return t.tooFewReviewed
  const known = `${inPoints({ low: gap_low, high: gap_high })} (95 %, ${texts.amount.scoredDecision(scored)})`
  const off = rangesOff(report)
  if (interpretation === 'uninformative') return t.uninformative(known)
  if (!['insufficient_data', 'well_calibrated'].includes(interpretation)) {
    // Calibrated on the whole, and proven to be off lately.
    if (isOnlyLate(report) && recent)
      return t.lately(
        t.all(
          `${inPoints({ low: recent.gap_low!, high: recent.gap_high! })} (${texts.amount.scoredDecision(recent.scored)})`,
        ),
      )
    return t.all(known)
  }
  if (off > 0) return t.noneButRanges(ranges(off), known)
  return interpretation === 'well_calibrated' ? t.none(known) : t.tooFew(known)
}

const isCalm = ({ verdict }: Report): boolean =>
  verdict.subject === null && ['insufficient_data', 'well_calibrated'].includes(verdict.interpretation)

/** The verdict in two words: never that all is well while a range is off, or the last 30 days are. */
export const verdictWords = (report: Report, recent: Report | null = null): string => {
  const found = ({ verdict: { interpretation, subject, proven_by } }: Report): string =>
    subject !== null && proven_by?.key !== subject.key ? t.toWatch : words(interpretation)
  if (!isCalm(report))
    return report.verdict.subject === null && isOnlyLate(report) ? `${found(report)} lately` : found(report)
  if (recent !== null && !isCalm(recent)) return `${found(recent)} lately`
  return rangesOff(report) > 0 ? t.rangesOff : words(report.verdict.interpretation)
}

/** What is proven of the last 30 days if something is off, else null. */
export const recentSentence = (recent: Report | null): string | null =>
  recent === null || isCalm(recent) ? null : t.lately(verdictSentence(recent))

/** The subject of the verdict, in a few words. */
export function verdictNote({
  verdict: { subject, proven_by },
  overall: { gap_low, gap_high },
}: Report): string | null {
  const part = subject ?? proven_by
  if (part !== null) return partOf(part)
  return gap_low === null || gap_high === null ? null : inPoints({ low: gap_low, high: gap_high })
}

/** What one row of figures proves, in words. */
export function provenWords({ interpretation, gap_low, gap_high }: Overall): string {
  const proven = gap_low !== null && gap_high !== null && (gap_low > 0 || gap_high < 0)
  return proven || ['well_calibrated', 'insufficient_data'].includes(interpretation)
    ? words(interpretation)
    : t.notProven
}
