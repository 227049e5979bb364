/** Shapes in which mappings leave the program, in answers and in bundles. */
import * as v from 'valibot'
import { canonical } from './canonical.ts'
import type { Mapped, PlacedRule, Verdict } from './controls.ts'

const d = v.description

const EvidenceClass = v.pipe(
  v.picklist(['observed', 'attested']),
  d('`observed` by a third party, or `attested` by an agent of itself.'),
)
const Pr = v.pipe(v.nullable(v.number()), d('Pull request that the payload names.'))
const Seq = v.pipe(v.number(), d('Number of the event in the chain.'))
const EventType = v.pipe(v.string(), d('Type of the event.'))
const Framework = v.pipe(v.string(), d('Framework of the control.'))
const FunctionId = v.pipe(v.string(), d('Identifier of the control.'))
const ControlName = v.pipe(v.string(), d('Name of the control.'))

export const Mapping = v.object({
  seq: Seq,
  event_type: EventType,
  pr_number: Pr,
  rule_id: v.pipe(v.string(), d('The rule that made the mapping.')),
  framework: Framework,
  stage: v.pipe(v.string(), d('Part of the framework that the control belongs to.')),
  function_id: FunctionId,
  control_name: ControlName,
  evidence_class: EvidenceClass,
  type: v.pipe(v.literal('mapping'), d('Kind of the entry.')),
})

export const Shortfall = v.object({
  seq: Seq,
  pr_number: Pr,
  framework: Framework,
  function_id: FunctionId,
  control_name: ControlName,
  evidence_class: EvidenceClass,
  type: v.pipe(v.literal('INSUFFICIENT_EVIDENCE'), d('Kind of the entry.')),
  reason: v.pipe(v.string(), d('Why the event does not support the control, in plain language.')),
})

export const Unmapped = v.object({ seq: Seq, event_type: EventType, pr_number: Pr, evidence_class: EvidenceClass })

const ClassCoverage = v.object({
  total_events: v.pipe(v.number(), d('Events of the class.')),
  mapped_events: v.pipe(v.number(), d('Events that speak for at least one control.')),
  unmapped_events: v.pipe(v.number(), d('The others.')),
  coverage_pct: v.pipe(
    v.number(),
    d('Mapped events of all events of the class, 0 to 100 with two decimals; 0 where there are none.'),
  ),
  by_source: v.pipe(
    v.array(
      v.object({
        source: v.pipe(v.string(), d('Who reported them.')),
        events: v.pipe(v.number(), d('How many events.')),
      }),
    ),
    d('Events by source, ascending by name.'),
  ),
})

export const Coverage = v.pipe(
  v.object({
    observed: v.pipe(ClassCoverage, d('Events that third parties reported.')),
    attested: v.pipe(ClassCoverage, d('Records that agents made about themselves.')),
  }),
  d('By class of evidence; the two are never added up.'),
)

// The lists of a mapping as canonical JSON, written piece by piece: a chain of a million events is never one text.

/** Characters after which a piece goes out. */
const pieceLength = 65_536

/** Text around the two values that differ from event to event; keys stand in canonical order. */
type Template = (pr: string, seq: number) => string

const quoted = JSON.stringify

function mapping({ event_type, evidence_class }: Verdict, rule: PlacedRule): Template {
  const { control_name, framework, function_id, id, stage } = rule
  const before = `{"control_name":${quoted(control_name)},"event_type":${quoted(event_type)},"evidence_class":"${evidence_class}","framework":${quoted(framework)},"function_id":${quoted(function_id)},"pr_number":`
  const middle = `,"rule_id":${quoted(id)},"seq":`
  const after = `,"stage":${quoted(stage)},"type":"mapping"}`
  return (pr, seq) => before + pr + middle + seq + after
}

function shortfall({ evidence_class }: Verdict, rule: PlacedRule): Template {
  const { control_name, framework, function_id, reason } = rule
  const before = `{"control_name":${quoted(control_name)},"evidence_class":"${evidence_class}","framework":${quoted(framework)},"function_id":${quoted(function_id)},"pr_number":`
  const middle = `,"reason":${quoted(reason)},"seq":`
  return (pr, seq) => `${before + pr + middle + seq},"type":"INSUFFICIENT_EVIDENCE"}`
}

function unmapped({ event_type, evidence_class }: Verdict): Template {
  const before = `{"event_type":${quoted(event_type)},"evidence_class":"${evidence_class}","pr_number":`
  return (pr, seq) => `${before + pr},"seq":${seq}}`
}

const templates = {
  mappings: (verdict: Verdict) => verdict.mappings.map((rule) => mapping(verdict, rule)),
  insufficient_evidence: (verdict: Verdict) => verdict.shortfalls.map((rule) => shortfall(verdict, rule)),
  unmapped: (verdict: Verdict) => (verdict.mappings.length === 0 ? [unmapped(verdict)] : []),
}
export type MappedList = keyof typeof templates

/** One of the lists, brackets included. */
export function* listText(mapped: Mapped, list: MappedList): Generator<string> {
  const { size, seqs, prs, verdictOf, verdicts } = mapped
  const made = verdicts.map(templates[list])
  let piece = '['
  let first = true
  for (let at = 0; at < size; at++) {
    const entries = made[verdictOf[at]!]!
    if (entries.length === 0) continue
    const number = prs[at]!
    const pr = Number.isNaN(number) ? 'null' : String(number)
    for (const entry of entries) {
      piece += first ? entry(pr, seqs[at]!) : `,${entry(pr, seqs[at]!)}`
      first = false
    }
    if (piece.length >= pieceLength) {
      yield piece
      piece = ''
    }
  }
  yield `${piece}]`
}

/** The whole result of `cstp.mapControls`. */
export function* mappedText(mapped: Mapped): Generator<string> {
  const { attested_only_controls, coverage, insufficient_evidence_count } = mapped
  yield `{"attested_only_controls":${canonical(attested_only_controls)},"coverage":${canonical(coverage)},"insufficient_evidence":`
  yield* listText(mapped, 'insufficient_evidence')
  yield `,"insufficient_evidence_count":${insufficient_evidence_count},"mappings":`
  yield* listText(mapped, 'mappings')
  yield ',"unmapped":'
  yield* listText(mapped, 'unmapped')
  yield '}'
}
