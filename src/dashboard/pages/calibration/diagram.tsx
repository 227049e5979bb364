/** The reliability diagram and the histogram of confidence, each with its figures as a table. */
import { scaleLinear } from 'd3-scale'
import { area } from 'd3-shape'
import type { GetCalibrationResult } from '../../../../sdk/client.ts'
import { useWidth } from '../../charts.tsx'
import { percent, whole } from '../../figures.ts'
import { Term } from '../../ui.tsx'

type Bucket = GetCalibrationResult['buckets'][number]

const ticks = [0, 0.25, 0.5, 0.75, 1]

export function Reliability({ buckets, floor }: { buckets: readonly Bucket[]; floor: number | null }) {
  const [box, room] = useWidth()
  const width = Math.min(room, 560)
  const height = Math.round(0.72 * width)
  const x = scaleLinear([0, 1], [48, width - 10])
  const y = scaleLinear([0, 1], [height - 40, 16])
  const most = Math.max(1, ...buckets.map(({ decisions }) => decisions))
  // What chance alone makes of a perfect agent lies in this band on average.
  const band = area<number>()
    .x((at) => x(at))
    .y0((at) => y(Math.max(0, at - (floor ?? 0))))
    .y1((at) => y(Math.min(1, at + (floor ?? 0))))
  const edges = [0, floor ?? 0, 1 - (floor ?? 0), 1]
  return (
    <figure ref={box}>
      <svg
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label="Reliability diagram; the table below has the figures"
      >
        {ticks.map((tick) => (
          <g key={tick} class="axis">
            <line x1={x(0)} x2={x(1)} y1={y(tick)} y2={y(tick)} />
            <text x={x(0) - 6} y={y(tick)} dy="0.32em" text-anchor="end">
              {percent(tick)}
            </text>
            <text x={x(tick)} y={height - 22} text-anchor={tick === 1 ? 'end' : 'middle'}>
              {percent(tick)}
            </text>
          </g>
        ))}
        <text x={x(0.5)} y={height - 4} text-anchor="middle">
          stated confidence
        </text>
        <text x={x(0) + 4} y={y(1) + 12}>
          came true
        </text>
        <path class="floor" d={band(edges) ?? ''} />
        <line class="ideal" x1={x(0)} y1={y(0)} x2={x(1)} y2={y(1)} />
        {buckets.map(({ range, predicted, actual, actual_low, actual_high, decisions }) =>
          predicted === null || actual === null ? null : (
            <g key={range} class="point">
              <title>{`${range}: said ${percent(predicted)}, came true ${percent(actual)}, ${decisions} decisions`}</title>
              {actual_low !== null && actual_high !== null && (
                <line x1={x(predicted)} x2={x(predicted)} y1={y(actual_low)} y2={y(actual_high)} />
              )}
              <circle cx={x(predicted)} cy={y(actual)} r={4 + 6 * Math.sqrt(decisions / most)} />
            </g>
          ),
        )}
      </svg>
      <p class="quiet">
        Dots grow with the number of decisions. Upright lines: <Term name="wilson">95 % interval</Term>. Grey band:{' '}
        <Term name="floor">noise floor</Term>.
      </p>
      <details>
        <summary>Show as a table</summary>
        <div class="scroll" tabIndex={0} role="region" aria-label="Reliability by confidence">
          <table class="dense">
            <caption class="unseen">Reliability by confidence</caption>
            <thead>
              <tr>
                {['Confidence', 'Decisions', 'Said', 'Came true', '95 % interval'].map((name) => (
                  <th key={name} scope="col">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {buckets.map(({ range, decisions, predicted, actual, actual_low, actual_high }) => (
                <tr key={range}>
                  <th scope="row">{range}</th>
                  <td>{whole(decisions)}</td>
                  <td>{percent(predicted, 1)}</td>
                  <td>{percent(actual, 1)}</td>
                  <td>{actual_low === null ? '–' : `${percent(actual_low, 1)} to ${percent(actual_high, 1)}`}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    </figure>
  )
}

export function Histogram({ counts }: { counts: readonly number[] }) {
  const most = Math.max(1, ...counts)
  return (
    <ul class="bars">
      {counts.map((count, at) => {
        const name = `${at * 10} to ${(at + 1) * 10} %`
        return (
          <li key={name}>
            <span class="name">{name}</span>
            <span class="track" aria-hidden="true">
              <span style={{ width: `${(100 * count) / most}%` }} />
            </span>
            <span class="value">
              {whole(count)}
              <span class="unseen"> decisions</span>
            </span>
          </li>
        )
      })}
    </ul>
  )
}
