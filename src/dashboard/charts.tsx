/** Charts that scale, with the same figures as text. */
import type { RefObject } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { whole } from './figures.ts'
import { type Query, To } from './route.tsx'
import { texts } from './texts.ts'

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

/** Measures of a chart scaled by the font size, which grows on large screens. */
export function scaled<T extends Record<string, number>>(measures: T): T {
  const scale = Number.parseFloat(getComputedStyle(document.documentElement).fontSize) / 16
  return Object.fromEntries(Object.entries(measures).map(([name, value]) => [name, value * scale])) as T
}

/** From a value between 0 and `most` to its place between two. */
export const linear =
  (most: number, [from, to]: readonly [number, number]) =>
  (value: number): number =>
    from + (value / most) * (to - from)

/** The ticks of a share. */
export const shares = [0, 0.25, 0.5, 0.75, 1]

/** Round ticks from 0 to a value or just beyond it, five at most. */
export function ticksTo(most: number): number[] {
  const unit = 10 ** Math.floor(Math.log10(most / 4))
  const step = unit * [1, 2, 5, 10].find((times) => times * unit * 4 >= most)!
  return Array.from({ length: Math.ceil(most / step) + 1 }, (_, at) => at * step)
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
