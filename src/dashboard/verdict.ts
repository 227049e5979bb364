/** The verdict on confidence in words: what is proven, of whom, and by how much. */
import type { GetCalibrationResult } from '../../sdk/client.ts'
import { words } from './figures.ts'
import { bothPeriods, inPoints, partWords } from './texts/points.ts'
import { texts } from './texts.ts'

const t = texts.verdict

type Verdict = GetCalibrationResult['verdict']
type Overall = GetCalibrationResult['overall']
export type Cell = GetCalibrationResult['cells'][number]

/** The decisions of a part, within those that the report is about: `of coder in deployment`. */
const partOf = (part: Verdict['subject'], within: Parameters<typeof partWords>[0] = {}): string => {
  if (part === null) return partWords(within)
  const values = part.by.includes('_') ? part.key.split(' / ') : [part.key]
  return partWords({ ...within, ...Object.fromEntries(part.by.split('_').map((name, at) => [name, values[at]])) })
}

/** How many of the five ranges of confidence are proven to be off. */
export const rangesOff = ({ recommendations }: Pick<GetCalibrationResult, 'recommendations'>): number =>
  recommendations.filter(({ type }) => type.endsWith('_range')).length

type Report = Pick<GetCalibrationResult, 'verdict' | 'overall' | 'recommendations'>

/** Something else than what is proven is the headline: an agent that one look finds overconfident. */
const isWatch = ({ subject, proven_by }: Verdict): boolean => subject !== null && proven_by?.key !== subject.key

const isOff = ({ interpretation }: Verdict): boolean =>
  !['insufficient_data', 'well_calibrated', 'uninformative'].includes(interpretation)

/** What is proven of all decisions is proven by the last 30 days. */
const isOnlyLate = ({ verdict, overall: { gap_low, gap_high } }: Report): boolean =>
  isOff(verdict) &&
  verdict.subject === null &&
  verdict.recent?.gap_low != null &&
  (gap_low ?? 0) <= 0 &&
  (gap_high ?? 0) >= 0

const interval = (low: number, high: number, n: number): string =>
  `${inPoints({ low, high })} (95 %, ${texts.amount.scoredDecision(n)})`

/** What the interval of the headline proves. */
function finding(report: Report): string {
  const { verdict, overall } = report
  const { interpretation, proven_by, recent } = verdict
  if (proven_by !== null && !isWatch(verdict))
    return t.proven(inPoints(proven_by), texts.amount.scoredDecision(proven_by.n), proven_by.period === 'recent')
  if (isWatch(verdict)) {
    const watched = t.watched(inPoints({ low: recent!.gap_low!, high: recent!.gap_high! }))
    return proven_by === null ? watched : `${watched} ${t.besides(partOf(proven_by), inPoints(proven_by))}`
  }
  const known = interval(overall.gap_low!, overall.gap_high!, overall.scored)
  if (interpretation === 'uninformative') return t.uninformative(known)
  if (isOnlyLate(report)) return t.lately(interval(recent!.gap_low!, recent!.gap_high!, recent!.scored))
  if (isOff(verdict)) return t.all(known)
  const off = rangesOff(report)
  if (off > 0) return t.noneButRanges(t.ranges(off), known)
  return interpretation === 'well_calibrated' ? t.none(known) : t.tooFew(known)
}

/**
 * The verdict in words, for every page: whom it is about with both periods and their numbers, then the interval.
 * @param within the decisions that the report is about
 */
export function verdictSentence(report: Report, within: Parameters<typeof partWords>[0] = {}): string {
  const { verdict, overall } = report
  if (overall.gap_low === null) return t.tooFewReviewed
  const of = t.of(partOf(verdict.subject, within))
  return `${of}: ${bothPeriods(verdict)}. ${finding(report)}`
}

/** The verdict in two words: never that all is well while a range is off, or the last 30 days are. */
export function verdictWords(report: Report): string {
  const { verdict } = report
  if (isWatch(verdict)) return t.toWatch
  if (isOnlyLate(report)) return `${words(verdict.interpretation)} lately`
  const isCalm = verdict.subject === null && !isOff(verdict) && verdict.interpretation !== 'uninformative'
  return isCalm && rangesOff(report) > 0 ? t.rangesOff : words(verdict.interpretation)
}

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
