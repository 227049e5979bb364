/** Drift: whether the last thirty days are worse than the time before, and how likely that is chance. */
import type { CheckDriftResult } from '../../../../sdk/client.ts'
import { Show, useCall } from '../../call.tsx'
import { Axis, linear, linePath, scaled, ticksTo, useWidth } from '../../charts.tsx'
import { Csv } from '../../csv.tsx'
import { decimal, none, percent, pValue, whole } from '../../figures.ts'
import { service } from '../../service.ts'
import { texts } from '../../texts.ts'
import { Badge, ChartTable, figures, Table } from '../../ui.tsx'
import { Breakdown } from './breakdown.tsx'

const t = texts.drift

const names = { brier_degradation: t.brierScoreRose, accuracy_drop: t.accuracyFell }

/** Half a year, up to now. */
const weeks = 27

async function load(of: { agent?: string; category?: string }, signal: AbortSignal) {
  const [drift, ...reports] = await Promise.all([
    service.checkDrift({ ...of, history_points: weeks }, { signal }),
    ...texts.periods.map(([window]) => service.getCalibration({ ...of, window }, { signal })),
  ])
  return { drift, rows: reports.map(({ overall }, at) => ({ name: texts.periods[at]![1], overall })) }
}

export function Drift({ of }: { of: { agent?: string; category?: string } }) {
  const loaded = useCall(JSON.stringify(of), (signal) => load(of, signal))
  return (
    <Show of={loaded}>
      {({ drift, rows }) => (
        <>
          <p>
            {drift.drift_detected
              ? t.found
              : drift.history.at(-1)?.brier_score === null
                ? t.unknown
                : drift.alerts.length > 0
                  ? t.watch
                  : t.notFound}
            {t.compared(
              drift.recent_period,
              texts.amount.scoredDecision(drift.recent_scored),
              drift.historical_period,
              texts.amount.scoredDecision(drift.historical_scored),
            )}
          </p>
          {drift.alerts.length > 0 && (
            <Table
              caption={t.alerts}
              heads={[t.alert, figures(t.before), figures(t.now), figures(t.pValue, 'pvalue'), t.severity]}
              rows={drift.alerts.map(({ type, historical_value, recent_value, p_value, severity }) => [
                names[type],
                ...[historical_value, recent_value].map((value) =>
                  type === 'accuracy_drop' ? percent(value, 1) : decimal(value),
                ),
                pValue(p_value).replace('= ', ''),
                <Badge of={texts.severities[severity]} />,
              ])}
            />
          )}
          {drift.recommendations.map((one) => (
            <p key={one}>{one}</p>
          ))}
          <DriftHistory history={drift.history} />
          <Breakdown first={t.period} rows={rows} />
        </>
      )}
    </Show>
  )
}

const driftHeads = [
  t.day,
  t.drift,
  figures(t.scored),
  ...[t.brierNow, t.accuracyNow].flatMap((name) => [figures(name), figures('before'), figures(t.pValue, 'pvalue')]),
]

const fields = [
  'at',
  'drift_detected',
  'recent_scored',
  'historical_scored',
  ...(['brier_score', 'accuracy'] as const).flatMap((name) =>
    (['recent', 'historical', 'p_value'] as const).map(
      (part) => [`${name}_${part}`, (point: Point) => point[name]?.[part]] as const,
    ),
  ),
] as const

/** Summary of the weeks in a sentence. */
function summary(history: readonly Point[]): string {
  const comparable = history.filter(({ brier_score }) => brier_score !== null)
  if (comparable.length === 0) return t.neverComparable
  const drifted = comparable.filter(({ drift_detected }) => drift_detected)
  const seen = t.comparable(texts.amount.week(comparable.length), whole(history.length))
  if (drifted.length === 0) return t.foundInNone(seen)
  const first = drifted[0]!.at.slice(0, 10)
  return t.foundIn(seen, texts.amount.week(drifted.length), first)
}

function DriftHistory({ history }: { history: readonly Point[] }) {
  return (
    <>
      <h3>{t.weekByWeek}</h3>
      <p>{summary(history)}</p>
      {history.some(({ brier_score }) => brier_score !== null) && (
        <>
          <div class="sides">
            <DriftChart name={t.brierScore} history={history} of="brier_score" write={(value) => decimal(value, 2)} />
            <DriftChart name={t.accuracy} history={history} of="accuracy" write={(value) => percent(value)} />
          </div>
          <ul class="legend" aria-hidden="true">
            {Object.entries(t.lines).map(([kind, name]) => (
              <li key={kind}>
                <span class={`swatch ${kind}`} />
                {name}
              </li>
            ))}
          </ul>
        </>
      )}
      <ChartTable
        caption={t.driftByWeek}
        heads={driftHeads}
        rows={history
          .toReversed()
          .map(({ at, drift_detected, recent_scored, historical_scored, brier_score, accuracy }) => [
            at.slice(0, 10),
            brier_score === null ? t.tooFew : drift_detected ? 'found' : 'no',
            `${whole(recent_scored)} and ${whole(historical_scored)}`,
            decimal(brier_score?.recent),
            decimal(brier_score?.historical),
            brier_score ? pValue(brier_score.p_value) : none,
            percent(accuracy?.recent, 1),
            percent(accuracy?.historical, 1),
            accuracy ? pValue(accuracy.p_value) : none,
          ])}
      />
      <Csv name="drift-by-week" fields={fields} rows={() => history} />
    </>
  )
}

type Point = CheckDriftResult['history'][number]
type Change = NonNullable<Point['accuracy']>

/** Whether drift was found, and this figure got worse by more than chance explains. */
const hasWorsened = (point: Point, { p_value }: Change): boolean => point.drift_detected && p_value <= 0.05

const size = { height: 220, left: 52, right: 10, bottom: 26, top: 14, label: 130 }

/** Runs of weeks that have a figure: a line must not cross weeks that have none. */
function runsOf(points: readonly (Change | null)[]): { at: number; of: Change }[][] {
  const runs: { at: number; of: Change }[][] = [[]]
  for (const [at, of] of points.entries()) {
    if (of) runs.at(-1)!.push({ at, of })
    else if (runs.at(-1)!.length > 0) runs.push([])
  }
  return runs.filter((run) => run.length > 0)
}

/** A figure of each week next to that of the time before it; weeks in which drift was found are marked. */
function DriftChart({
  name,
  history,
  of,
  write,
}: {
  name: string
  history: readonly Point[]
  of: 'brier_score' | 'accuracy'
  write: (value: number) => string
}) {
  const [box, width] = useWidth()
  const { height, left, right, bottom, top, label } = scaled(size)
  const changes = history.map((point) => point[of])
  const values = changes.flatMap((change) => (change ? [change.recent, change.historical] : []))
  const ticks = ticksTo(Math.max(0.05, ...values))
  const y = linear(ticks.at(-1)!, [height - bottom, top])
  const x = linear(Math.max(1, history.length - 1), [left + 8, width - right])
  const every = Math.ceil(history.length / Math.max(2, Math.floor(width / label)))
  // The tooltip of a week covers its whole height.
  const half = (x(1) - x(0)) / 2
  return (
    <figure ref={box}>
      <figcaption>{name}</figcaption>
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={t.chart(name)}>
        <Axis ticks={ticks} from={left} to={width - right} y={y} write={write} />
        {(['historical', 'recent'] as const).map((part) =>
          runsOf(changes).map((run) => (
            <path
              key={`${part} ${run[0]!.at}`}
              class={`line ${part}`}
              d={linePath(run.map((one) => [x(one.at), y(one.of[part])]))}
            />
          )),
        )}
        {history.map((point, at) => {
          const change = changes[at]
          const day = point.at.slice(0, 10)
          return (
            <g key={point.at}>
              <title>
                {change
                  ? t.week(
                      day,
                      write(change.recent),
                      point.recent_scored,
                      write(change.historical),
                      point.historical_scored,
                      pValue(change.p_value),
                      hasWorsened(point, change) ? ', drift' : '',
                    )
                  : t.weekTooFew(day, point.recent_scored, point.historical_scored)}
              </title>
              <rect class="hit" x={x(at) - half} width={2 * half} y={top} height={height - bottom - top} />
              {change && <circle class="dot" cx={x(at)} cy={y(change.recent)} r={3} />}
              {change && hasWorsened(point, change) && (
                <path class="drifted" d={`M${x(at)} ${y(change.recent) - 8}l8 8l-8 8l-8 -8z`} />
              )}
              {at % every === 0 && (
                <text x={x(at)} y={height - 8} text-anchor={at === 0 ? 'start' : 'middle'}>
                  {day}
                </text>
              )}
            </g>
          )
        })}
      </svg>
    </figure>
  )
}
