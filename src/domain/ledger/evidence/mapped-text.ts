/** The lists of a mapping as canonical JSON, written piece by piece: the text of a million events is never one string. */
import { canonical } from '../../../core/canonical.ts'
import type { Mapped, Verdict } from './controls.ts'

/** Characters after which a piece is yielded. */
const pieceLength = 65_536
/** Bytes reserved for the names of the members and the envelope of the answer. */
const namesBytes = 65_536

/** The entries of an event in each list. Their members are in canonical order. */
const entriesOf = {
  mappings: ({ event_type, evidence_class, mappings }: Verdict, pr_number: number | null, seq: number) =>
    mappings.map(({ control_name, framework, function_id, id: rule_id, stage }) => ({
      ...{ control_name, event_type, evidence_class, framework, function_id, pr_number, rule_id, seq, stage },
      type: 'mapping',
    })),
  insufficient_evidence: ({ evidence_class, shortfalls }: Verdict, pr_number: number | null, seq: number) =>
    shortfalls.map(({ control_name, framework, function_id, reason }) => ({
      ...{ control_name, evidence_class, framework, function_id, pr_number, reason, seq },
      type: 'INSUFFICIENT_EVIDENCE',
    })),
  unmapped: ({ event_type, evidence_class, mappings }: Verdict, pr_number: number | null, seq: number) =>
    mappings.length === 0 ? [{ event_type, evidence_class, pr_number, seq }] : [],
}
type MappedList = keyof typeof entriesOf
const lists = Object.keys(entriesOf) as MappedList[]

/** The entries of an event in a list as JSON, separated by commas. @param at index of the event in the mapping */
function eventText({ seqs, prs, verdictOf, verdicts }: Mapped, list: MappedList, at: number): string {
  const pr = prs[at]!
  const entries = entriesOf[list](verdicts[verdictOf[at]!]!, Number.isNaN(pr) ? null : pr, seqs[at]!)
  return entries.map((entry) => JSON.stringify(entry)).join()
}

/** Events by index in the chain, from `start` up to but not including `end`. */
interface Page {
  start: number
  end: number
}

/** As many events from a number on as have entries of at most `max_bytes` together; at least one, so that paging ends. */
function pageFrom(mapped: Mapped, seq_from: number, max_bytes: number): Page {
  const { size, seqs } = mapped
  const found = seqs.subarray(0, size).findIndex((seq) => seq >= seq_from)
  const start = found === -1 ? size : found
  if (max_bytes === Infinity) return { start, end: size }
  let left = max_bytes
  for (let at = start; at < size; at++) {
    for (const list of lists) {
      const bytes = Buffer.byteLength(eventText(mapped, list, at))
      left -= bytes === 0 ? 0 : bytes + 1
    }
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
  let piece = '['
  let isFirst = true
  for (let at = start; at < end; at++) {
    const text = eventText(mapped, list, at)
    if (text === '') continue
    piece += isFirst ? text : `,${text}`
    isFirst = false
    if (piece.length < pieceLength) continue
    yield piece
    piece = ''
  }
  yield `${piece}]`
}

/** The result of `cstp.mapControls`: figures of all events, and the lists of a page of them. @param max_bytes limit of the whole text */
export function* mappedText(mapped: Mapped, { seq_from = 1, max_bytes = Infinity } = {}): Generator<string> {
  const { attested_only_controls, coverage, insufficient_evidence_count, size, seqs } = mapped
  const head = `{"attested_only_controls":${canonical(attested_only_controls)},"coverage":${canonical(coverage)},"insufficient_evidence":`
  const page = pageFrom(mapped, seq_from, max_bytes - Buffer.byteLength(head) - namesBytes)
  const next_seq = page.end < size ? seqs[page.end]! : null
  yield head
  yield* listText(mapped, 'insufficient_evidence', page)
  yield `,"insufficient_evidence_count":${insufficient_evidence_count},"mappings":`
  yield* listText(mapped, 'mappings', page)
  yield `,"next_seq":${next_seq}${next_seq === null ? '' : ',"shortened":true'},"unmapped":`
  yield* listText(mapped, 'unmapped', page)
  yield '}'
}
