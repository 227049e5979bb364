/**
 * Erasure of decisions. One transaction removes everything that the store holds of them, and leaves a tombstone, a redaction in the
 * thread and an audit entry. What can't be part of a transaction, such as pages of files, follows, and stays pending until it is done.
 */

import { invalidParams } from '../../../sdk/errors.ts'
import { readDecision } from '../../../sdk/storage/decisions.ts'
import { isStorageError } from '../../../sdk/storage/errors.ts'
import { outboxCollection } from '../../../sdk/storage/keyed.ts'
import type { Store, Transaction } from '../../../sdk/storage/store.ts'
import { audit } from '../../core/audit.ts'
import { timestamp } from '../../core/time.ts'
import { newActId } from '../record/act-ids.ts'
import { requireNoHold } from '../record/decision/holds.ts'
import { revisionsOf } from '../record/decision/revisions.ts'
import {
  erasureCollections,
  missing,
  type SourceMark,
  type Tombstone,
  tombstoneOf,
} from '../record/decision/tombstone.ts'
import { type Copies, findCopies, type KeptCheck } from './copies.ts'
import { finish, type PendingErasure, type Scrubbed } from './finish.ts'
import { keptBy, type RetentionRule } from './retention-rules.ts'
import { attempts, type CopyCounts, countsOf, type Late, takeCopies, takeLate, tell } from './take.ts'
import { type Target, targetOf } from './target.ts'

/** What an erasure needs from a call. */
export interface ErasureCall extends Scrubbed {
  store: Store
  caller: { agent: string }
  method: string
  request_id: string
  tracker: { flush(): Promise<void> }
  sourceMark: SourceMark
  retention: readonly RetentionRule[]
  now(): number
  randomHex(bytes: number): string
}

/** The ground of an erasure. A reason may name a person, so it is kept in the audit entry, which administrators read, and in no act. */
export interface Ground {
  basis: string
  reason: string
}

export interface Erased {
  redaction_record_id: string
  copies: CopyCounts
  /** Checks that led to the decision, without their subject. */
  checks: KeptCheck[]
  /** What is still on disk, in words; its removal is retried until nothing is left. */
  pending: string[]
}

/** @throws CstpError `invalid_params` if a retention rule keeps the decision and does not except this basis */
function requireOver(call: ErasureCall, { id, stored }: Target, basis: string): void {
  if (stored === null) return
  const { category, stakes, created_at } = stored.record
  const recorded_ms = Date.parse(created_at)
  const rule = keptBy(call.retention, { category, stakes, recorded_ms }, basis, call.now())
  if (rule === null) return
  const until = timestamp(recorded_ms + rule.at_least_ms!).slice(0, 10)
  const message = `${id} is kept until ${until} (${rule.basis})`
  const expected = rule.unless.length > 0 ? `one of ${rule.unless.join(', ')}` : 'no erasure before'
  throw invalidParams({ path: 'basis', message, expected, received: basis }, { kept_until: until })
}

/** Thrown to roll back a transaction that only checks something. */
class Looked extends Error {}

/** Whether a decision exists that no answer shows because its file was removed. */
const isHidden = ({ store }: ErasureCall, id: string): Promise<boolean> =>
  store
    .transaction(async (tx) => {
      await tx.erase({ decisions: [{ id, revision: null }] })
      throw new Looked()
    })
    .catch((error: unknown) => {
      if (error instanceof Looked) return true
      if (isStorageError(error, 'not_found')) return false
      throw error
    })

/** Finds what would be erased. @throws CstpError `decision_not_found`, or `invalid_params` if a legal hold or a rule keeps a decision */
export async function look(
  call: ErasureCall,
  ids: readonly string[],
  { basis }: Pick<Ground, 'basis'>,
): Promise<{ targets: Target[]; copies: Copies }> {
  // An input noted a moment ago is a copy too.
  await call.tracker.flush()
  const targets: Target[] = []
  for (const id of ids) {
    const stored = await readDecision(call.store.decisions, id)
    if (stored === null && !(await isHidden(call, id))) throw await missing(call.store.keyed, id, id)
    targets.push(targetOf(id, stored, await revisionsOf(call.store.keyed, id)))
  }
  for (const target of targets) {
    if (target.stored) requireNoHold(target.stored.record)
    requireOver(call, target, basis)
  }
  return { targets, copies: await findCopies({ store: call.store, targets, yieldToEventLoop: call.yieldToEventLoop }) }
}

async function take(
  call: ErasureCall,
  tx: Transaction,
  { targets, copies }: { targets: readonly Target[]; copies: Copies },
  redaction_record_id: string,
  { late, reason }: { late: Late; reason: string },
): Promise<void> {
  const { agent: by, basis } = late
  const at = timestamp(call.now())
  const ids = targets.map(({ id }) => id)
  for (const { id, stored } of targets) {
    await tx.erase({ decisions: [{ id, revision: stored?.revision ?? null }] })
    await tx.keyed.put(erasureCollections.erased, id, { at, by, basis, redaction_record_id } satisfies Tombstone)
    const source_key = stored?.record.source_key ?? null
    if (source_key !== null)
      await tx.keyed.put(erasureCollections.source, call.sourceMark(source_key), { redaction_record_id })
  }
  await tx.keyed.delete(outboxCollection, ids)
  await takeCopies(tx, copies, targets, redaction_record_id)
  await tx.keyed.put(erasureCollections.unfinished, redaction_record_id, { ids, late } satisfies PendingErasure)
  const lines = copies.lines.map(({ seq }) => seq)
  await tell(tx, call, by, redaction_record_id, { ids, basis, lines, checks: copies.checks }, copies.acts)
  await audit(call, tx, ids, { erased: ids.length, redaction_record_id, basis, reason })
}

/** Erases decisions. @throws CstpError as {@link look} */
export async function erase(call: ErasureCall, ids: readonly string[], { basis, reason }: Ground): Promise<Erased> {
  const redaction_record_id = newActId('redaction', timestamp(call.now()), call)
  const since = { ms: call.now(), seq: (await call.store.feed.head()).seq }
  const late: Late = { agent: call.caller.agent, basis, since }
  for (let attempt = 1; ; attempt++) {
    const found = await look(call, ids, { basis })
    try {
      await call.store.transaction((tx) => take(call, tx, found, redaction_record_id, { late, reason }))
    } catch (error) {
      // Another call changed or erased it, which the next attempt sees.
      const isAgain = isStorageError(error, 'conflict') || isStorageError(error, 'not_found')
      if (!isAgain || attempt === attempts) throw error
      continue
    }
    await call.tracker.flush()
    await takeLate(call, found.targets, redaction_record_id, late)
    const pending = await finish(call, redaction_record_id, found.targets)
    return { redaction_record_id, copies: countsOf(found.copies), checks: found.copies.checks, pending }
  }
}

/** The tombstone of a decision that was erased before; null if it was not. */
export const erasedBefore = (call: Pick<ErasureCall, 'store'>, id: string): Promise<Tombstone | null> =>
  tombstoneOf(call.store.keyed, id)
