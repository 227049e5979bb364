/** The lists of a mapping as canonical JSON, written piece by piece: a chain of a million events is never one text. */
import { canonical } from './canonical.ts'
import type { Mapped, PlacedRule, Verdict } from './controls.ts'

/** Characters after which a piece goes out. */
const pieceLength = 65_536

/** The text around the two values that differ from event to event; its keys are in canonical order. */
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
type MappedList = keyof typeof templates

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
