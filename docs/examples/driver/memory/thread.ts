/** The thread of the memory store. */
import {
  growsTree,
  keptCheckpoints,
  type LedgerHead,
  noHash,
  type StoredAct,
  type StoredCheckpoint,
  type ThreadReader,
  type UnplacedAct,
} from '@cstp/client/storage'
import type { Layers } from './tables.ts'

const newestOf = (acts: readonly StoredAct[], decision_ids: readonly string[]): StoredAct[] =>
  decision_ids.flatMap((id) => acts.findLast((act) => act.decision_id === id) ?? [])

export function openMemoryThread(acts: ReadonlyMap<string, UnplacedAct>): ThreadReader {
  const nodes = new Map<string, string>()
  const checkpoints: StoredCheckpoint[] = []
  let head: LedgerHead = { seq: 0, hash: noHash, frontier: [] }
  const all = (): StoredAct[] =>
    [...acts.values()].map((act, index) => ({ ...act, seq: index < head.seq ? index + 1 : null }))
  const page = (seq: number, limit: number) => {
    const from = Math.max(0, seq - 1)
    return all()
      .slice(0, head.seq)
      .slice(from, from + limit)
  }
  return {
    head: async () => ({ ...head }),
    hashes: async (seq, limit) => page(seq, limit).map(({ commitment }) => commitment),
    async nodes(level, index, limit) {
      const found: string[] = []
      for (let at = index; at < index + limit; at++) {
        const hash = nodes.get(`${level}/${at}`)
        if (hash === undefined) break
        found.push(hash)
      }
      return found
    },
    async read(query) {
      if ('from' in query)
        return query.from === null ? all().slice(head.seq, head.seq + query.limit) : page(query.from, query.limit)
      const known = new Map(all().map((act) => [act.record_id, act]))
      return query.record_ids.flatMap((record_id) => known.get(record_id) ?? [])
    },
    ofDecision: async (decision_id, limit) =>
      all()
        .filter((act) => act.decision_id === decision_id)
        .slice(0, limit)
        .map(({ record_id, kind, at, seq, payload }) => ({
          ...{ record_id, kind, at, seq },
          bytes: Buffer.byteLength(payload ?? ''),
        })),
    newest: async (decision_ids) => newestOf(all(), decision_ids),
    async sequence(grow, limit) {
      const waiting = all().slice(head.seq, head.seq + limit)
      const last = waiting.at(-1)
      if (last === undefined) return 0
      const grown = grow(
        head,
        waiting.map(({ commitment }) => commitment),
      )
      const seq = head.seq + waiting.length
      growsTree(head.seq, seq, grown)
      for (const { level, index, hash } of grown.nodes) nodes.set(`${level}/${index}`, hash)
      head = { seq, hash: last.commitment, frontier: [...grown.frontier] }
      return waiting.length
    },
    async saveCheckpoint(checkpoint) {
      checkpoints.push({ ...checkpoint })
      const alike = checkpoints.filter(({ exported }) => exported === checkpoint.exported)
      if (alike.length > keptCheckpoints) checkpoints.splice(checkpoints.indexOf(alike[0]!), 1)
    },
    checkpoints: async (latest = checkpoints.length) =>
      checkpoints.slice(Math.max(0, checkpoints.length - latest)).map((one) => ({ ...one })),
  }
}

export const threadWriter = ({ acts }: Layers) => ({
  newest: (decision_ids: readonly string[]): StoredAct[] =>
    newestOf(
      [...acts.entries()].map(([, act]) => ({ ...act, seq: null })),
      decision_ids,
    ),
  append(added: readonly UnplacedAct[]): void {
    for (const act of added) {
      if (acts.get(act.record_id) !== undefined) throw new Error(`the act ${act.record_id} exists already`)
      acts.set(act.record_id, { ...act })
    }
  },
  erase(record_ids: readonly string[]): void {
    for (const record_id of record_ids) {
      const act = acts.get(record_id)
      if (act !== undefined) acts.set(record_id, { ...act, payload: null, salt: null })
    }
  },
})
