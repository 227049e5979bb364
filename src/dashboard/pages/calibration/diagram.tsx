/** The reliability diagram, with its figures as a table. */
import type { GetCalibrationResult } from '../../../../sdk/client.ts'
import { Axis, linear, linePath, shares, useWidth } from '../../charts.tsx'
import { none, percent, whole } from '../../figures.ts'
import { texts } from '../../texts.ts'
import { ChartTable, term } from '../../ui.tsx'

const t = texts.diagram

type Bucket = GetCalibrationResult['buckets'][number]

export function Reliability({ buckets, floor }: { buckets: readonly Bucket[]; floor: number | null }) {
  const [box, room] = useWidth()
  const width = Math.min(room, 560)
  const height = Math.round(0.72 * width)
  const x = linear(1, [48, width - 10])
  const y = linear(1, [height - 40, 16])
  const most = Math.max(1, ...buckets.map(({ decisions }) => decisions))
  // The mean error that chance alone gives a perfectly calibrated agent.
  const edges = [0, floor ?? 0, 1 - (floor ?? 0), 1]
  const band = [
    ...edges.map((at): [number, number] => [x(at), y(Math.min(1, at + (floor ?? 0)))]),
    ...edges.toReversed().map((at): [number, number] => [x(at), y(Math.max(0, at - (floor ?? 0)))]),
  ]
  return (
    <figure ref={box}>
      <svg class="whole" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={t.name}>
        <Axis ticks={shares} from={x(0)} to={x(1)} y={y} write={percent} />
        {shares.map((tick) => (
          <text key={tick} x={x(tick)} y={height - 22} text-anchor={tick === 1 ? 'end' : 'middle'}>
            {percent(tick)}
          </text>
        ))}
        <text x={x(0.5)} y={height - 4} text-anchor="middle">
          {t.statedConfidence}
        </text>
        <text x={x(0) + 4} y={y(1) + 12}>
          {t.succeeded}
        </text>
        <path class="floor" d={`${linePath(band)}Z`} />
        <line class="ideal" x1={x(0)} y1={y(0)} x2={x(1)} y2={y(1)} />
        {buckets.map(({ range, predicted, actual, actual_low, actual_high, decisions }) =>
          predicted === null || actual === null ? null : (
            <g key={range} class="point">
              <title>{t.dot(range, percent(predicted), percent(actual), decisions)}</title>
              {actual_low !== null && actual_high !== null && (
                <line x1={x(predicted)} x2={x(predicted)} y1={y(actual_low)} y2={y(actual_high)} />
              )}
              <circle cx={x(predicted)} cy={y(actual)} r={4 + 6 * Math.sqrt(decisions / most)} />
            </g>
          ),
        )}
      </svg>
      <p class="quiet">{t.lead(term('wilson'), term('floor'))}</p>
      <ChartTable
        caption={t.caption}
        heads={[t.confidence, t.decisions, t.meanConfidence, t.succeededHead, '95 % interval']}
        rows={buckets.map(({ range, decisions, predicted, actual, actual_low, actual_high }) => [
          range,
          whole(decisions),
          percent(predicted, 1),
          percent(actual, 1),
          actual_low === null ? none : `${percent(actual_low, 1)} to ${percent(actual_high, 1)}`,
        ])}
      />
    </figure>
  )
}
