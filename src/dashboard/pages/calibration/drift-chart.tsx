/** One figure of the last weeks beside that of the past, with the weeks marked in which it had drifted. */
import { scaleLinear } from 'd3-scale'
import { line } from 'd3-shape'
import type { CheckDriftResult } from '../../../../sdk/client.ts'
import { useWidth } from '../../charts.tsx'
import { pValue } from '../../figures.ts'

export type Point = CheckDriftResult['history'][number]
type Change = NonNullable<Point['accuracy']>

const size = { height: 220, left: 52, right: 10, bottom: 26, top: 14 }

/** Runs of weeks that have a figure: a line must not lead over weeks that have none. */
function runsOf(points: readonly (Change | null)[]): { at: number; of: Change }[][] {
  const runs: { at: number; of: Change }[][] = [[]]
  for (const [at, of] of points.entries()) {
    if (of) runs.at(-1)!.push({ at, of })
    else if (runs.at(-1)!.length > 0) runs.push([])
  }
  return runs.filter((run) => run.length > 0)
}

export function DriftChart({
  name,
  history,
  of,
  write,
}: {
  name: string
  history: readonly Point[]
  of: (point: Point) => Change | null
  write: (value: number) => string
}) {
  const [box, width] = useWidth()
  const { height, left, right, bottom, top } = size
  const changes = history.map(of)
  const values = changes.flatMap((change) => (change ? [change.recent, change.historical] : []))
  const y = scaleLinear([0, Math.max(0.05, ...values)], [height - bottom, top]).nice(4)
  const x = scaleLinear([0, Math.max(1, history.length - 1)], [left + 8, width - right])
  const every = Math.ceil(history.length / Math.max(2, Math.floor(width / 120)))
  const path = (part: 'recent' | 'historical') =>
    line<{ at: number; of: Change }>()
      .x((one) => x(one.at))
      .y((one) => y(one.of[part]))
  // Each week answers to the pointer over its whole height.
  const half = (x(1) - x(0)) / 2
  return (
    <figure ref={box}>
      <figcaption>{name}</figcaption>
      <svg
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={`${name} by week; the table below has the figures`}
      >
        {y.ticks(4).map((tick) => (
          <g key={tick} class="axis">
            <line x1={left} x2={width - right} y1={y(tick)} y2={y(tick)} />
            <text x={left - 6} y={y(tick)} dy="0.32em" text-anchor="end">
              {write(tick)}
            </text>
          </g>
        ))}
        {(['historical', 'recent'] as const).map((part) =>
          runsOf(changes).map((run) => (
            <path key={`${part} ${run[0]!.at}`} class={`line ${part}`} d={path(part)(run) ?? ''} />
          )),
        )}
        {history.map((point, at) => {
          const change = changes[at]
          const day = point.at.slice(0, 10)
          return (
            <g key={point.at}>
              <title>
                {change
                  ? `${day}: ${write(change.recent)} in the 30 days before (${point.recent_scored} scored), ${write(change.historical)} in the past (${point.historical_scored} scored), p ${pValue(change.p_value)}${point.drift_detected ? ', drift' : ''}`
                  : `${day}: too few reviewed decisions (${point.recent_scored} recent, ${point.historical_scored} of the past)`}
              </title>
              <rect class="hit" x={x(at) - half} width={2 * half} y={top} height={height - bottom - top} />
              {change && <circle class="dot" cx={x(at)} cy={y(change.recent)} r={3} />}
              {change && point.drift_detected && (
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
