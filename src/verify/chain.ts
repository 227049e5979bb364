/** Walks the events of a bundle: their form, their hashes, their order, and the tree over them. */
import { recordHash } from '../domain/ledger/evidence/hash.ts'
import type { BundleFindings } from './bundle-checks.ts'
import { openMerkle } from './note.ts'
import { NotCanonical, parseCanonical } from './read.ts'
import { type Fields, isFields, isHash } from './report.ts'

const zeros = '0'.repeat(64)
const fields = 'event_type,evidence_class,hash,payload,prev_hash,seq,source,ts'

const evidenceClasses = ['observed', 'inferred', 'attested'] as const
type EvidenceClass = (typeof evidenceClasses)[number]
export const isEvidenceClass = (value: unknown): value is EvidenceClass =>
  (evidenceClasses as readonly unknown[]).includes(value)

export interface VerifiedEvent {
  seq: number
  source: string
  event_type: string
  evidence_class: EvidenceClass
  payload: Fields
}

export interface Chain {
  /** @param text the event's text in the bundle. @returns the event; null if it is invalid */
  take(text: string): VerifiedEvent | null
  size(): number
  /** Hash of the last event, computed from its content; 64 zeros before the first. */
  head(): string
  root(): string
  /** The hash of an event, computed from its content. @param seq from 1 */
  hashOf(seq: number): string
}

/** Hashes in one buffer: a million of them take 32 MB. */
function openHashes() {
  let bytes = Buffer.alloc(32 * 1_024)
  let count = 0
  return {
    push(hash: string) {
      if (32 * (count + 1) > bytes.length) bytes = Buffer.concat([bytes, Buffer.alloc(bytes.length)])
      bytes.write(hash, 32 * count++, 'hex')
    },
    at: (index: number) => bytes.toString('hex', 32 * index, 32 * index + 32),
    size: () => count,
  }
}

function readEvent(text: string): { event: Fields; payload: string } {
  const event = parseCanonical(text)
  if (!isFields(event) || Object.keys(event).join() !== fields)
    throw new NotCanonical(`has not exactly the fields ${fields.replaceAll(',', ', ')}`)
  for (const name of ['event_type', 'source', 'ts'])
    if (typeof event[name] !== 'string' || event[name] === '') throw new NotCanonical(`has no ${name}`)
  for (const name of ['hash', 'prev_hash'])
    if (!isHash(event[name])) throw new NotCanonical(`has a ${name} that is not 64 hexadecimal digits`)
  if (!isEvidenceClass(event.evidence_class))
    throw new NotCanonical('has an evidence_class that is not observed, inferred or attested')
  if (!isFields(event.payload)) throw new NotCanonical('has a payload that is not an object')
  if (!Number.isSafeInteger(event.seq)) throw new NotCanonical('has a seq that is not a whole number')
  // The text is canonical, so the payload's own text is between these two names.
  const start = text.indexOf('"payload":') + '"payload":'.length
  return { event, payload: text.slice(start, text.lastIndexOf(',"prev_hash":"')) }
}

export function openChain(findings: BundleFindings): Chain {
  const merkle = openMerkle()
  const hashes = openHashes()
  /** The hash that the previous event states. */
  let stated = zeros

  return {
    take(text) {
      const seq = hashes.size() + 1
      let read: ReturnType<typeof readEvent>
      try {
        read = readEvent(text)
      } catch (error) {
        if (!(error instanceof NotCanonical)) throw error
        findings.fail('chain', `event ${seq} ${error.message}`, { seq })
        hashes.push(zeros)
        merkle.add(zeros)
        return null
      }
      const event = read.event as unknown as VerifiedEvent & { ts: string; hash: string; prev_hash: string }
      if (event.seq !== seq) findings.fail('chain', `event ${seq} has the number ${event.seq}`, { seq })
      if (event.prev_hash !== stated)
        findings.fail('chain', `event ${seq} does not follow: it names another event before it than the actual one`, {
          seq,
        })
      const hash = recordHash({ ...event, payload: read.payload })
      if (hash !== event.hash)
        findings.fail('chain', `event ${seq} was changed: its content does not match its hash`, { seq })
      stated = event.hash
      hashes.push(hash)
      merkle.add(hash)
      return event
    },
    size: hashes.size,
    head: () => (hashes.size() === 0 ? zeros : hashes.at(hashes.size() - 1)),
    root: merkle.root,
    hashOf: (seq) => hashes.at(seq - 1),
  }
}
