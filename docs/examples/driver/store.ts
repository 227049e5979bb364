/**
 * A store driver and an evidence driver written outside the service: both keep everything in memory, until the process ends. They import
 * only the storage SDK. `CSTP_DRIVERS=docs/examples/driver/store.ts` makes a service use them, with a new data directory for each start:
 * the service notices if the acts that it once signed are gone.
 */
import {
  type Appended,
  compareText,
  type Drivers,
  type Edge,
  edgeOrder,
  eraserOf,
  type FeedEntry,
  filterFields,
  newMember,
  StorageError,
  type Store,
  type StoredDecision,
  type StoreOptions,
  type Transaction,
  verbsOf,
} from '@cstp/client/storage'
import { openMemoryEvidence } from './evidence.ts'
import { openCatalogue } from './memory/catalogue.ts'
import { decisionWriter, embeddingWriter } from './memory/decisions.ts'
import { auditWriter, keyedOf, keyedWriter, plain, recordOf } from './memory/keyed.ts'
import {
  emptyTables,
  generationIn,
  type Layers,
  layersOver,
  ofSource,
  storedDecision,
  storedTexts,
  textOf,
  vectorKey,
} from './memory/tables.ts'
import { openMemoryThread, threadWriter } from './memory/thread.ts'

export function openMemoryStore(options: StoreOptions): Store {
  const tables = emptyTables()
  const { decisions, embeddings, keyed } = tables
  const catalogue = openCatalogue()
  let last: Promise<unknown> = Promise.resolve()
  let closed = false

  function commit(layers: Layers): void {
    const activeBefore = generationIn(tables, 'active')?.number
    const changed = [...layers.decisions.changed()]
    for (const one of Object.values(layers)) one.commit()
    const all = generationIn(tables, 'active')?.number !== activeBefore
    for (const id of all ? decisions.keys() : changed) {
      const found = storedDecision(tables, id)
      if (found === null) catalogue.remove(id)
      else catalogue.put({ fields: filterFields(found.record, found.indexed), reasons: found.record.reasons })
    }
  }

  async function run<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    if (closed) throw new StorageError('unavailable', 'the store is closed')
    const layers = layersOver(tables)
    const member = newMember()
    const verb = verbsOf(member, (error) => error)
    try {
      const decisions = decisionWriter(layers, verb, { analyse: options.analyse, committed: catalogue })
      const trail = auditWriter(layers, options.now)
      const thread = threadWriter(layers)
      const result = await work({
        decisions,
        embeddings: embeddingWriter(layers, verb),
        keyed: keyedWriter(layers, verb),
        thread: { newest: verb(thread.newest) },
        append: verb(({ audit = [], acts = [] }: Appended) => {
          for (const entry of audit) trail.append(entry)
          thread.append(acts)
        }),
        erase: eraserOf({
          decision: decisions.erase,
          acts: verb(thread.erase),
          audit: verb(trail.redact),
          expired: verb(trail.expire),
        }),
      })
      if (member.broken !== undefined) throw member.broken
      commit(layers)
      return result
    } finally {
      member.open = false
    }
  }

  const existing = (ids: readonly string[]): StoredDecision[] =>
    ids.map((id) => storedDecision(tables, id)).filter((found) => found !== null)

  function feedEntry(id: string, seq: number, generation: number): FeedEntry {
    const found = storedDecision(tables, id)
    if (found === null) return { seq, id, fields: null, terms: '', vectors: null }
    const { record, indexed } = found
    const { terms } = decisions.get(id)!
    const vectors = embeddings.get(vectorKey(generation, id)) ?? null
    return { seq, id, fields: filterFields(record, indexed), terms, vectors }
  }

  return {
    driver: 'memory',
    decisions: {
      get: async (ids) => storedTexts(tables, ids),
      find: async (query) =>
        'prefix' in query ? catalogue.findIds(query.prefix, query.limit) : ofSource(tables, query.source_key),
      async list(query) {
        const { ids, total } = catalogue.list(query)
        return { texts: existing(ids).map(({ record }) => textOf(record)), total }
      },
      walk: async (...query) => catalogue.walk(...query),
      groups: async (filter, by) => catalogue.groups(filter, by),
    },
    edges: {
      async of(ids, { direction, types, limit }) {
        const wanted = ids && new Set(ids)
        const newestFirst = (a: Edge, b: Edge) => compareText(b.created_at, a.created_at) || edgeOrder(a, b)
        return [...decisions.values()]
          .flatMap(({ edges }) => edges)
          .filter(
            (edge) =>
              (wanted === null ||
                (direction !== 'incoming' && wanted.has(edge.source_id)) ||
                (direction !== 'outgoing' && wanted.has(edge.target_id))) &&
              (types === undefined || types.includes(edge.edge_type)),
          )
          .sort(wanted === null ? newestFirst : edgeOrder)
          .slice(0, limit)
          .map(plain)
      },
    },
    feed: {
      head: async () => ({
        seq: tables.counters.get('seq') ?? 0,
        active: plain(generationIn(tables, 'active')),
        building: plain(generationIn(tables, 'building')),
      }),
      async since(after, generation, limit) {
        const changes = [...[...decisions].map(([id, { seq }]) => [id, seq] as const), ...tables.erased]
        const rows = changes.filter(([, seq]) => seq > after).sort(([, a], [, b]) => a - b)
        return rows.slice(0, limit).map(([id, seq]) => feedEntry(id, seq, generation))
      },
    },
    keyed: {
      get: async (collection, keys) => keyedOf(keyed, collection, keys),
      async list(collection, { prefix = '', after, order = 'asc', limit }) {
        const sign = order === 'asc' ? 1 : -1
        return [...keyed.values()]
          .filter((one) => one.collection === collection && one.key.startsWith(prefix))
          .filter(({ key }) => after === undefined || sign * compareText(key, after) > 0)
          .sort((a, b) => sign * compareText(a.key, b.key))
          .slice(0, limit)
          .map(recordOf)
      },
    },
    audit: {
      async list({ since_ms, agent, method, rule, allowed, without, cursor, limit }) {
        return [...tables.audit.values()]
          .sort((a, b) => b.seq - a.seq)
          .filter(
            (entry) =>
              (cursor === undefined || entry.seq < cursor) &&
              (since_ms === undefined || Date.parse(entry.at) >= since_ms) &&
              (agent === undefined || entry.agent === agent) &&
              (method === undefined || entry.method === method) &&
              (rule === undefined || entry.rules.includes(rule)) &&
              !without?.includes(entry.method) &&
              (allowed === undefined || entry.allowed === allowed),
          )
          .slice(0, limit)
          .map(plain)
      },
    },
    thread: openMemoryThread(tables.acts),
    transaction(work) {
      const mine = last.then(() => run(work))
      last = mine.catch(() => {})
      return mine
    },
    reconcile: async () => [],
    scrub: async () => [],
    async close() {
      await last
      closed = true
    },
  }
}

export default {
  store: async (options) => openMemoryStore(options),
  evidence: async () => openMemoryEvidence(),
} satisfies Drivers
