/** The decisions of a bundle: a digest of each linked decision, now and when it was linked. */

import type { BundleFindings } from './bundle-checks.ts'
import type { VerifiedEvent } from './chain.ts'
import { canonicalText } from './read.ts'
import { isFields } from './report.ts'

const isDigest = (value: unknown): value is string | null =>
  value === null || (typeof value === 'string' && /^[0-9a-f]{64}$/.test(value))

interface Link {
  seq: number
  content_sha256: string | null
}

export interface LinkedDecision {
  id: string
  sha256: string | null
  content_sha256: string | null
  linked: Link[]
}

const isLink = (value: unknown): value is Link =>
  isFields(value) &&
  Object.keys(value).join() === 'content_sha256,seq' &&
  isDigest(value.content_sha256) &&
  Number.isSafeInteger(value.seq)

function readDecision(value: unknown): LinkedDecision | null {
  if (!isFields(value) || Object.keys(value).join() !== 'content_sha256,id,linked,sha256') return null
  const { id, sha256, content_sha256, linked } = value
  const right = typeof id === 'string' && isDigest(sha256) && isDigest(content_sha256) && Array.isArray(linked)
  return right && linked.every(isLink) ? { id, sha256, content_sha256, linked } : null
}

export function openDecisions(findings: BundleFindings) {
  const links = new Map<string, number[]>()
  const listed: LinkedDecision[] = []
  let entries = 0
  return {
    listed,
    event({ event_type, evidence_class, payload, seq }: VerifiedEvent): void {
      const { decision_id: id } = payload
      if (event_type !== 'cstp_decision_linked' || evidence_class !== 'attested' || typeof id !== 'string') return
      const before = links.get(id)
      if (before) before.push(seq)
      else links.set(id, [seq])
    },
    entry(value: unknown): void {
      entries++
      const decision = readDecision(value)
      if (decision) listed.push(decision)
      else findings.fail('decisions', `entry ${entries} is not the id of a decision with its SHA-256`)
    },
    /** Checks that each linked decision is listed with all of its links, and matches the last of them. */
    end(): void {
      const expected = [...links].sort(([a], [b]) => (a < b ? -1 : 1))
      const stated = listed.map(({ id, linked }) => [id, linked.map(({ seq }) => seq)])
      if (canonicalText(expected) !== canonicalText(stated))
        findings.fail('decisions', 'the decisions listed are not those that the events link to')
      for (const { id, content_sha256, linked } of listed) {
        const last = linked.at(-1)
        if (!last || last.content_sha256 === null || content_sha256 === null) continue
        if (last.content_sha256 !== content_sha256)
          findings.fail('links', `the decision ${id} was changed after event ${last.seq} linked it`, last)
      }
    },
    /** Decisions for which it is unknown whether they changed since they were linked. */
    unproved: (): string[] =>
      listed
        .filter(
          ({ content_sha256, linked }) => content_sha256 === null || (linked.at(-1)?.content_sha256 ?? null) === null,
        )
        .map(({ id }) => id),
  }
}

/** Compares decisions with those of an older bundle: the content stated by a link never changes, nor does a decision without a new link. */
export function compareDecisions(
  older: readonly LinkedDecision[],
  newer: readonly LinkedDecision[],
  findings: BundleFindings,
): void {
  const byId = new Map(newer.map((decision) => [decision.id, decision]))
  for (const { id, content_sha256, linked } of older) {
    const now = byId.get(id)
    if (!now) continue
    for (const { seq, content_sha256: then } of linked) {
      const same = now.linked.find((link) => link.seq === seq)
      if (then !== null && same && same.content_sha256 !== then)
        findings.fail('older', `the older bundle says that event ${seq} linked another content of the decision ${id}`, {
          seq,
        })
    }
    const isRelinked = now.linked.length > linked.length
    if (isRelinked || content_sha256 === null || now.content_sha256 === null) continue
    if (content_sha256 !== now.content_sha256)
      findings.fail('older', `the decision ${id} was changed since the older bundle`, linked.at(-1))
  }
}
