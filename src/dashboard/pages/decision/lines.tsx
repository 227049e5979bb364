/** The lines between the cards of a graph: their paths, and how their kinds are told apart. */
import type { GetGraphResult } from '../../../../sdk/client.ts'
import { scaled } from '../../charts.tsx'
import type { Measures, Spot } from './layers.ts'

export type Edge = GetGraphResult['edges'][number]

/** The ends of lines by type of link: dashes and ends alone distinguish the types. */
const ends: Record<string, string> = { relates_to: '', contradicts: 'cross', blocks: 'bar' }
const endOf = (type: string): string => ends[type] ?? 'arrow'

/** At a font size of 16 px. Cards share the width; if they would get too small to read, they form an outline. */
const smallest = 150
const largest = 320
const card = { height: 64, across: 72, between: 14, margin: 4 }
/** Share of the room between two layers that is left free next to the last one, for lines around it. */
export const free = 0.35
const outline = { ...card, across: 22, margin: 14 }

export interface Drawn extends Measures {
  /** Around the whole graph. In an outline `width` is that of the centre's card, and all cards end at its right edge. */
  margin: number
  isOutline: boolean
}

export function measuresOf(room: number, layers: number): Drawn {
  const { least, most } = scaled({ least: smallest, most: largest })
  const { margin, ...sizes } = scaled(card)
  const width = (room - margin - (layers - 1 + free) * sizes.across) / layers
  if (width >= least) return { ...sizes, margin, width: Math.min(most, width), isOutline: false }
  const below = scaled(outline)
  return { ...below, width: Math.max(room - 3 * below.margin, least + (layers - 1) * below.across), isOutline: true }
}

/** A line around the right sides of two cards, from one to the other. */
function around(from: Spot, to: Spot, { width, height, margin, across, isOutline }: Drawn): string {
  const leave = from.y < to.y ? 0.8 : 0.2
  const [y1, y2] = [from.y + leave * height, to.y + (1 - leave) * height]
  const side = isOutline ? width : from.x + width
  const out = side + (isOutline ? 2 * margin : free * across)
  return `M${side} ${y1}C${out} ${y1} ${out} ${y2} ${side} ${y2}`
}

/** A line from one card to another: along the indent of an outline, or from side to side between two layers. */
export function pathOf(from: Spot, to: Spot, aside: number, isTree: boolean, measures: Drawn): string {
  const { width, height, isOutline } = measures
  if (from.x === to.x || (isOutline && !isTree)) return around(from, to, measures)
  const [y1, y2] = [from.y + height / 2 + aside, to.y + height / 2 + aside]
  if (isOutline) {
    const x = Math.min(from.x, to.x) + 10 + aside
    return from.x < to.x ? `M${x} ${from.y + height}V${y2}H${to.x}` : `M${from.x} ${y1}H${x}V${to.y + height}`
  }
  const [x1, x2] = from.x < to.x ? [from.x + width, to.x] : [from.x, to.x + width]
  const middle = (x1 + x2) / 2
  return `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`
}

/** Offsets of links, so that those between the same two decisions are side by side. */
export function asideOf(edges: readonly Edge[]): Map<Edge, number> {
  const pairs = Map.groupBy(edges, ({ source_id, target_id }) => [source_id, target_id].sort().join(' '))
  return new Map(
    [...pairs.values()].flatMap((those) => those.map((edge, at) => [edge, 9 * (at - (those.length - 1) / 2)] as const)),
  )
}

/** The ends in their own units: width and height, the point that touches the card, the drawn size, and the shape. */
const markers = [
  { id: 'arrow', box: [8, 8], touches: [7.5, 4], size: [10, 10], d: 'M0 0L8 4L0 8z' },
  { id: 'bar', box: [8, 12], touches: [6, 6], size: [10, 15], d: 'M6 0V12' },
  { id: 'cross', box: [12, 12], touches: [9, 6], size: [13, 13], d: 'M2 2L10 10M10 2L2 10' },
]

export const Ends = () => (
  <defs>
    {markers.map(({ id, box, touches, size, d }) => (
      <marker
        key={id}
        id={id}
        viewBox={`0 0 ${box.join(' ')}`}
        refX={touches[0]}
        refY={touches[1]}
        markerUnits="userSpaceOnUse"
        markerWidth={size[0]}
        markerHeight={size[1]}
        orient="auto"
      >
        <path class={id === 'arrow' ? '' : 'stroked'} d={d} />
      </marker>
    ))}
  </defs>
)

export const Line = ({ type, d, faint, lit }: { type: string; d: string; faint?: boolean; lit?: boolean }) => (
  <path
    class={`edge ${type} ${faint ? 'faint' : ''} ${lit ? 'lit' : ''}`}
    d={d}
    {...(endOf(type) && { 'marker-end': `url(#${endOf(type)})` })}
  />
)
