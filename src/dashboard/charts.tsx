/** Charts that scale, with the same figures as text. */
import { scaleBand, scaleLinear } from 'd3-scale'
import type { RefObject } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { whole } from './figures.ts'
import { addressOf, go, type Query, To } from './route.tsx'
import { texts } from './texts.ts'
import { ChartTable, figures } from './ui.tsx'

const t = texts.charts

/** The width of an element, so that a chart fits it and its text keeps its size. */
export function useWidth(): [RefObject<HTMLElement | null>, number] {
  const box = useRef<HTMLElement>(null)
  const [width, setWidth] = useState(640)
  useLayoutEffect(() => {
    const look = () => setWidth(Math.max(240, box.current?.clientWidth ?? 0))
    look()
    const watch = new ResizeObserver(look)
    if (box.current) watch.observe(box.current)
    return () => watch.disconnect()
  }, [])
  return [box, width]
}

interface Part {
  name: string
  value: number
}

/** Bars with a name and a figure each, the first ten. */
export function Bars({
  rows,
  unit,
}: {
  rows: (Part & { to?: { path: string; query: Query }; text?: string })[]
  unit: string
}) {
  const most = Math.max(1, ...rows.map(({ value }) => value))
  const shown = rows.slice(0, 10)
  return (
    <>
      <ul class="bars">
        {shown.map(({ name, value, to, text }) => (
          <li key={name}>
            <span class="name">
              {to ? (
                <To path={to.path} query={to.query}>
                  {name}
                </To>
              ) : (
                name
              )}
            </span>
            <span class="track" aria-hidden="true">
              <span style={{ width: `${(100 * value) / most}%` }} />
            </span>
            <span class="value">
              {text ?? whole(value)}
              <span class="unseen"> {unit}</span>
            </span>
          </li>
        ))}
      </ul>
      {rows.length > shown.length && <p class="quiet">{texts.amount.more(rows.length - shown.length)}</p>}
    </>
  )
}

/** Parts of a whole in one bar. */
export function Stack({ parts, unit }: { parts: Part[]; unit: string }) {
  const total = parts.reduce((sum, { value }) => sum + value, 0)
  return (
    <>
      <div class="stack" aria-hidden="true">
        {parts
          .filter(({ value }) => value > 0)
          .map(({ name, value }) => (
            <span key={name} class={`fill ${name}`} style={{ flexGrow: String(value) }} />
          ))}
      </div>
      <ul class="legend">
        {parts.map(({ name, value }) => (
          <li key={name}>
            <span class={`swatch fill ${name}`} aria-hidden="true" />
            {name} <strong>{whole(value)}</strong>{' '}
            <span class="quiet">{total > 0 ? `${((100 * value) / total).toFixed(0)} %` : unit}</span>
          </li>
        ))}
      </ul>
    </>
  )
}

const size = { height: 220, left: 44, bottom: 26, top: 8, label: 110 }

/** Measures of a chart scaled by the font size, which grows on large screens. */
export function scaled<T extends Record<string, number>>(measures: T): T {
  const scale = Number.parseFloat(getComputedStyle(document.documentElement).fontSize) / 16
  return Object.fromEntries(Object.entries(measures).map(([name, value]) => [name, value * scale])) as T
}

/** Stacked columns over time. */
export function Columns({
  columns,
  unit,
  mark,
}: {
  columns: {
    name: string
    short: string
    parts: Part[]
    /** Target of a click; a link in the table. */
    to: { path: string; query: Query }
    /** Days that are marked. */
    marks: string[]
  }[]
  unit: string
  /** Meaning of a mark. */
  mark: string
}) {
  const totals = columns.map(({ parts }) => parts.reduce((sum, { value }) => sum + value, 0))
  const { height, left, bottom, top, label } = scaled(size)
  const [box, width] = useWidth()
  const y = scaleLinear([0, Math.max(1, ...totals)], [height - bottom, top]).nice(4)
  const x = scaleBand(
    columns.map(({ short }) => short),
    [left, width],
  ).padding(0.25)
  const every = Math.ceil(columns.length / Math.max(1, Math.floor(width / label)))
  const names = columns[0]?.parts.map(({ name }) => name) ?? []
  const isMarked = columns.some(({ marks }) => marks.length > 0)
  return (
    <figure ref={box}>
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={t.columns(unit)}>
        <defs>
          <pattern id="striped" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
            <rect class="fill failure" width="6" height="6" />
            <rect class="stripe" width="2" height="6" />
          </pattern>
        </defs>
        <Axis ticks={y.ticks(4).filter(Number.isInteger)} from={left} to={width} y={y} write={whole} />
        {columns.map(({ name, short, parts, to, marks }, at) => {
          let below = 0
          return (
            // biome-ignore lint/a11y/noStaticElementInteractions: a shortcut for the mouse to the link in the table
            <g key={short} class="opens" onClick={() => go(addressOf(to.path, to.query))}>
              <title>
                {`${name}: ${parts.map((part) => `${part.name} ${part.value}`).join(', ')}${marks.length > 0 ? `. ${mark}: ${marks.join(', ')}` : ''}`}
              </title>
              <rect
                class="hit"
                x={x(short)! - (x.step() - x.bandwidth()) / 2}
                width={x.step()}
                y={top}
                height={height - bottom - top}
              />
              {marks.length > 0 && (
                <path class="mark" d={`M${x(short)! - (x.step() - x.bandwidth()) / 2} ${top}V${height - bottom}`} />
              )}
              {parts.map((part) => {
                const start = below
                below += part.value
                return (
                  <rect
                    key={part.name}
                    class={`fill ${part.name}`}
                    x={x(short)}
                    width={x.bandwidth()}
                    y={y(below)}
                    height={y(start) - y(below)}
                  />
                )
              })}
              {at % every === 0 && (
                <text class="axis" x={x(short)! + x.bandwidth() / 2} y={height - 8} text-anchor="middle">
                  {short}
                </text>
              )}
            </g>
          )
        })}
      </svg>
      <ul class="legend" aria-hidden="true">
        {names.map((name) => (
          <li key={name}>
            <span class={`swatch fill ${name}`} />
            {name}
          </li>
        ))}
        {isMarked && (
          <li>
            <span class="swatch changed" />
            {mark}
          </li>
        )}
      </ul>
      <ChartTable
        caption={t.caption(unit)}
        heads={[t.days, ...names.map((name) => figures(name)), ...(isMarked ? [mark] : [])]}
        rows={columns.map(({ name, parts, to, marks }) => [
          <To path={to.path} query={to.query}>
            {name}
          </To>,
          ...parts.map(({ value }) => whole(value)),
          ...(isMarked ? [marks.join(', ')] : []),
        ])}
      />
    </figure>
  )
}

/** Horizontal lines at the ticks of a scale, each with its value. */
export const Axis = ({
  ticks,
  from,
  to,
  y,
  write,
}: {
  ticks: readonly number[]
  from: number
  to: number
  y: (tick: number) => number
  write: (tick: number) => string
}) =>
  ticks.map((tick) => (
    <g key={tick} class="axis">
      <line x1={from} x2={to} y1={y(tick)} y2={y(tick)} />
      <text x={from - 6} y={y(tick)} dy="0.32em" text-anchor="end">
        {write(tick)}
      </text>
    </g>
  ))

/** The path of a line through these points. */
export const linePath = (points: readonly (readonly [x: number, y: number])[]): string => `M${points.join('L')}`
