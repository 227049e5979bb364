/** The success rate by week: a line with its band, the weeks in which rules changed, and the unfinished week hatched. */
import type { GetBriefingResult } from '../../../../sdk/client.ts'
import { Axis, linear, linePath, scaled, shares, useWidth } from '../../charts.tsx'
import { none, percent, whole } from '../../figures.ts'
import { texts } from '../../texts.ts'
import { ChartTable, figures } from '../../ui.tsx'

const t = texts.today
const size = { height: 200, left: 48, right: 12, bottom: 26, top: 10, label: 90 }

export function Weeks({ weeks }: { weeks: GetBriefingResult['weeks'] }) {
  const [box, width] = useWidth()
  const { height, left, right, bottom, top, label } = scaled(size)
  const step = (width - left - right) / weeks.length
  const x = (at: number) => left + (at + 0.5) * step
  const y = linear(1, [height - bottom, top])
  const known = weeks.map((week, at) => ({ ...week, at })).filter(({ rate }) => rate !== null)
  const band = [
    ...known.map(({ at, high }): [number, number] => [x(at), y(high!)]),
    ...known.toReversed().map(({ at, low }): [number, number] => [x(at), y(low!)]),
  ]
  const every = Math.ceil(weeks.length / Math.max(1, Math.floor(width / label)))
  return (
    <figure ref={box}>
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={t.chart}>
        <defs>
          <pattern id="hatched" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
            <rect class="hatch" width="2" height="6" />
          </pattern>
        </defs>
        <Axis ticks={shares} from={left} to={width - right} y={y} write={percent} />
        {known.length > 1 && <path class="band" d={`${linePath(band)}Z`} />}
        {known.length > 1 && <path class="line recent" d={linePath(known.map(({ at, rate }) => [x(at), y(rate!)]))} />}
        {weeks.map(({ from, complete, rate, low, high, scored, rules_changed }, at) => (
          <g key={from}>
            <title>
              {`${from}: ${percent(rate)} of ${whole(scored)}${low === null ? '' : ` (${percent(low)}–${percent(high)})`}${complete ? '' : `, ${t.unfinished}`}${rules_changed ? `, ${t.rulesMark}` : ''}`}
            </title>
            <rect
              class="hit"
              style={complete ? undefined : { fill: 'url(#hatched)' }}
              x={left + at * step}
              width={step}
              y={top}
              height={height - bottom - top}
            />
            {rules_changed && <path class="mark" d={`M${left + at * step} ${top}V${height - bottom}`} />}
            {rate !== null && <circle class="dot" cx={x(at)} cy={y(rate)} r={4} />}
            {at % every === 0 && (
              <text x={x(at)} y={height - 8} text-anchor="middle">
                {from.slice(5)}
              </text>
            )}
          </g>
        ))}
      </svg>
      <ChartTable
        caption={t.chartCaption}
        heads={[t.week, figures(t.scored), figures(t.rateHead), figures(t.band), '']}
        rows={weeks.map(({ from, complete, scored, rate, low, high, rules_changed }) => [
          from,
          whole(scored),
          percent(rate),
          low === null ? none : `${percent(low)} to ${percent(high)}`,
          [complete ? '' : t.unfinished, rules_changed ? t.rulesMark : ''].filter(Boolean).join(', '),
        ])}
      />
    </figure>
  )
}
