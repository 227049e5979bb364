/** What a side holds, as counts and hashes that are equal where the content is. */
import { createHash } from 'node:crypto'
import { sides } from '../../../sdk/storage/vectors.ts'
import { decisionsOf, trail } from './read.ts'
import type { Side } from './side.ts'

export interface Digest {
  decisions: number
  decisions_sha256: string
  vectors: number
  vectors_sha256: string
  sessions_sha256: string
  breakers_sha256: string
  audit_lines: number
  audit_sha256: string
  results_sha256: string
  evidence_records: number
  evidence_head: string
  evidence_sha256: string
  checkpoints_sha256: string
}

const sha256 = (): ReturnType<typeof createHash> => createHash('sha256')
const hashOf = (value: unknown): string => sha256().update(JSON.stringify(value)).digest('hex')

/** Independent of the order, in which the feeds differ. */
async function vectorsOf({ store }: Side): Promise<{ count: number; hash: string }> {
  const generation = await store.embeddings.active()
  const sum = Buffer.alloc(32)
  let count = 0
  for (let after = 0; generation !== null; ) {
    const page = await store.feed.since(after, generation.number, 500)
    if (page.length === 0) break
    after = page.at(-1)!.seq
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

export async function digestOf(side: Side, now_ms: number): Promise<Digest> {
  const { store, evidence } = side
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
  const results = sha256()
  for await (const page of side.results(now_ms))
    for (const { agent, key, digest, result, expires_ms } of page)
      if (!agent.startsWith(':')) results.update(`${JSON.stringify([agent, key, digest, result, expires_ms])}\n`)
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
    sessions_sha256: hashOf([
      (await store.sessions.list({ since_ms: 0, limit: 1_000_000 })).sort((a, b) => (a.key < b.key ? -1 : 1)),
      await store.sessions.consumed({ limit: 1_000_000 }),
    ]),
    breakers_sha256: hashOf(await store.breakers.list()),
    audit_lines,
    audit_sha256: lines.digest('hex'),
    results_sha256: results.digest('hex'),
    evidence_records: head.seq,
    evidence_head: head.hash,
    evidence_sha256: events.digest('hex'),
    checkpoints_sha256: hashOf(await evidence.checkpoints()),
  }
}
