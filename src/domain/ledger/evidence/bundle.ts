/** The bundle: everything needed to verify the chain and its conclusions offline, as canonical JSON in pieces. */

import { createHash } from 'node:crypto'
import { writtenRecord } from '../../../../sdk/storage/decisions.ts'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import type { Evidence, EvidenceRecord } from '../../../../sdk/storage/evidence.ts'
import { noHash } from '../../../../sdk/storage/evidence-checks.ts'
import type { AuditReader, DecisionReader } from '../../../../sdk/storage/store.ts'
import { canonical } from '../../../core/canonical.ts'
import { recordPages } from './chain.ts'
import { contentDigest, linkedDigests, recordDigest } from './content.ts'
import { type ControlRules, type Mapped, mapEvidence } from './controls.ts'
import { chainFormat, recordHash } from './hash.ts'
import { listText } from './mapped-text.ts'

/** Version of the bundle format. */
const bundleFormat = 1
const pageSize = 1_000

/** The head of the chain when the bundle was made; the bundle ends there. */
interface BundleHead {
  size: number
  head_hash: string
  root_hash: string
  /** The signed checkpoint of this size. */
  note: string
}

/** Inputs of a bundle. */
export interface BundleSources {
  evidence: Pick<Evidence, 'read'>
  decisions: Pick<DecisionReader, 'get'>
  audit: Pick<AuditReader, 'list'>
  /** Signs a note with the key of the log. */
  sign(text: string): string
  controls: ControlRules
  yieldToEventLoop(): Promise<void>
}

/** A decision that the evidence is linked to. Digests are lowercase hex. */
interface DecisionDigest {
  id: string
  /** SHA-256 of the record as canonical JSON; null if the decision no longer exists. */
  sha256: string | null
  /** The same of its content fields only. */
  content_sha256: string | null
  /** Each link, with the digest of the content at that time; null if it was not kept. */
  linked: { seq: number; content_sha256: string | null }[]
}

/** A bundle before it is written, without the events. */
export interface Bundle {
  bundle_id: string
  /** RFC 3339, UTC. */
  generated_at: string
  service_version: string
  policy_hash: string
  /** The C2SP key of the checkpoint. */
  verifier_key: string
  head: BundleHead
  mapped: Mapped
  decisions: DecisionDigest[]
}

/** @param linked numbers of the attested records by decision */
async function digests(
  { decisions, audit }: Pick<BundleSources, 'decisions' | 'audit'>,
  linked: ReadonlyMap<string, readonly number[]>,
): Promise<DecisionDigest[]> {
  if (linked.size === 0) return []
  const then = await linkedDigests(audit)
  const ids = [...linked.keys()].sort((a, b) => (a < b ? -1 : 1))
  const found: DecisionDigest[] = []
  for (let from = 0; from < ids.length; from += pageSize) {
    const page = ids.slice(from, from + pageSize)
    const records = new Map((await decisions.get(page)).map((text) => [text.id, writtenRecord(text)]))
    for (const id of page) {
      const record = records.get(id)
      found.push({
        id,
        sha256: record ? recordDigest(record) : null,
        content_sha256: record ? contentDigest(record) : null,
        linked: linked.get(id)!.map((seq) => ({ seq, content_sha256: then.get(seq) ?? null })),
      })
    }
  }
  return found
}

/** Maps the chain up to the head, and reads the linked decisions. */
export async function prepareBundle(
  sources: BundleSources,
  head: BundleHead,
  facts: Omit<Bundle, 'head' | 'mapped' | 'decisions'>,
): Promise<Bundle> {
  const linked = new Map<string, number[]>()
  const look = ({ seq, event_type, evidence_class }: EvidenceRecord, { decision_id }: Record<string, unknown>) => {
    if (event_type !== 'cstp_decision_linked' || evidence_class !== 'attested' || typeof decision_id !== 'string')
      return
    const before = linked.get(decision_id)
    if (before) before.push(seq)
    else linked.set(decision_id, [seq])
  }
  const mapped = await mapEvidence(sources.evidence, sources.controls, head.size, sources.yieldToEventLoop, look)
  return { ...facts, head, mapped, decisions: await digests(sources, linked) }
}

const broken = (seq: number): StorageError =>
  new StorageError('corrupt', `the evidence chain is not intact: record ${seq} does not follow`)

const recordText = ({
  seq,
  ts,
  source,
  event_type,
  evidence_class,
  payload,
  prev_hash,
  hash,
}: EvidenceRecord): string =>
  `{"event_type":${JSON.stringify(event_type)},"evidence_class":"${evidence_class}","hash":"${hash}","payload":${payload},"prev_hash":"${prev_hash}","seq":${seq},"source":${JSON.stringify(source)},"ts":${JSON.stringify(ts)}}`

/** The events up to the head, each checked again, so that a written bundle is intact. */
async function* eventsText({ evidence, yieldToEventLoop }: BundleSources, head: BundleHead): AsyncGenerator<string> {
  let hash = noHash
  let seq = 0
  for await (const page of recordPages(evidence, head.size)) {
    let piece = ''
    for (const record of page) {
      if (record.seq !== seq + 1 || record.prev_hash !== hash || recordHash(record) !== record.hash)
        throw broken(seq + 1)
      piece += seq === 0 ? recordText(record) : `,${recordText(record)}`
      seq = record.seq
      hash = record.hash
    }
    yield piece
    await yieldToEventLoop()
  }
  if (seq < head.size) throw broken(seq + 1)
  if (hash !== head.head_hash) throw broken(seq)
}

/** The members before the signature, including the opening brace. */
async function* signedText(bundle: Bundle, sources: BundleSources): AsyncGenerator<string> {
  const { head, mapped } = bundle
  const text = canonical
  yield [
    `{"attested_only_controls":${text(mapped.attested_only_controls)}`,
    `"bundle_format":${bundleFormat}`,
    `"bundle_id":${text(bundle.bundle_id)}`,
    `"chain_format":${chainFormat}`,
    `"chain_head_hash":${text(head.head_hash)}`,
    `"chain_intact":true`,
    `"chain_root_hash":${text(head.root_hash)}`,
    `"chain_size":${head.size}`,
    `"checkpoint":${text({ note: head.note, verifier_key: bundle.verifier_key })}`,
    `"control_rules":${text(sources.controls.sets)}`,
    `"coverage":${text(mapped.coverage)}`,
    `"decisions":${text(bundle.decisions)}`,
    '"events":[',
  ].join(',')
  yield* eventsText(sources, head)
  yield `],"generated_at":${text(bundle.generated_at)},"insufficient_evidence":`
  yield* listText(mapped, 'insufficient_evidence')
  yield `,"insufficient_evidence_count":${mapped.insufficient_evidence_count},"mappings":`
  yield* listText(mapped, 'mappings')
  yield `,"policy_hash":${text(bundle.policy_hash)},"service_version":${text(bundle.service_version)}`
}

function* restText({ mapped }: Bundle): Generator<string> {
  yield `,"unmapped":`
  yield* listText(mapped, 'unmapped')
  yield '}'
}

/** The signed text. It can't be mistaken for a checkpoint, whose second line is a number. @param sha256 of the bundle without its signature */
const bundleNote = (sha256: string): string => `cstp evidence bundle\nsha256:${sha256}\n`

/**
 * The bundle as canonical JSON: sorted keys, no white space. Equal chains, times, keys and ids give equal bytes.
 * @throws StorageError `corrupt` if the chain is not intact
 */
export async function* bundleText(bundle: Bundle, sources: BundleSources): AsyncGenerator<string> {
  const digest = createHash('sha256')
  for await (const piece of signedText(bundle, sources)) {
    digest.update(piece)
    yield piece
  }
  // Keys are sorted, so the signature comes before the last member, whose text is generated twice.
  for (const piece of restText(bundle)) digest.update(piece)
  yield `,"signature":${canonical(sources.sign(bundleNote(digest.digest('hex'))))}`
  yield* restText(bundle)
}
