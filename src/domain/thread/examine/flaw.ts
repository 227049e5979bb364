/** What an examination of the thread reads, and what it finds. */
import type { Evidence } from '../../../../sdk/storage/evidence.ts'
import type { Store } from '../../../../sdk/storage/store.ts'
import type { StoredAct, ThreadReads } from '../../../../sdk/storage/thread.ts'

/** The thread, and what it speaks of. */
export interface ThreadSources extends Pick<Store, 'audit' | 'keyed' | 'decisions'> {
  thread: ThreadReads
  /** Null if there is no evidence log. */
  evidence: Pick<Evidence, 'head' | 'hashes'> | null
}

/** What contradicts: acts each other or themselves, or what they speak of. */
export interface ThreadFlaw {
  /** Place in the log from 0, as receipts count; null if it is at none, or at none yet. */
  index: number | null
  record_id: string | null
  /** The decision that no act speaks of as it is: its file was edited by hand, which people may do. Null for anything else. */
  untold: string | null
  /** In words, with the place. */
  what: string
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
