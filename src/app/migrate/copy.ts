/** Copies one store to another, kind by kind, resuming an interrupted run; and computes digests of both sides. */

import { createHash } from 'node:crypto'
import { readDecisions } from '../../../sdk/storage/decisions.ts'
import { sides } from '../../../sdk/storage/vectors.ts'
import { driftCollection } from '../../domain/learn/calibration/drift-periods.ts'
import { compactionCollection } from '../../domain/learn/memory/compaction.ts'
import { grow } from '../../domain/ledger/engine/tree.ts'
import { attestedCollections } from '../../domain/ledger/thread/attested.ts'
import { actionSessionCollection } from '../../domain/policy/facts/session.ts'
import { evidenceCursor } from '../../domain/record/act-ids.ts'
import { deliveryCollection, noticeCollection } from '../../domain/record/approval/notices.ts'
import { resultCollection } from '../../domain/record/decision/idempotency.ts'
import { erasureCollections } from '../../domain/record/decision/tombstone.ts'
import { sessionCollections } from '../../domain/record/deliberation/sessions.ts'
import { hookCollections } from '../../domain/record/hook-records.ts'
import { queueVectors } from '../../domain/search/embeddings.ts'
import { type Copying, changesOf, decisionsOf, keyedOf, type Side, trail } from './sides.ts'
import { threadDigest } from './thread.ts'

/** Copies records with derived data. Decisions erased or changed in the source since an earlier run are erased or changed in the target. */
export async function copyDecisions({ from, to, signal, progress }: Copying): Promise<void> {
  let done = 0
  for await (const page of keyedOf(from, erasureCollections.erased)) {
    const ids = page.map(({ key }) => key)
    for (const { record } of await readDecisions(to.store.decisions, ids))
      await to.store.transaction((tx) => tx.erase({ decisions: [{ id: record.id, revision: null }] }))
  }
  for await (const page of decisionsOf(from)) {
    signal.throwIfAborted()
    const there = new Map(
      (
        await readDecisions(
          to.store.decisions,
          page.map(({ record }) => record.id),
        )
      ).map((one) => [one.record.id, one]),
    )
    const wanted = page.filter(({ record, revision }) => {
      const stored = there.get(record.id)
      return stored?.revision !== revision || JSON.stringify(stored.record) !== JSON.stringify(record)
    })
    if (wanted.length > 0)
      await to.store.transaction(async (tx) => {
        // Acts refer to a decision by its revision.
        for (const { record, revision } of wanted)
          await tx.decisions.put(record, there.get(record.id)?.revision ?? 0, revision)
      })
    done += page.length
    progress('decisions', done)
  }
}

/**
 * Copies the vectors of the active generation; decisions without vectors go to the target's outbox. A generation still being built is
 * not copied: its builder has stopped, and a reindex always starts over.
 */
export async function copyVectors({ from, to, now_ms, signal, progress }: Copying): Promise<void> {
  const generation = (await from.store.feed.head()).active
  if (generation !== null) {
    const { embedder, dimensions, number } = generation
    const there = (await to.store.feed.head()).active
    // The generation left by an earlier run may be of another embedder.
    const target =
      there?.embedder === embedder && there.dimensions === dimensions
        ? there
        : await to.store.transaction((tx) => tx.embeddings.putGeneration({ state: 'building', embedder, dimensions }))
    let done = 0
    for await (const page of changesOf(from, number)) {
      signal.throwIfAborted()
      await to.store.transaction(async (tx) => {
        // Also removes vectors that the source has dropped since an earlier run.
        for (const { id, vectors } of page) await tx.embeddings.put(id, vectors && { embedder, vectors })
      })
      done += page.length
      progress('vectors', done)
    }
    if (target.state === 'building')
      await to.store.transaction((tx) => tx.embeddings.putGeneration({ state: 'active', number: target.number }))
  }
  for await (const page of decisionsOf(from))
    await to.store.transaction(async (tx) => {
      for (const { record, indexed } of page) if (!indexed) await queueVectors(tx, record.id, now_ms)
    })
}

/** Shared state other than decisions, except dashboard logins (people log in again), today's byte counts, and how far the trail was exported. */
const collections = {
  attested: attestedCollections,
  sessions: [...Object.values(sessionCollections), actionSessionCollection],
  hooks: Object.values(hookCollections),
  notices: [noticeCollection, deliveryCollection, driftCollection],
  results: [resultCollection],
  compactions: [compactionCollection],
  thread: [evidenceCursor.collection],
  erasures: [erasureCollections.unfinished],
} as const

/** Copies keyed records, and removes those that the source has deleted since an earlier run. */
export async function copyStates({ from, to }: Copying): Promise<void> {
  for (const collection of new Set<string>(Object.values(collections).flat())) {
    const there = new Set<string>()
    for await (const page of keyedOf(to, collection)) for (const record of page) there.add(record.key)
    for await (const page of keyedOf(from, collection)) {
      await to.store.transaction(async ({ keyed }) => {
        for (const { key, value, expires_ms } of page) await keyed.put(collection, key, value, { expires_ms })
      })
      for (const { key } of page) there.delete(key)
    }
    await to.store.transaction(({ keyed }) => keyed.delete(collection, [...there]))
  }
}

/** Copies the audit trail in order. */
export async function copyAudit({ from, to, signal, progress }: Copying): Promise<void> {
  let there = 0
  for await (const page of trail(to)) there += page.length
  let done = 0
  for await (const page of trail(from)) {
    signal.throwIfAborted()
    const fresh = page.slice(Math.max(0, there - done))
    done += page.length
    await to.store.transaction(async (tx) => {
      for (const { seq: _, ...entry } of fresh) await tx.append({ audit: [entry] })
    })
    progress('audit entries', done)
  }
}

/** Copies evidence records unchanged, tree nodes built from their hashes, and checkpoints. @throws Error if the target has another chain */
export async function copyEvidence({ from, to, signal, progress }: Copying): Promise<void> {
  const head = await to.evidence.head()
  const [same] = head.seq === 0 ? [head.hash] : await from.evidence.hashes(head.seq, 1)
  if (same !== head.hash) throw new Error(`${to.name} has another chain of evidence than ${from.name}`)
  for (let next = head.seq + 1; ; ) {
    signal.throwIfAborted()
    const records = await from.evidence.read(next, 1_000)
    if (records.length === 0) break
    await to.evidence.append(({ seq, frontier }) => ({
      records,
      ...grow(
        frontier,
        seq,
        records.map(({ hash }) => hash),
      ),
    }))
    next += records.length
    progress('evidence records', next - 1)
  }
  const [given, known] = [await from.evidence.checkpoints(), await to.evidence.checkpoints()]
  for (const checkpoint of given.slice(known.length)) await to.evidence.saveCheckpoint(checkpoint)
}

/** The content of one side as counts and hashes. */
export interface Digest extends Record<`${keyof typeof collections}_sha256`, string> {
  decisions: number
  decisions_sha256: string
  vectors: number
  vectors_sha256: string
  audit_lines: number
  audit_sha256: string
  evidence_records: number
  evidence_head: string
  evidence_sha256: string
  checkpoints_sha256: string
  acts: number
  thread_root: string
  acts_sha256: string
  thread_checkpoints_sha256: string
}

const sha256 = (): ReturnType<typeof createHash> => createHash('sha256')
const hashOf = (value: unknown): string => sha256().update(JSON.stringify(value)).digest('hex')

/** Count and hash of all vectors, independent of their order, which differs between the feeds. */
async function vectorsOf(side: Side): Promise<{ count: number; hash: string }> {
  const generation = (await side.store.feed.head()).active
  const sum = Buffer.alloc(32)
  let count = 0
  if (generation === null) return { count, hash: sum.toString('hex') }
  for await (const page of changesOf(side, generation.number)) {
    for (const { id, vectors } of page) {
      if (vectors === null) continue
      count++
      const one = sha256().update(`${generation.embedder}\0${id}\0`)
      for (const side of sides) one.update(new Uint8Array(vectors[side].slice().buffer))
      const bytes = one.digest()
      for (let at = 0; at < 32; at++) sum[at]! ^= bytes[at]!
    }
  }
  return { count, hash: sum.toString('hex') }
}

/** Leaves out versions: they count the writes of one store, so they may differ. */
async function keyedDigest(side: Side, names: readonly string[]): Promise<string> {
  const digest = sha256()
  for (const name of names)
    for await (const page of keyedOf(side, name))
      for (const { key, value, expires_ms } of page)
        digest.update(`${JSON.stringify([name, key, value, expires_ms])}\n`)
  return digest.digest('hex')
}

async function keyedDigests(side: Side) {
  const kinds = Object.keys(collections) as (keyof typeof collections)[]
  const made = await Promise.all(
    kinds.map(async (kind) => [`${kind}_sha256`, await keyedDigest(side, collections[kind])] as const),
  )
  return Object.fromEntries(made) as Record<`${keyof typeof collections}_sha256`, string>
}

export async function digestOf(side: Side): Promise<Digest> {
  const { evidence } = side
  let decisions = 0
  const records = sha256()
  for await (const page of decisionsOf(side)) {
    decisions += page.length
    for (const { record } of page) records.update(`${JSON.stringify(record)}\n`)
  }
  let audit_lines = 0
  const lines = sha256()
  for await (const page of trail(side)) {
    audit_lines += page.length
    for (const { seq: _, ...entry } of page) lines.update(`${JSON.stringify(entry)}\n`)
  }
  const vectors = await vectorsOf(side)
  const head = await evidence.head()
  const events = sha256()
  for (let next = 1; next <= head.seq; ) {
    const page = await evidence.read(next, 1_000)
    if (page.length === 0) break
    for (const record of page) events.update(`${JSON.stringify(Object.entries(record).sort())}\n`)
    next = page.at(-1)!.seq + 1
  }
  return {
    decisions,
    decisions_sha256: records.digest('hex'),
    vectors: vectors.count,
    vectors_sha256: vectors.hash,
    ...(await keyedDigests(side)),
    audit_lines,
    audit_sha256: lines.digest('hex'),
    evidence_records: head.seq,
    evidence_head: head.hash,
    evidence_sha256: events.digest('hex'),
    checkpoints_sha256: hashOf(await evidence.checkpoints()),
    ...(await threadDigest(side)),
  }
}
