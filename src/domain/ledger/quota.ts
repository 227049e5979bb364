/**
 * Limits the bytes that an agent may write in a day (UTC): decisions, thoughts, audit entries, evidence, exported bundles, and what its reads
 * note for its next decision. The source of a webhook counts as an agent.
 * Bytes are counted as they are written. One of the agent's transactions adds them to the shared count in the store, once for every 256 KiB.
 */
import { CstpError } from '../../../sdk/errors.ts'
import type { AuditEntry, Store, Transaction } from '../../../sdk/storage/store.ts'
import { auditTexts, recordText } from '../../core/canonical.ts'
import { dayMs, timestamp } from '../../core/time.ts'
import type { Tracker } from '../record/deliberation/tracker.ts'
import type { Chain, NewEvent } from './evidence/chain.ts'
import type { BundleFiles, NewFile } from './evidence/report/text.ts'

/** Name of the collection; not moved to another store. */
const collection = 'agent_bytes'
/** Most bytes that a server counts on its own before it adds them to the shared count; also at most this part of the limit. */
const unsharedBytes = 262_144
const unsharedPart = 1 / 64
/** How long a server uses a shared count before it reads it again. */
const staleMs = 10_000
const expiredAtOnce = 10

interface Count {
  /** Start of the day, milliseconds since 1970. */
  day_ms: number
  /** Bytes of all servers, as last read. */
  shared: number
  /** Bytes of this server that are not in the shared count yet. */
  pending: number
  looked_ms: number
}

interface Counted {
  store: Store
  chain: Chain
  tracker: Tracker
  bundles: BundleFiles
}

/** What a noted input takes beside its text: a session in a new scope has records of its own. */
const notedBytes = 1_024

export interface Quota {
  /**
   * What an agent writes with. Its next transaction adds to the shared count what others than the store wrote. Beyond the limit nothing is
   * noted of what it reads.
   */
  of(agent: string): Counted
  /** @throws CstpError `rate_limited` if the agent has reached its limit for today */
  require(agent: string): Promise<void>
}

interface QuotaOptions extends Counted {
  now(): number
  /** 0 for no limit. */
  agent_bytes_per_day: number
}

const sizeOf = (value: unknown): number => JSON.stringify(value ?? null).length

const lineFrame =
  sizeOf({ at: '', agent: '', method: '', request_id: '', ids: 0, allowed: null, rules: 0, detail: 0 }) - 3

/** Size of the audit entry as JSON. */
function lineSize(entry: AuditEntry): number {
  const { at, agent, method, request_id } = entry
  const { ids, rules, detail } = auditTexts(entry)
  const named = at.length + agent.length + method.length + request_id.length
  return lineFrame + named + ids.length + rules.length + detail.length
}

/** A transaction that counts the bytes it writes. */
function counting(tx: Transaction, count: (bytes: number) => void): Transaction {
  const counted =
    <A extends unknown[]>(size: (...args: A) => number, run: (...args: A) => Promise<void>) =>
    (...args: A) => {
      count(size(...args))
      return run(...args)
    }
  const { decisions, keyed } = tx
  return {
    ...tx,
    decisions: { ...decisions, put: counted((record) => recordText(record).length, decisions.put) },
    keyed: { ...keyed, put: counted((_, __, value) => sizeOf(value), keyed.put) },
    append: counted(({ audit = [] }) => audit.reduce((sum, entry) => sum + lineSize(entry), 0), tx.append),
  }
}

export function openQuota(options: QuotaOptions): Quota {
  const { store, chain, tracker, now, agent_bytes_per_day } = options
  const unshared = Math.min(unsharedBytes, Math.ceil(agent_bytes_per_day * unsharedPart) || unsharedBytes)
  const counts = new Map<string, Count>()
  const agents = new Map<string, Counted>()
  const keyOf = (agent: string, { day_ms }: Count) => `${timestamp(day_ms).slice(0, 10)} ${agent}`

  function countOf(agent: string): Count {
    const day_ms = Math.floor(now() / dayMs) * dayMs
    const known = counts.get(agent)
    if (known?.day_ms === day_ms) return known
    const fresh = { day_ms, shared: 0, pending: 0, looked_ms: Number.NEGATIVE_INFINITY }
    counts.set(agent, fresh)
    return fresh
  }

  /** Adds bytes to the shared count, in the transaction that exceeds what the server may count on its own. */
  async function share(tx: Transaction, agent: string, count: Count, bytes: number): Promise<void> {
    const key = keyOf(agent, count)
    const [stored] = await tx.keyed.get(collection, [key])
    const shared = ((stored?.value as number | undefined) ?? 0) + bytes
    await tx.keyed.put(collection, key, shared, { expires_ms: count.day_ms + 2 * dayMs })
    await tx.keyed.expire(collection, now(), expiredAtOnce)
    count.shared = Math.max(count.shared, shared)
  }

  function storeOf(agent: string): Store {
    // Reads go to the store itself.
    return Object.assign(Object.create(store) as Store, {
      async transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
        const count = countOf(agent)
        // Bytes of earlier transactions that this one adds to the shared count.
        let claimed = 0
        let own = 0
        let sharing = false
        try {
          const result = await store.transaction(async (tx) => {
            // The transaction may run again from its start.
            own = 0
            const value = await work(
              counting(tx, (bytes) => {
                own += bytes
              }),
            )
            claimed += count.pending
            count.pending = 0
            sharing = own + claimed >= unshared
            if (sharing) await share(tx, agent, count, own + claimed)
            return value
          })
          if (!sharing) count.pending += own + claimed
          return result
        } catch (error) {
          count.pending += claimed
          throw error
        }
      },
    })
  }

  const chainOf = (agent: string): Chain => ({
    ...chain,
    async append(events, keys) {
      let bytes = 0
      const counted = (made: readonly NewEvent[]) => {
        bytes = made.reduce((sum, one) => sum + sizeOf(one), 0)
        return made
      }
      const all =
        typeof events === 'function' ? (known: Parameters<typeof events>[0]) => counted(events(known)) : counted(events)
      const appended = await chain.append(all, keys)
      countOf(agent).pending += bytes
      return appended
    },
  })

  const isFull = ({ shared, pending }: Count): boolean =>
    agent_bytes_per_day > 0 && shared + pending >= agent_bytes_per_day

  const trackerOf = (agent: string): Tracker => ({
    ...tracker,
    note(name, source, input) {
      const count = countOf(agent)
      if (isFull(count)) return
      count.pending += notedBytes + sizeOf(input)
      tracker.note(name, source, input)
    },
  })

  const bundlesOf = (agent: string): BundleFiles => ({
    ...options.bundles,
    write: (folder, files) =>
      options.bundles.write(
        folder,
        files.map(
          ({ name, content }): NewFile => ({
            name,
            async *content(written) {
              for await (const part of content(written)) {
                countOf(agent).pending += part.length
                yield part
              }
            },
          }),
        ),
      ),
  })

  return {
    of(agent) {
      let counted = agents.get(agent)
      if (counted === undefined) {
        counted = {
          store: storeOf(agent),
          chain: chainOf(agent),
          tracker: trackerOf(agent),
          bundles: bundlesOf(agent),
        }
        agents.set(agent, counted)
      }
      return counted
    },
    async require(agent) {
      if (agent_bytes_per_day === 0) return
      const count = countOf(agent)
      if (now() - count.looked_ms >= staleMs) {
        count.looked_ms = now()
        const [stored] = await store.keyed.get(collection, [keyOf(agent, count)])
        count.shared = Math.max(count.shared, (stored?.value as number | undefined) ?? 0)
      }
      if (!isFull(count)) return
      const written = count.shared + count.pending
      const resets_ms = count.day_ms + dayMs
      throw new CstpError(
        'rate_limited',
        `${agent} has written ${written} bytes today, and may write ${agent_bytes_per_day} (CSTP_AGENT_BYTES_PER_DAY; of a workspace, store.agent_bytes_per_day in its settings file); again from ${timestamp(resets_ms)}`,
        {
          written_bytes: written,
          limit_bytes: agent_bytes_per_day,
          retry_after: Math.ceil((resets_ms - now()) / 1_000),
        },
      )
    },
  }
}
