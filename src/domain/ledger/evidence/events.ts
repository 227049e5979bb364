/** Makes events that can be appended (canonical, within the limits, from a permitted source), pages of the log, and attestations. */

import { decisionNotFound, invalidParams } from '../../../../sdk/errors.ts'
import type { Stakes } from '../../../../sdk/schema/decision.ts'
import type { EvidenceEvent } from '../../../../sdk/schema/evidence.ts'
import { readDecision } from '../../../../sdk/storage/decisions.ts'
import type { Evidence, EvidenceClass, EvidenceRecord } from '../../../../sdk/storage/evidence.ts'
import { skeleton } from '../../../../sdk/storage/skeleton.ts'
import type { DecisionReader } from '../../../../sdk/storage/store.ts'
import { canonical, NotInteroperable } from '../../../core/canonical.ts'
import { resolveId } from '../../record/decision/lookup.ts'
import type { NewEvent } from './chain.ts'
import { contentDigest } from './content.ts'

/** Events per batch. */
export const maxEvents = 10_000
/** Stored bytes per batch, in UTF-8. */
export const maxBytes = 16 * 1_048_576

/** Prefixes of sources that only this program may use. */
const reservedPrefixes = ['cstp:', 'webhook:']
/** Marks that look like a colon. */
const colons = /[\u02d0\u02d1\u02f8\u0589\u05c3\u0703\u0704\u16ec\u1803\u205a\u2236\ua789\ufe30]/gu
/** Letters of scripts that have look-alikes of Latin letters: all scripts but those of East Asia. */
const otherLetter =
  /(?![\p{Script=Latin}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Common}])\p{L}/u

/** A source as readers see it: without spaces, invisible characters, variants and look-alikes of characters. */
const shown = (source: string): string =>
  skeleton(source.normalize('NFKC'))
    .replace(/[\p{White_Space}\p{Cc}\p{Default_Ignorable_Code_Point}]/gu, '')
    .replace(colons, ':')

/** Refuses a source that a reader could mistake for another. */
function checkSource(source: string): void {
  const refuse = (message: string) =>
    invalidParams({ path: 'source', message, expected: 'another source', received: source })
  const plain = shown(source)
  const prefix = reservedPrefixes.find((one) => plain.startsWith(one))
  if (prefix !== undefined) throw refuse(`the prefix ${prefix} is reserved for the service itself`)
  const words = source.normalize('NFKC').match(/[\p{L}\p{M}]+/gu) ?? []
  const mixed = words.find((word) => /\p{Script=Latin}/u.test(word) && otherLetter.test(word))
  if (mixed !== undefined) throw refuse(`${JSON.stringify(mixed)} mixes letters of two alphabets that look alike`)
}

/** The payload as canonical JSON. @throws CstpError `invalid_params` with the path of the value */
function canonicalPayload({ payload }: EvidenceEvent, index: number): string {
  try {
    return canonical(payload)
  } catch (error) {
    if (!(error instanceof NotInteroperable)) throw error
    const path = ['events', index, 'payload', ...error.path].join('.')
    const shown = path.length > 200 ? `${path.slice(0, 200).toWellFormed()}…` : path.toWellFormed()
    throw invalidParams({
      path: shown,
      message: error.message,
      expected: error.expected,
      received: 'a value that JSON can’t carry between systems',
    })
  }
}

/** Whether a batch has too many bytes in UTF-8. */
function tooLong(events: readonly NewEvent[]): boolean {
  let units = 0
  for (const { ts, source, event_type, payload } of events)
    units += ts.length + source.length + event_type.length + payload.length
  // A UTF-16 code unit takes at most three bytes, so most batches need no exact count.
  if (3 * units <= maxBytes) return false
  let bytes = 0
  for (const { ts, source, event_type, payload } of events)
    bytes += Buffer.byteLength(ts + source + event_type) + Buffer.byteLength(payload)
  return bytes > maxBytes
}

/** Observed events of one batch. @throws CstpError `invalid_params` */
export function observedEvents(source: string, events: readonly EvidenceEvent[]): NewEvent[] {
  checkSource(source)
  const made = events.map((event, index): NewEvent => {
    const { ts, event_type } = event
    return { ts, source, event_type, evidence_class: 'observed', payload: canonicalPayload(event, index) }
  })
  if (!tooLong(made)) return made
  const expected = `at most ${maxBytes} bytes in all`
  throw invalidParams({ path: 'events', message: `expected ${expected}`, expected, received: 'more' })
}

interface EvidenceQuery {
  seq_from: number
  seq_to: number
  event_type?: string | undefined
  evidence_class?: EvidenceClass | undefined
  order: 'asc' | 'desc'
  limit: number
}

/** Most records that one page reads, however few match. */
const maxSeen = 20_000
const pageSize = 1_000
/** Characters of payloads after which a page ends. */
const maxCharacters = 16 * 1_048_576

/** The records between two numbers in pages, each with the number at which the next page begins; null for the last one. */
async function* pagesOf(
  evidence: Pick<Evidence, 'read' | 'head'>,
  { seq_from, seq_to, order }: Pick<EvidenceQuery, 'seq_from' | 'seq_to' | 'order'>,
  size: number,
): AsyncGenerator<{ page: EvidenceRecord[]; next: number | null }> {
  if (order === 'asc')
    for (let seq = seq_from; seq <= seq_to; seq += size) {
      const page = await evidence.read(seq, Math.min(size, seq_to - seq + 1))
      yield { page, next: page.length < size || seq + size > seq_to ? null : seq + size }
      if (page.length < size) return
    }
  else
    for (let last = Math.min(seq_to, (await evidence.head()).seq); last >= seq_from; last -= size) {
      const first = Math.max(seq_from, last - size + 1)
      const page = await evidence.read(first, last - first + 1)
      yield { page: page.reverse(), next: first > seq_from ? first - 1 : null }
    }
}

/** Matching records in order, and the number at which the next page begins; null at the end. */
export async function listEvidence(
  evidence: Pick<Evidence, 'read' | 'head'>,
  query: EvidenceQuery,
): Promise<{ records: EvidenceRecord[]; next_seq: number | null }> {
  const { event_type, evidence_class, limit } = query
  const records: EvidenceRecord[] = []
  let characters = 0
  let seen = 0
  const plain = event_type === undefined && evidence_class === undefined
  const size = plain ? Math.min(pageSize, limit + 1) : pageSize
  for await (const { page, next } of pagesOf(evidence, query, size)) {
    for (const record of page) {
      if (records.length === limit || characters > maxCharacters) return { records, next_seq: record.seq }
      const matches =
        (event_type === undefined || record.event_type === event_type) &&
        (evidence_class === undefined || record.evidence_class === evidence_class)
      if (!matches) continue
      records.push(record)
      characters += record.payload.length
    }
    seen += size
    if (next !== null && seen >= maxSeen) return { records, next_seq: next }
  }
  return { records, next_seq: null }
}

/** What an agent states about a decision and the events that belong to it. */
export interface Link {
  decision_id: string
  event_seqs: readonly number[]
  stakes: Stakes | null
  has_outcome: boolean | null
}

/** Checks that each is an observed event and is named only once. @throws CstpError `invalid_params` */
async function checkEvents(evidence: Evidence, seqs: readonly number[]): Promise<void> {
  const seen = new Set<number>()
  for (const [index, seq] of seqs.entries()) {
    const refuse = (message: string) =>
      invalidParams({ path: `event_seqs.${index}`, message, expected: 'an observed event', received: String(seq) })
    if (seen.has(seq)) throw refuse('is given twice')
    seen.add(seq)
    const [record] = await evidence.read(seq, 1)
    if (record?.seq !== seq) throw refuse('no event has this number')
    if (record.evidence_class !== 'observed') throw refuse('this record is itself an attestation')
  }
}

/**
 * The attestation as an event to append. Its statements about the decision are taken from the decision's record.
 * @param input.ts RFC 3339
 * @returns also the digest of the decision's content, to be stored in the audit entry
 * @throws CstpError `decision_not_found`, or `invalid_params` if an event can't be linked or a statement contradicts the decision
 */
export async function attestation(
  { decisions, evidence }: { decisions: DecisionReader; evidence: Evidence },
  { agent, ts, link }: { agent: string; ts: string; link: Link },
): Promise<{ id: string; event: NewEvent; content_sha256: string }> {
  const id = await resolveId(decisions, link.decision_id, 'decision_id')
  const found = await readDecision(decisions, id)
  if (!found) throw decisionNotFound(link.decision_id)
  const own = { stakes: found.record.stakes, has_outcome: found.record.outcome !== null }
  for (const name of ['stakes', 'has_outcome'] as const) {
    const given = link[name]
    if (given === null || given === own[name]) continue
    throw invalidParams({
      path: name,
      message: `contradicts the decision, of which it is ${own[name]}`,
      expected: String(own[name]),
      received: String(given),
    })
  }
  await checkEvents(evidence, link.event_seqs)
  const payload = canonical({ decision_id: id, event_seqs: link.event_seqs, ...own })
  const event_type = 'cstp_decision_linked'
  const event: NewEvent = { ts, source: `cstp:${agent}`, event_type, evidence_class: 'attested', payload }
  return { id, event, content_sha256: contentDigest(found.record) }
}
