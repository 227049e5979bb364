/** Removes copies of erased decisions in a transaction, including those written while the erasure was searching. */
import { mostRedacted } from '../../../sdk/storage/audit.ts'
import { isStorageError } from '../../../sdk/storage/errors.ts'
import type { Store, Transaction } from '../../../sdk/storage/store.ts'
import { timestamp } from '../../core/time.ts'
import { type ActTools, actOf } from '../ledger/thread/acts.ts'
import { redactionSubject } from '../ledger/thread/receipts.ts'
import { newActId } from '../record/act-ids.ts'
import { type Copies, type ErasedAct, findCopies, withoutMentions } from './copies.ts'
import type { Target } from './target.ts'

/** Attempts: if a decision changes during a search, the search is repeated. */
export const attempts = 5

/** What is needed to remove copies written while an erasure was searching. */
export interface Late {
  agent: string
  /** The ground of the erasure. */
  basis: string
  /** When the search began: milliseconds since 1970, and the newest change in the feed. */
  since: { ms: number; seq: number }
}

/** Appends the redaction to the thread: what was removed, never its content. */
export async function tell(
  tx: Transaction,
  tools: ActTools,
  agent: string,
  record_id: string,
  detail: Record<string, unknown>,
  erased: readonly ErasedAct[],
): Promise<void> {
  const at = timestamp(tools.now())
  const said = { ...detail, record_ids: idsOf(erased), erased }
  const act = { kind: 'redaction' as const, record_id, decision_id: redactionSubject, at, agent, detail: said }
  await tx.append({ acts: [actOf(act, tools)] })
}

const idsOf = (acts: readonly ErasedAct[]): string[] => acts.map(({ record_id }) => record_id)

/** How many copies there were, by kind. */
export interface CopyCounts {
  decisions: number
  audit_lines: number
  keyed_records: number
  acts: number
}

export const countsOf = ({ others, lines, keyed, acts }: Copies): CopyCounts => ({
  decisions: others.length,
  audit_lines: lines.length,
  keyed_records: keyed.length,
  acts: acts.length,
})

export async function takeCopies(
  tx: Transaction,
  { lines, keyed, others, acts }: Copies,
  targets: readonly Target[],
  by: string,
) {
  for (const { record, revision } of others) await tx.decisions.put(withoutMentions(record, targets), revision)
  for (const { collection, key, version, expires_ms, left } of keyed) {
    if (left === undefined) await tx.keyed.delete(collection, [key])
    else await tx.keyed.put(collection, key, left, { version, expires_ms })
  }
  for (let at = 0; at < lines.length; at += mostRedacted) {
    const some = lines.slice(at, at + mostRedacted)
    const redacted = some.map(({ seq, detail }) => ({ seq, detail: { ...detail, redacted_by: by } }))
    await tx.erase({ audit: { lines: redacted, redacted_by: by } })
  }
  await tx.erase({ acts: idsOf(acts) })
}

/** Removes copies that were written while the erasure was searching. */
export async function takeLate(
  { store, yieldToEventLoop, ...tools }: { store: Store; yieldToEventLoop(): Promise<void> } & ActTools,
  targets: readonly Target[],
  by: string,
  { agent, basis, since }: Late,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const found = await findCopies({ store, targets, since, yieldToEventLoop })
    const copies = { ...found, acts: found.acts.filter(({ record_id }) => record_id !== by) }
    const { lines, checks } = copies
    if (Object.values(countsOf({ ...copies, acts: [] })).every((count) => count === 0)) return
    try {
      await store.transaction(async (tx) => {
        await takeCopies(tx, copies, targets, by)
        const ids = targets.map(({ id }) => id)
        const detail = { ids, basis, of: by, lines: lines.map(({ seq }) => seq), checks }
        await tell(tx, tools, agent, newActId('redaction', timestamp(tools.now()), tools), detail, copies.acts)
      })
      return
    } catch (error) {
      if (!isStorageError(error, 'conflict') || attempt === attempts) throw error
    }
  }
}
