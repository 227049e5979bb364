/** The lists of a mapping as canonical JSON, written piece by piece: the text of a million events is never one string. */
import { canonical } from '../../../core/canonical.ts'
import type { Mapped, PlacedRule, Verdict } from './controls.ts'

/** Characters after which a piece is yielded. */
const pieceLength = 65_536
/** Bytes reserved for the names of the members and the envelope of the answer. */
const namesBytes = 65_536

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

/** Events by index in the chain, from `start` up to but not including `end`. */
interface Page {
  start: number
  end: number
}

const digitsOf = (value: number): string => (Number.isNaN(value) ? 'null' : String(value))

/** As many events from a number on as have entries of at most `most` bytes together; at least one, so that paging ends. */
function pageOf({ size, seqs, prs, verdictOf, verdicts }: Mapped, seq_from: number, most: number): Page {
  const costs = verdicts.map((verdict) => {
    const entries = Object.values(templates).flatMap((entriesOf) => entriesOf(verdict))
    const fixed = entries.reduce((sum, entry) => sum + Buffer.byteLength(entry('', 0)), 0)
    return { fixed, entries: entries.length }
  })
  const found = seqs.subarray(0, size).findIndex((seq) => seq >= seq_from)
  const start = found === -1 ? size : found
  let left = most
  for (let at = start; at < size; at++) {
    const { fixed, entries } = costs[verdictOf[at]!]!
    left -= fixed + entries * (digitsOf(prs[at]!).length + String(seqs[at]).length)
    if (left < 0 && at > start) return { start, end: at }
  }
  return { start, end: size }
}

/** One of the lists, including its brackets. */
export function* listText(
  mapped: Mapped,
  list: MappedList,
  { start, end }: Page = { start: 0, end: mapped.size },
): Generator<string> {
  const { seqs, prs, verdictOf, verdicts } = mapped
  const made = verdicts.map(templates[list])
  let piece = '['
  let first = true
  for (let at = start; at < end; at++) {
    const entries = made[verdictOf[at]!]!
    if (entries.length === 0) continue
    const pr = digitsOf(prs[at]!)
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

/** The result of `cstp.mapControls`: figures of all events, and the lists of a page of them. @param max_bytes limit of the whole text */
export function* mappedText(mapped: Mapped, { seq_from = 1, max_bytes = Infinity } = {}): Generator<string> {
  const { attested_only_controls, coverage, insufficient_evidence_count, size, seqs } = mapped
  const head = `{"attested_only_controls":${canonical(attested_only_controls)},"coverage":${canonical(coverage)},"insufficient_evidence":`
  const page = pageOf(mapped, seq_from, max_bytes - Buffer.byteLength(head) - namesBytes)
  const next_seq = page.end < size ? seqs[page.end]! : null
  yield head
  yield* listText(mapped, 'insufficient_evidence', page)
  yield `,"insufficient_evidence_count":${insufficient_evidence_count},"mappings":`
  yield* listText(mapped, 'mappings', page)
  yield `,"next_seq":${next_seq}${next_seq === null ? '' : ',"shortened":true'},"unmapped":`
  yield* listText(mapped, 'unmapped', page)
  yield '}'
}
