/** Erases records that were kept for as long as the rules allow, in batches with an audit entry each. A legal hold keeps everything. */
import { CstpError } from '../../../sdk/errors.ts'
import { readDecision } from '../../../sdk/storage/decisions.ts'
import { isStorageError } from '../../../sdk/storage/errors.ts'
import { keyedPages } from '../../../sdk/storage/keyed.ts'
import type { DecisionFields, Store } from '../../../sdk/storage/store.ts'
import type { HookSession } from '../hook/session.ts'
import { linkMethod } from '../ledger/evidence/content.ts'
import { type HookAction, hookCollections } from '../record/hook-records.ts'
import { type ErasureCall, erase, type Ground } from './erase.ts'
import { type Kind, limitsOf, type RetentionRule } from './retention-rules.ts'

export interface SweepCall extends Omit<ErasureCall, 'caller' | 'method' | 'request_id'> {
  /** Whether the sweep should end; called between two batches. */
  stopped(): boolean
}

/** Few enough that no other write waits for long. */
const lines = 1_000
const decisionsAtOnce = 50
const keyedAtOnce = 500

/** Whether a decision is under a legal hold. One that can't be read counts as not held: its erasure reports why. */
async function isHeld(decisions: Store['decisions'], id: string): Promise<boolean> {
  try {
    return (await readDecision(decisions, id))?.record.holds !== undefined
  } catch (error) {
    if (isStorageError(error, 'unavailable')) throw error
    return false
  }
}

/** Decisions that are due to be erased, oldest first, each with the rule that says so. */
export async function* dueDecisions(
  { decisions }: Pick<Store, 'decisions'>,
  rules: readonly RetentionRule[],
  now_ms: number,
): AsyncGenerator<{ fields: DecisionFields; rule: RetentionRule }> {
  const ends = rules.flatMap(({ kind, at_most_ms }) => (kind === 'decision' && at_most_ms !== null ? [at_most_ms] : []))
  if (ends.length === 0) return
  const filter = { created_to_ms: now_ms - Math.min(...ends) }
  for (let after: DecisionFields | null = null; ; ) {
    const page: DecisionFields[] = await decisions.walk(filter, after, keyedAtOnce)
    const due = page.flatMap((fields) => {
      const { category, stakes, created_ms } = fields
      const { most } = limitsOf(rules, { kind: 'decision', category, stakes })
      return most !== null && now_ms - created_ms > most.at_most_ms! ? [{ fields, rule: most }] : []
    })
    for (const one of due) if (!(await isHeld(decisions, one.fields.id))) yield one
    if (page.length < keyedAtOnce) return
    after = page.at(-1)!
  }
}

/** @param failures gets the errors of decisions that could not be erased; the others are still erased */
async function sweepDecisions(call: SweepCall, failures: unknown[]): Promise<number> {
  const { retention: rules, store } = call
  const by = { ...call, caller: { agent: 'cstp' }, method: 'retention', request_id: 'retention' }
  let done = 0
  const eraseAll = async (ids: readonly string[], ground: Ground): Promise<void> => {
    try {
      await erase(by, ids, ground)
      done += ids.length
    } catch (error) {
      if (isStorageError(error, 'unavailable')) throw error
      if (ids.length > 1) for (const id of ids) await eraseAll([id], ground)
      // Otherwise another server erased it first.
      else if (!(error instanceof CstpError && error.error === 'decision_not_found')) failures.push(error)
    }
  }
  const flush = async (rule: RetentionRule, ids: string[]) => {
    const ground = { basis: rule.basis, reason: `kept for at most ${Math.round(rule.at_most_ms! / 86_400_000)} days` }
    if (ids.length > 0) await eraseAll(ids.splice(0), ground)
  }
  const batches = new Map<RetentionRule, string[]>()
  for await (const { fields, rule } of dueDecisions(store, rules, call.now())) {
    if (call.stopped()) return done
    const ids = batches.get(rule) ?? []
    batches.set(rule, ids)
    ids.push(fields.id)
    if (ids.length === decisionsAtOnce) await flush(rule, ids)
  }
  for (const [rule, ids] of batches) await flush(rule, ids)
  return done
}

async function sweepAudit({ store, stopped, now }: SweepCall, most_ms: number): Promise<number> {
  const before_ms = now() - most_ms
  let removed = 0
  for (let more = true; more && !stopped(); ) {
    // Entries with digests of what evidence was linked to are kept: they are proof.
    const count = await store.transaction((tx) =>
      tx.erase({ expired: { before_ms, keep: [linkMethod], limit: lines } }),
    )
    removed += count
    more = count === lines
  }
  return removed
}

/** Deletes keyed records of hooks that began longer than `most_ms` ago. */
async function sweepKeyed(
  call: SweepCall,
  collection: string,
  since: (value: never, key: string) => number,
  most_ms: number,
) {
  const { store, stopped, now } = call
  let removed = 0
  for await (const page of keyedPages(store.keyed, collection)) {
    const old = page.filter(({ key, value }) => since(value as never, key) < now() - most_ms).map(({ key }) => key)
    if (stopped()) break
    if (old.length > 0) await store.transaction(({ keyed }) => keyed.delete(collection, old))
    removed += old.length
  }
  return removed
}

/** Erases everything that is due. @returns the numbers erased, by kind @throws the first failure, after all that could be erased */
export async function sweep(call: SweepCall): Promise<Record<Kind, number>> {
  const most = (kind: Kind) => limitsOf(call.retention, { kind }).most?.at_most_ms ?? null
  const failures: unknown[] = []
  const done: Record<Kind, number> = { decision: await sweepDecisions(call, failures), audit: 0, action: 0, session: 0 }
  const [audit, action, session] = [most('audit'), most('action'), most('session')]
  if (audit !== null) done.audit = await sweepAudit(call, audit)
  if (action !== null)
    done.action = await sweepKeyed(call, hookCollections.action, ({ at_ms }: HookAction) => at_ms, action)
  if (session !== null) {
    done.session = await sweepKeyed(call, hookCollections.session, ({ started_ms }: HookSession) => started_ms, session)
    await sweepKeyed(call, hookCollections.start, (_, key) => Number(key.slice(0, 15)), session)
  }
  if (failures.length > 0) throw failures[0]
  return done
}
