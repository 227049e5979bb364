/** Counters, gauges and histograms in the Prometheus text format. A series is looked up by its labels once, and then only counts. */

/** Labels as they are printed, such as `method="x",code="0"`; empty for none. Values must not need escaping. */
export type Labels = string

export interface Family<Series> {
  /** The series of these labels, made where there is none. */
  of(labels: Labels): Series
  /** The lines of the exposition, help and type first. */
  lines(): string[]
}

/** A series of a counter or a gauge. */
export interface Cell {
  value: number
}

export interface Distribution {
  observe(value: number): void
}

const head = (name: string, help: string, type: string): string[] => [
  `# HELP ${name} ${help}`,
  `# TYPE ${name} ${type}`,
]
const sample = (name: string, labels: Labels, value: number): string =>
  `${name}${labels === '' ? '' : `{${labels}}`} ${value}`

export function numbers(type: 'counter' | 'gauge', name: string, help: string): Family<Cell> {
  const cells = new Map<Labels, Cell>()
  return {
    of(labels) {
      const cell = cells.get(labels) ?? { value: 0 }
      cells.set(labels, cell)
      return cell
    },
    lines: () => [...head(name, help, type), ...[...cells].map(([labels, { value }]) => sample(name, labels, value))],
  }
}

/** @param bounds upper bounds of the buckets, ascending, each included */
export function histogram(name: string, help: string, bounds: readonly number[]): Family<Distribution> {
  const all = new Map<Labels, Distribution & { samples(): string[] }>()

  function make(labels: Labels) {
    // The last one counts what is above all bounds.
    const counts = new Float64Array(bounds.length + 1)
    let sum = 0
    return {
      observe(value: number) {
        let bucket = 0
        while (bucket < bounds.length && value > bounds[bucket]!) bucket++
        counts[bucket]!++
        sum += value
      },
      samples() {
        const more = labels === '' ? '' : `,${labels}`
        let below = 0
        const buckets = Array.from(counts, (count, at) => {
          below += count
          return sample(`${name}_bucket`, `le="${bounds[at] ?? '+Inf'}"${more}`, below)
        })
        return [...buckets, sample(`${name}_sum`, labels, sum), sample(`${name}_count`, labels, below)]
      },
    }
  }

  return {
    of(labels) {
      const one = all.get(labels) ?? make(labels)
      all.set(labels, one)
      return one
    },
    lines: () => [...head(name, help, 'histogram'), ...[...all.values()].flatMap((one) => one.samples())],
  }
}
