/** Inputs and findings of an examination of the thread. */
import type { Evidence } from '../../../../../sdk/storage/evidence.ts'
import type { Store } from '../../../../../sdk/storage/store.ts'
import type { ActKind, StoredAct, ThreadReads } from '../../../../../sdk/storage/thread.ts'
import { subjectOf } from '../attested.ts'
import { commitmentOf } from '../commitment.ts'
import { redactionSubject } from '../receipts.ts'

/** The thread, and the data that its acts are about. */
export interface ThreadSources extends Pick<Store, 'audit' | 'keyed' | 'decisions' | 'edges'> {
  thread: ThreadReads
  /** Null if there is no evidence log. */
  evidence: Pick<Evidence, 'head' | 'hashes'> | null
}

/** A contradiction within an act, between acts, or between an act and the data that it is about. */
export interface ThreadFlaw {
  /** Place in the log from 0, as in receipts; null if there is none, or none yet. */
  index: number | null
  record_id: string | null
  /** The decision whose state is in no act: its file was edited by hand, which people may do. Null for any other flaw. */
  untold: string | null
  /** In words, with the place. */
  what: string
}

/** An act and its parsed payload. */
export interface Said {
  act: StoredAct
  said: Record<string, unknown>
}

/** An act as messages name it. */
export const named = ({ seq, record_id }: Pick<StoredAct, 'seq' | 'record_id'>): string =>
  seq === null ? `the act ${record_id}, which waits for its place` : `entry ${seq - 1}, the act ${record_id}`

/** A flaw of an act. */
export const flawOf = (act: Pick<StoredAct, 'seq' | 'record_id'>, what: string): ThreadFlaw => ({
  index: act.seq === null ? null : act.seq - 1,
  record_id: act.record_id,
  untold: null,
  what: `${named(act)}: ${what}`,
})

/** A flaw of the log at a place, or of the log as a whole. */
export const flawAt = (index: number | null, what: string): ThreadFlaw => ({
  index,
  record_id: null,
  untold: null,
  what,
})

// Checks an act against its commitment.

/** The payload of an act; null if it was erased, or can't be parsed. */
export function saidBy({ payload }: Pick<StoredAct, 'payload'>): Record<string, unknown> | null {
  if (payload === null) return null
  try {
    const said: unknown = JSON.parse(payload)
    return typeof said === 'object' && said !== null ? (said as Record<string, unknown>) : null
  } catch {
    return null
  }
}

/** What an act is found by, as its payload says. */
function subjectSaid(kind: ActKind, said: Record<string, unknown>): unknown {
  switch (kind) {
    case 'decision':
    case 'revision':
    case 'review':
    case 'link':
      return (said.record as { id?: unknown } | undefined)?.id
    case 'score':
      return said.decision
    case 'state':
      return subjectOf(String(said.collection), String(said.key))
    case 'verdict':
    case 'call':
    case 'session':
    case 'approval':
      return (said.ids as unknown[] | undefined)?.[0]
    case 'redaction':
      return redactionSubject
    case 'policy':
    case 'action':
    case 'evidence':
      return null
  }
}
const saltForm = /^[0-9a-f]{64}$/

/** Checks payload and salt against the commitment, and the columns against the payload. @param said the parsed payload */
export function actFlaw(act: StoredAct, said: Record<string, unknown> | null): ThreadFlaw | null {
  const { payload, salt, commitment } = act
  if (payload === null && salt === null) return null
  if (payload === null || salt === null)
    return flawOf(act, 'either its payload or its salt is gone, and the other is not')
  if (!saltForm.test(salt) || commitmentOf(salt, payload) !== commitment)
    return flawOf(act, 'payload and salt do not match the log: one of them was changed')
  for (const name of ['record_id', 'kind', 'at'] as const)
    if (said?.[name] !== act[name]) return flawOf(act, `its payload is of another ${name}: ${String(said?.[name])}`)
  // An older act about the same subject would count as the newest.
  const subject = subjectSaid(act.kind, said!) ?? null
  if (subject !== (act.decision_id?.toWellFormed() ?? null))
    return flawOf(act, `it is found by ${act.decision_id}, and its payload is about ${subject}`)
  return null
}
