/** The rules engine: which controls the events of the chain support, and which they do not. It takes one walk and a few bytes per event. */
import type { ControlCondition, ControlRule } from '../../../../sdk/schema/control.ts'
import type { ClassCoverage } from '../../../../sdk/schema/evidence.ts'
import type { Evidence, EvidenceRecord, ProvingClass } from '../../../../sdk/storage/evidence.ts'
import { compareText } from '../../../../sdk/storage/fields.ts'
import { recordPages } from './chain.ts'
import type { ControlSet } from './rules.ts'

/** An event of a class that supports controls: what the service inferred proves nothing. */
type Proof = EvidenceRecord & { evidence_class: ProvingClass }
const proves = (fact: EvidenceRecord): fact is Proof =>
  fact.evidence_class === 'observed' || fact.evidence_class === 'attested'

/** A rule with the framework of its control, and its number among all rules. */
export type PlacedRule = ControlRule & { framework: string; number: number }

/** The rules of a control for one type of event. If no mapping holds, the first shortfall that holds gives the reason. */
interface Control {
  mappings: PlacedRule[]
  shortfalls: PlacedRule[]
}

export interface ControlRules {
  sets: readonly ControlSet[]
  /** By class, then by type of the event. */
  controls: Record<ProvingClass, ReadonlyMap<string, readonly Control[]>>
}

/** The type, class and rules that many events have in common. */
export interface Verdict {
  event_type: string
  evidence_class: ProvingClass
  mappings: PlacedRule[]
  shortfalls: PlacedRule[]
}

/** The verdicts over a chain. The arrays have an element for each event, in the order of the chain. */
export interface Mapped {
  size: number
  seqs: Float64Array
  /** Index of each event's verdict. */
  verdictOf: Uint32Array
  /** NaN if the payload names no pull request. */
  prs: Float64Array
  verdicts: Verdict[]
  coverage: Record<ProvingClass, ClassCoverage>
  insufficient_evidence_count: number
  /** Controls that attested events support and no observed event does, ascending. */
  attested_only_controls: string[]
}

/** Groups the rules for the walk. */
export function compileControls(sets: readonly ControlSet[]): ControlRules {
  const controls = { observed: new Map<string, Control[]>(), attested: new Map<string, Control[]>() }
  let number = 0
  for (const { framework, evidence_class, rules } of sets) {
    const types = controls[evidence_class]
    const placed = rules.map(
      (rule): PlacedRule => ({
        ...rule,
        framework: rule.framework ?? framework,
        number: number++,
      }),
    )
    const keyOf = (rule: PlacedRule) => JSON.stringify([rule.match.event_type, rule.framework, rule.function_id])
    for (const ofControl of Map.groupBy(placed, keyOf).values()) {
      const { event_type } = ofControl[0]!.match
      const control = {
        mappings: ofControl.filter((rule) => !rule.insufficient_evidence),
        shortfalls: ofControl.filter((rule) => rule.insufficient_evidence),
      }
      types.set(event_type, [...(types.get(event_type) ?? []), control])
    }
  }
  return { sets, controls }
}

export type Payload = Record<string, unknown>

const isObject = (value: unknown): value is Payload => value !== null && typeof value === 'object'

/** A damaged chain may hold any text. */
function parsePayload(text: string): Payload {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}

const truthy = (value: unknown): boolean =>
  value === true || (typeof value === 'number' && value !== 0) || (typeof value === 'string' && value.trim() !== '')

/** The value at a path, by own properties only; undefined if there is none. */
function valueAt(level: unknown, path: string): unknown {
  const dot = path.indexOf('.')
  const step = dot < 0 ? path : path.slice(0, dot)
  const inner = isObject(level) && Object.hasOwn(level, step) ? level[step] : undefined
  return dot < 0 ? inner : valueAt(inner, path.slice(dot + 1))
}

/** Whether a payload meets a condition, whatever it holds. */
function meets({ field, equals, gt, lt, in: among, absent }: ControlCondition, payload: Payload): boolean {
  const value = valueAt(payload, field)
  if (equals !== undefined) return value === equals
  if (gt !== undefined) return typeof value === 'number' && value > gt
  if (lt !== undefined) return typeof value === 'number' && value < lt
  if (among !== undefined) return among.some((one) => one === value)
  if (absent !== undefined) return ((value ?? null) === null) === absent
  return truthy(value)
}

const holds = ({ match }: PlacedRule, payload: Payload): boolean =>
  match.conditions.every((condition) => meets(condition, payload))

/** The rules that hold for an event. */
function rulesFor(controls: readonly Control[], payload: Payload): Pick<Verdict, 'mappings' | 'shortfalls'> {
  const found: Pick<Verdict, 'mappings' | 'shortfalls'> = { mappings: [], shortfalls: [] }
  for (const { mappings, shortfalls } of controls) {
    const held = mappings.filter((rule) => holds(rule, payload))
    found.mappings.push(...held)
    const shortfall = held.length === 0 ? shortfalls.find((rule) => holds(rule, payload)) : undefined
    if (shortfall) found.shortfalls.push(shortfall)
  }
  return found
}

const tally = () => ({ total: 0, mapped: 0, sources: new Map<string, number>(), controls: new Set<string>() })

/** Two decimals; only all events give 100, and only none give 0. */
function percent(part: number, total: number): number {
  if (part === 0 || part === total) return part === 0 ? 0 : 100
  return Math.min(99.99, Math.max(0.01, Math.round((10_000 * part) / total) / 100))
}

/**
 * Walks the chain up to `size` records.
 * @param yieldToEventLoop yields to other work between pages
 * @param look called with each event
 */
export async function mapEvidence(
  evidence: Pick<Evidence, 'read'>,
  rules: ControlRules,
  size: number,
  yieldToEventLoop: () => Promise<void>,
  look: (fact: EvidenceRecord, payload: Payload) => void = () => {},
): Promise<Mapped> {
  const [seqs, verdictOf, prs] = [new Float64Array(size), new Uint32Array(size), new Float64Array(size)]
  const verdicts: Verdict[] = []
  /** Indexes of verdicts by class, type and rules: most events share a known one. */
  const indexes = new Map<string, number>()
  const tallies = { observed: tally(), attested: tally() }
  let insufficient_evidence_count = 0
  let count = 0

  const verdictFor = ({ event_type, evidence_class }: Proof, payload: Payload): number => {
    const { mappings, shortfalls } = rulesFor(rules.controls[evidence_class].get(event_type) ?? [], payload)
    const numbers = [...mappings, ...shortfalls].map((rule) => rule.number)
    const key = `${evidence_class} ${numbers.join()} ${event_type}`
    const known = indexes.get(key)
    if (known !== undefined) return known
    const index = verdicts.push({ event_type, evidence_class, mappings, shortfalls }) - 1
    indexes.set(key, index)
    for (const { function_id } of mappings) tallies[evidence_class].controls.add(function_id)
    return index
  }

  const take = (fact: Proof): void => {
    const payload = parsePayload(fact.payload)
    look(fact, payload)
    const index = verdictFor(fact, payload)
    const verdict = verdicts[index]!
    const { pr_number } = payload
    seqs[count] = fact.seq
    verdictOf[count] = index
    prs[count] = Number.isSafeInteger(pr_number) ? (pr_number as number) : Number.NaN
    count++
    const sums = tallies[fact.evidence_class]
    sums.total++
    if (verdict.mappings.length > 0) sums.mapped++
    sums.sources.set(fact.source, (sums.sources.get(fact.source) ?? 0) + 1)
    insufficient_evidence_count += verdict.shortfalls.length
  }

  for await (const page of recordPages(evidence, size)) {
    for (const fact of page) if (proves(fact)) take(fact)
    await yieldToEventLoop()
  }
  const coverageOf = ({ total, mapped, sources }: ReturnType<typeof tally>): ClassCoverage => ({
    total_events: total,
    mapped_events: mapped,
    unmapped_events: total - mapped,
    coverage_pct: percent(mapped, total),
    by_source: [...sources].sort(([a], [b]) => compareText(a, b)).map(([source, events]) => ({ source, events })),
  })
  return {
    size: count,
    seqs,
    verdictOf,
    prs,
    verdicts,
    coverage: { observed: coverageOf(tallies.observed), attested: coverageOf(tallies.attested) },
    insufficient_evidence_count,
    attested_only_controls: [...tallies.attested.controls]
      .filter((control) => !tallies.observed.controls.has(control))
      .sort(compareText),
  }
}
