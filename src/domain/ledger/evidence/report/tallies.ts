/** Totals of a mapping by control, by reason and by type. Event numbers are kept as ranges, so that the lists of long chains stay short. */
import type { ProvingClass } from '../../../../../sdk/storage/evidence.ts'
import type { ControlRules, Mapped, PlacedRule } from '../controls.ts'

/** Most ranges that are listed; the rest are counted. */
const maxRanges = 24

/** A set of numbers, added in ascending order. */
export interface Ranges {
  add(value: number): void
  count(): number
  text(): string
}

export function openRanges(): Ranges {
  const listed: [first: number, last: number][] = []
  let count = 0
  let unlisted = 0
  return {
    add(value) {
      const last = listed.at(-1)
      if (last && unlisted === 0 && value === last[1]) return
      count++
      if (last && unlisted === 0 && value === last[1] + 1) last[1] = value
      else if (listed.length < maxRanges) listed.push([value, value])
      else unlisted++
    },
    count: () => count,
    text() {
      const parts = listed.map(([first, last]) => (first === last ? `${first}` : `${first}–${last}`))
      return parts.join(', ') + (unlisted > 0 ? ` and ${unlisted} more` : '')
    },
  }
}

export interface ControlTally {
  framework: string
  stage: string
  function_id: string
  control_name: string
  mapped: Record<ProvingClass, number>
  insufficient: number
  attested_only: boolean
}

/** What one rule found. */
export interface RuleTally {
  rule_id: string
  framework: string
  function_id: string
  control_name: string
  evidence_class: ProvingClass
  /** What a match shows, or why it falls short. */
  text: string
  events: Ranges
}

interface TypeTally {
  event_type: string
  evidence_class: ProvingClass
  total: number
  unmapped: Ranges
}

export interface Tallies {
  /** Every control of the rules, including those without events, in the order of the rules. */
  controls: ControlTally[]
  reasons: RuleTally[]
  /** Rules that map events. */
  mappings: RuleTally[]
  types: TypeTally[]
}

export function tallies(mapped: Mapped, { sets }: ControlRules): Tallies {
  const controls = new Map<string, ControlTally>()
  const reasons = new Map<string, RuleTally>()
  const mapped_by = new Map<string, RuleTally>()
  const types = new Map<string, TypeTally>()
  for (const set of sets)
    for (const { function_id, stage, control_name, framework = set.framework } of set.rules)
      if (!controls.has(function_id))
        controls.set(function_id, {
          ...{ framework, stage, function_id, control_name },
          mapped: { observed: 0, attested: 0 },
          insufficient: 0,
          attested_only: mapped.attested_only_controls.includes(function_id),
        })
  const places = mapped.verdicts.map(({ event_type, evidence_class, mappings, shortfalls }) => {
    const key = `${evidence_class} ${event_type}`
    const type = types.get(key) ?? { event_type, evidence_class, total: 0, unmapped: openRanges() }
    types.set(key, type)
    const of = (all: Map<string, RuleTally>, rules: readonly PlacedRule[]) =>
      rules.map(({ id: rule_id, framework, function_id, control_name, reason, description }) => {
        const text = reason ?? description ?? ''
        const named = { rule_id, framework, function_id, control_name, evidence_class }
        const found = all.get(rule_id) ?? { ...named, text, events: openRanges() }
        all.set(rule_id, found)
        return found
      })
    return { type, short: of(reasons, shortfalls), held: of(mapped_by, mappings), evidence_class }
  })
  for (let at = 0; at < mapped.size; at++) {
    const { type, short, held, evidence_class } = places[mapped.verdictOf[at]!]!
    const seq = mapped.seqs[at]!
    type.total++
    if (held.length === 0) type.unmapped.add(seq)
    for (const one of held) {
      one.events.add(seq)
      controls.get(one.function_id)!.mapped[evidence_class]++
    }
    for (const one of short) {
      one.events.add(seq)
      controls.get(one.function_id)!.insufficient++
    }
  }
  const order = [...controls.keys()]
  const inOrder = (all: Map<string, RuleTally>) =>
    [...all.values()].sort((a, b) => order.indexOf(a.function_id) - order.indexOf(b.function_id))
  return {
    controls: [...controls.values()],
    reasons: inOrder(reasons),
    mappings: inOrder(mapped_by),
    types: [...types.values()],
  }
}
