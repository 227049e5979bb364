/** Checks that each audit entry is named by one act, and that each act that names an entry finds it. Both are read newest first. */
import { redactionMethod, retentionMethod } from '../../../../../sdk/storage/audit.ts'
import type { AuditReader, StoredAuditEntry } from '../../../../../sdk/storage/store.ts'
import type { StoredAct } from '../../../../../sdk/storage/thread.ts'
import { auditDigest } from '../../../../core/canonical.ts'
import { flawAt, flawOf, type ThreadFlaw } from './flaw.ts'

interface NamingAct extends Pick<StoredAct, 'seq' | 'record_id'> {
  at_ms: number
  /** The call of the audit entry, which erasures do not change. */
  call: string
}

export interface TrailCheck {
  /** @param said null if the act was erased */
  act(act: StoredAct, said: Record<string, unknown> | null): void
  /** Reads audit entries until as many were read as acts that name one. */
  follow(): Promise<void>
  /** Reads the remaining entries. */
  end(): Promise<ThreadFlaw[]>
}

const page = 500
/** Audit entries this young may belong to acts that were appended since the examination began. */
const young_ms = 60_000

const callOf = (one: Record<string, unknown>): string => JSON.stringify([one.method, one.request_id, one.agent])

/** @param now milliseconds since 1970 */
export async function trailCheck(audit: AuditReader, now: number): Promise<TrailCheck> {
  const [newest] = await audit.list({ limit: 1 })
  let cursor = (newest?.seq ?? 0) + 1
  let more = newest !== undefined
  let ahead = 0
  const acts = new Map<string, NamingAct>()
  const lines = new Map<string, StoredAuditEntry>()
  const redacted = new Map<number, unknown>()
  const redactedCalls = new Set<string>()
  const unsaid: StoredAuditEntry[] = []
  const twice: ThreadFlaw[] = []
  /** Times and decisions of erased acts, which no longer say which entry they named: such entries stay unproved. */
  const erased = new Set<string>()
  let kept_from_ms = Number.NEGATIVE_INFINITY

  /** Applies an entry whose act was found: it may say which other entries were removed or redacted. */
  function believe({ method, detail }: StoredAuditEntry): void {
    const said = (detail ?? {}) as { before_ms?: number; lines?: number[]; redacted_by?: unknown }
    if (method === retentionMethod) kept_from_ms = Math.max(kept_from_ms, said.before_ms ?? kept_from_ms)
    if (method === redactionMethod) for (const seq of said.lines ?? []) redacted.set(seq, said.redacted_by)
  }

  function readLine(line: StoredAuditEntry): void {
    const digest = auditDigest(line)
    if (acts.delete(digest)) believe(line)
    // A second entry with the same digest is one too many.
    else if (lines.has(digest)) unsaid.push(line)
    else lines.set(digest, line)
  }

  async function read(): Promise<void> {
    const found = await audit.list({ cursor, limit: page })
    for (const line of found) readLine(line)
    ahead -= found.length
    more = found.length === page
    cursor = found.at(-1)?.seq ?? 0
  }

  /** Entries without an act, except those whose detail an erasure removed. */
  function linesLeft(): StoredAuditEntry[] {
    return [...lines.values(), ...unsaid].filter((line) => {
      const by = (line.detail as { redacted_by?: unknown } | null)?.redacted_by
      const isRedacted = by !== undefined && redacted.get(line.seq) === by
      if (isRedacted) redactedCalls.add(callOf({ ...line }))
      const isOfErased = line.ids.some((id) => erased.has(`${line.at} ${id}`))
      return !isRedacted && !isOfErased && Math.abs(Date.parse(line.at) - now) > young_ms
    })
  }

  return {
    act(act, said) {
      if (act.payload === null) erased.add(`${act.at} ${act.decision_id}`)
      const audit_sha256 = said?.audit_sha256
      if (said === null || typeof audit_sha256 !== 'string') return
      ahead++
      const line = lines.get(audit_sha256)
      if (acts.has(audit_sha256)) twice.push(flawOf(act, 'another act names the same audit entry'))
      else if (line === undefined) {
        const { seq, record_id } = act
        acts.set(audit_sha256, { seq, record_id, at_ms: Date.parse(act.at), call: callOf(said) })
      } else {
        lines.delete(audit_sha256)
        believe(line)
      }
    },
    async follow() {
      while (more && ahead > 0) await read()
    },
    async end() {
      while (more) await read()
      const left = linesLeft()
      const missing = [...acts.values()].filter(({ at_ms, call }) => at_ms >= kept_from_ms && !redactedCalls.has(call))
      const byCall = Map.groupBy(left, (line) => callOf({ ...line }))
      const flaws = missing.map((act) => {
        const changed = byCall.get(act.call)?.shift()
        return changed === undefined
          ? flawOf(act, 'the audit entry that it names is gone, or was changed')
          : flawOf(act, `line ${changed.seq} of the audit trail is not what it names: the line was changed`)
      })
      for (const line of [...byCall.values()].flat())
        flaws.push(
          flawAt(null, `line ${line.seq} of the audit trail has no act: it was added or changed, or its act was`),
        )
      return [...twice, ...flaws]
    },
  }
}
