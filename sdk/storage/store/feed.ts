/** The changes that derived indexes follow. */
import type { VectorSet } from '../vectors.ts'
import type { DecisionFields } from './decision-fields.ts'

/** A change that derived indexes follow: the newest state of one decision. */
export interface FeedEntry {
  seq: number
  id: string
  /** Null when the decision is gone. */
  fields: DecisionFields | null
  /** Null when it has none in that generation. */
  vectors: VectorSet | null
}

/**
 * The changes to decisions in the order in which they were committed. Each decision stands once, at its latest change.
 * Derived indexes read what is new to them here; that is how a second process sees a decision at its next query.
 */
export interface Feed {
  /** Newest change and active generation (0 where none). Cheap: it is asked before each search. */
  head(): Promise<{ seq: number; generation: number }>
  /** Entries with `seq` above `after`, ascending. Vectors are those of `generation`. */
  since(after: number, generation: number, limit: number): Promise<FeedEntry[]>
}
