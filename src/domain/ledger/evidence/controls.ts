/** The rules engine: which controls the events of the chain support, and which they do not. It takes one walk and a few bytes per event. */
import type { ControlCondition, ControlRule } from '../../../../sdk/schema/control.ts'
import type { ClassCoverage } from '../../../../sdk/schema/evidence.ts'
import type { Evidence, EvidenceClass, EvidenceRecord } from '../../../../sdk/storage/evidence.ts'
import type { ControlSet } from './rules.ts'

const classes = ['observed', 'attested'] as const
const pageSize = 1_000

/** A rule with the framework of its control. */
export type PlacedRule = ControlRule & { framework: string }

interface CompiledRule {
  rule: PlacedRule
  tests: Test[]
}

/** The rules of a control for one type of event. If no mapping holds, the first shortfall that holds gives the reason. */
interface Control {
  mappings: CompiledRule[]
  shortfalls: CompiledRule[]
}

export interface ControlRules {
  sets: readonly ControlSet[]
  /** By class, then by type of the event. */
  controls: Record<EvidenceClass, ReadonlyMap<string, readonly Control[]>>
}

/** The type, class and rules that many events have in common. */
export interface Verdict {
  event_type: string
  evidence_class: EvidenceClass
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
  coverage: Record<EvidenceClass, ClassCoverage>
  insufficient_evidence_count: number
  /** Controls that attested events support and no observed event does, ascending. */
  attested_only_controls: string[]
}

/** Compiles the rules for the walk. */
export function compileControls(sets: readonly ControlSet[]): ControlRules {
  const byClass = { observed: new Map<string, Control[]>(), attested: new Map<string, Control[]>() }
  for (const set of sets) {
    const types = byClass[set.evidence_class]
    const found = new Map<string, Control>()
    for (const one of set.rules) {
      const rule = { ...one, framework: one.framework ?? set.framework }
      const { event_type, conditions } = rule.match
      const key = JSON.stringify([event_type, rule.framework, rule.function_id])
      let control = found.get(key)
      if (!control) {
        control = { mappings: [], shortfalls: [] }
        found.set(key, control)
        types.set(event_type, [...(types.get(event_type) ?? []), control])
      }
      const list = rule.insufficient_evidence ? control.shortfalls : control.mappings
      list.push({ rule, tests: conditions.map(compileCondition) })
    }
  }
  return { sets, controls: byClass }
}

/** Controls of one type of event, and the indexes of known verdicts by their bits. */
interface Plan {
  controls: readonly Control[]
  verdicts: Map<number, number>
}

function holds({ tests }: CompiledRule, payload: Payload): boolean {
  for (const test of tests) if (!test(payload)) return false
  return true
}

/** A damaged chain may hold any text. */
function parsePayload(text: string): Payload {
  try {
    const value: unknown = JSON.parse(text)
    return value !== null && typeof value === 'object' ? (value as Payload) : {}
  } catch {
    return {}
  }
}

/**
 * The rules that hold, as the bits of a number, with one bit per mapping and shortfall. A shortfall's bit is set only if no mapping of its
 * control holds and it is the first shortfall that does.
 */
function ruleBits(controls: readonly Control[], payload: Payload): number {
  let bits = 1
  for (const { mappings, shortfalls } of controls) {
    let mapped = false
    for (const one of mappings) {
      const held = holds(one, payload)
      bits = bits * 2 + (held ? 1 : 0)
      mapped ||= held
    }
    let open = !mapped
    for (const one of shortfalls) {
      const held = open && holds(one, payload)
      bits = bits * 2 + (held ? 1 : 0)
      if (held) open = false
    }
  }
  return bits
}

/** The rules behind the bits of {@link ruleBits}. */
function rulesOf(controls: readonly Control[], bits: number): Pick<Verdict, 'mappings' | 'shortfalls'> {
  const flags = bits.toString(2).slice(1)
  let at = 0
  const set = (rules: readonly CompiledRule[]) => rules.filter(() => flags[at++] === '1').map(({ rule }) => rule)
  const found = controls.map(({ mappings, shortfalls }) => [set(mappings), set(shortfalls)] as const)
  return { mappings: found.flatMap(([mapped]) => mapped), shortfalls: found.flatMap(([, short]) => short) }
}

const tally = () => ({ total: 0, mapped: 0, sources: new Map<string, number>(), controls: new Set<string>() })

/** Two decimals; only all events give 100, and only none give 0. */
function percent(part: number, total: number): number {
  if (part === 0 || part === total) return part === 0 ? 0 : 100
  return Math.min(99.99, Math.max(0.01, Math.round((10_000 * part) / total) / 100))
}

const byName = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

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
  const plans = { observed: new Map<string, Plan>(), attested: new Map<string, Plan>() }
  const tallies = { observed: tally(), attested: tally() }
  let insufficient_evidence_count = 0
  let count = 0

  const planOf = (evidence_class: EvidenceClass, event_type: string): Plan => {
    const known = plans[evidence_class].get(event_type)
    if (known) return known
    const plan = { controls: rules.controls[evidence_class].get(event_type) ?? [], verdicts: new Map<number, number>() }
    plans[evidence_class].set(event_type, plan)
    return plan
  }

  /** The index of the verdict; most events share a known one. */
  const verdictFor = ({ event_type, evidence_class }: EvidenceRecord, payload: Payload): number => {
    const { controls, verdicts: known } = planOf(evidence_class, event_type)
    const bits = ruleBits(controls, payload)
    const before = known.get(bits)
    if (before !== undefined) return before
    const verdict = { event_type, evidence_class, ...rulesOf(controls, bits) }
    verdicts.push(verdict)
    known.set(bits, verdicts.length - 1)
    for (const { function_id } of verdict.mappings) tallies[evidence_class].controls.add(function_id)
    return verdicts.length - 1
  }

  const take = (fact: EvidenceRecord): void => {
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

  for (let next = 1; next <= size; ) {
    const page = await evidence.read(next, Math.min(pageSize, size - next + 1))
    for (const fact of page) if (fact.seq <= size && classes.includes(fact.evidence_class)) take(fact)
    const last = page.at(-1)
    if (!last || last.seq < next) break
    next = last.seq + 1
    await yieldToEventLoop()
  }
  const coverageOf = ({ total, mapped, sources }: ReturnType<typeof tally>): ClassCoverage => ({
    total_events: total,
    mapped_events: mapped,
    unmapped_events: total - mapped,
    coverage_pct: percent(mapped, total),
    by_source: [...sources].sort(([a], [b]) => byName(a, b)).map(([source, events]) => ({ source, events })),
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
      .sort(byName),
  }
}

export type Payload = Record<string, unknown>
/** A compiled condition; it never throws, whatever the payload holds. */
export type Test = (payload: Payload) => boolean

/** The value of a field, own properties only; undefined if it is missing. */
function reader(field: string): (payload: Payload) => unknown {
  const steps = field.split('.')
  const [first] = steps
  if (steps.length === 1) return (payload) => (Object.hasOwn(payload, first!) ? payload[first!] : undefined)
  return (payload) =>
    steps.reduce<unknown>(
      (inner, step) =>
        inner !== null && typeof inner === 'object' && Object.hasOwn(inner, step)
          ? (inner as Payload)[step]
          : undefined,
      payload,
    )
}

const truthy = (value: unknown): boolean =>
  value === true || (typeof value === 'number' && value !== 0) || (typeof value === 'string' && value.trim() !== '')

function compileCondition(condition: ControlCondition): Test {
  const { field, equals, gt, lt, in: among, absent } = condition
  const read = reader(field)
  if (equals !== undefined) return (payload) => read(payload) === equals
  if (gt !== undefined)
    return (payload) => {
      const value = read(payload)
      return typeof value === 'number' && value > gt
    }
  if (lt !== undefined)
    return (payload) => {
      const value = read(payload)
      return typeof value === 'number' && value < lt
    }
  if (among !== undefined) {
    const values = new Set<unknown>(among)
    return (payload) => values.has(read(payload))
  }
  if (absent !== undefined) return (payload) => ((read(payload) ?? null) === null) === absent
  return (payload) => truthy(read(payload))
}
