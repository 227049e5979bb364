/** One side of a migration: a data directory or a PostgreSQL database, opened with all its stores. */
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { decisionPages, readDecisions } from '../../../sdk/storage/decisions.ts'
import type { Evidence } from '../../../sdk/storage/evidence.ts'
import { keyedPages } from '../../../sdk/storage/keyed.ts'
import type { FeedEntry, KeyedRecord, Store, StoredAuditEntry, StoredDecision } from '../../../sdk/storage/store.ts'
import { analyse } from '../../domain/search/terms.ts'
import { isPostgres } from '../config/config.ts'

export interface Side {
  /** Name for messages: a folder, or an address without its password. */
  name: string
  store: Store
  evidence: Evidence
  close(): Promise<void>
}

/** A copy in progress. */
export interface Copying {
  from: Side
  to: Side
  now_ms: number
  signal: AbortSignal
  /** Called with how many of a kind are done. */
  progress(kind: string, done: number): void
}

/** @param existing whether the place must already exist @throws Error, StorageError */
export async function openSide(place: string, existing: boolean): Promise<Side> {
  const options = { analyse, now: Date.now }
  if (isPostgres(place)) {
    const [{ openPostgresStore }, { openPostgresEvidence }] = await Promise.all([
      import('../../drivers/store/postgres/driver.ts'),
      import('../../drivers/evidence/postgres/driver.ts'),
    ])
    const store = await openPostgresStore({ ...options, url: place, connections: 8 })
    const evidence = await openPostgresEvidence({ url: place }).catch(async (error: unknown) => {
      await store.close()
      throw error
    })
    const { host, pathname } = new URL(place)
    return sideOf(`postgres://${host}${pathname}`, store, evidence)
  }
  const dir = resolve(place)
  if (existing && !existsSync(join(dir, 'cstp.db')))
    throw new Error(`${dir} is not a data directory: it has no cstp.db`)
  await mkdir(dir, { recursive: true, mode: 0o700 })
  const [{ openSqliteStore }, { openSqliteEvidence }] = await Promise.all([
    import('../../drivers/store/sqlite/driver.ts'),
    import('../../drivers/evidence/sqlite/driver.ts'),
  ])
  const store = await openSqliteStore({ ...options, dir })
  const evidence = await openSqliteEvidence(join(dir, 'provenance.db')).catch(async (error: unknown) => {
    await store.close()
    throw error
  })
  return sideOf(dir, store, evidence)
}

const sideOf = (name: string, store: Store, evidence: Evidence): Side => ({
  name,
  store,
  evidence,
  async close() {
    await evidence.close()
    await store.close()
  },
})

const pageSize = 200
const auditPage = 1_000

/** Entries between forced garbage collections: otherwise the heap would double first, to 1.2 GB for a million decisions. */
const collectedAfter = 20_000

async function* collecting<T>(pages: AsyncIterable<T[]>): AsyncGenerator<T[]> {
  let passed = 0
  for await (const page of pages) {
    yield page
    passed += page.length
    if (passed < collectedAfter) continue
    passed = 0
    Bun.gc(true)
  }
}

/** All decisions in pages, oldest first: an order that both sides share. */
export const decisionsOf = ({ store: { decisions } }: Side): AsyncGenerator<StoredDecision[]> =>
  collecting(
    (async function* () {
      for await (const page of decisionPages(decisions, {}, pageSize))
        yield readDecisions(
          decisions,
          page.map(({ id }) => id),
        )
    })(),
  )

/** All changes with vectors of one generation, in pages. */
export const changesOf = ({ store: { feed } }: Side, generation: number): AsyncGenerator<FeedEntry[]> =>
  collecting(
    (async function* () {
      for (let after = 0; ; ) {
        const page = await feed.since(after, generation, pageSize)
        if (page.length === 0) return
        yield page
        after = page.at(-1)!.seq
      }
    })(),
  )

/** The audit trail from the oldest line on; stores read it from the newest. */
export async function* trail({ store }: Side): AsyncGenerator<StoredAuditEntry[]> {
  const ends: (number | undefined)[] = []
  for (let cursor: number | undefined; ; ) {
    const page = await store.audit.list({ ...(cursor !== undefined && { cursor }), limit: auditPage })
    if (page.length === 0) break
    ends.push(cursor)
    cursor = page.at(-1)!.seq
  }
  for (const cursor of ends.reverse())
    yield (await store.audit.list({ ...(cursor !== undefined && { cursor }), limit: auditPage })).reverse()
}

/** Keyed records by key, including expired ones: the owner removes them with their dependents, or uses the time for a next step. */
export const keyedOf = ({ store }: Side, collection: string): AsyncGenerator<KeyedRecord[]> =>
  keyedPages(store.keyed, collection)
