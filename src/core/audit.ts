/** Rows of the audit trail for writes: who called which method, and which decisions it concerned. */
import type { AuditEntry, Store, StoredAuditEntry, Transaction } from '../../sdk/storage/store.ts'
import type { Caller } from './caller.ts'
import { type Log, messageOf } from './log.ts'
import { timestamp } from './time.ts'

/** The check of an action that an entry belongs to. A preAction that records is evaluated as a plan, then as a record: it is one check. */
export const checkOf = ({
  method,
  request_id,
  seq,
}: Pick<StoredAuditEntry, 'method' | 'request_id' | 'seq'>): string =>
  method === 'cstp.preAction' ? request_id : String(seq)

/** An evaluation that was only asked for, and led to no act. */
export const isDryRun = ({ detail }: Pick<AuditEntry, 'detail'>): boolean =>
  (detail as { dry_run?: unknown } | null)?.dry_run === true

/** The fields of a call that its audit entry contains. */
interface AuditedCall {
  caller: { agent: string }
  method: string
  request_id: string
  now(): number
}

/** The store for the writes of a caller: every audit entry contains the identity that the issuer of its token gave it. */
export function attributed(store: Store, { identity }: Pick<Caller, 'identity'>): Store {
  if (identity === undefined) return store
  const named = (entry: AuditEntry): AuditEntry => ({
    ...entry,
    detail: { ...(entry.detail as object | null), identity },
  })
  return Object.assign(Object.create(store) as Store, {
    transaction: <T>(work: (tx: Transaction) => Promise<T>): Promise<T> =>
      store.transaction((tx) =>
        work({
          ...tx,
          append: ({ audit: entries, ...rest }) =>
            tx.append({ ...rest, ...(entries && { audit: entries.map(named) }) }),
        }),
      ),
  })
}

/** Adds the audit entry of a write to the same transaction. @param stopped_by ids of the rules that refused the action */
export function audit(
  call: AuditedCall,
  tx: Transaction,
  ids: string[],
  detail: AuditEntry['detail'] = null,
  stopped_by: string[] | null = null,
): Promise<void> {
  return tx.append({
    audit: [
      {
        at: timestamp(call.now()),
        agent: call.caller.agent,
        method: call.method,
        request_id: call.request_id,
        ids,
        allowed: stopped_by === null ? null : false,
        rules: stopped_by ?? [],
        detail,
      },
    ],
  })
}

/**
 * Adds the audit entry of an append to the evidence log. Log and store share no transaction, so the log is written first: no entry then refers
 * to a missing record. If the entry can't be written, this is only logged, because the append itself has succeeded.
 */
export async function auditAppended(
  call: AuditedCall & { store: Store; log: Log },
  ids: string[],
  detail: Record<string, unknown>,
): Promise<void> {
  try {
    await call.store.transaction((tx) => audit(call, tx, ids, detail))
  } catch (error) {
    const { method, request_id, caller } = call
    const entry = { method, request_id, agent: caller.agent, ids, detail, error: messageOf(error) }
    call.log('error', 'evidence was appended, but not audited', entry)
  }
}
