/** What a transaction has read and what it will write. The reads are compared with the tables when the writes are sent, all at once. */
import type { DecisionRecord } from '../../../../sdk/schema/decision.ts'
import type { VectorRow } from '../shared.ts'
import type { LockKind } from './locks.ts'

/** A decision to write. */
export interface DecisionWrite {
  record: DecisionRecord
  /** The revision to replace, 0 for a new decision; and the new revision. */
  replaces: number
  revision: number
  /** The search terms, as stored. */
  terms: string
}

/** Vectors by generation. */
export type VectorWrite = readonly { generation: number; row: VectorRow }[]

export interface KeyedWrite {
  collection: string
  key: string
  /** JSON; null removes it. */
  value: string | null
  expires_ms: number | null
}

/** The revision of a decision, 0 if there is none. `indexed` is null if it was not read. */
interface FoundDecision {
  kind: 'decision'
  id: string
  /** Null: any revision, as long as the decision exists. */
  revision: number | null
  indexed: boolean | null
}
/** The holder of a source key, which must be one of these two. */
interface FoundSource {
  kind: 'source'
  key: string
  holders: readonly [string | null, string | null]
}
/** The version of a keyed record, 0 if there is none. */
interface FoundKeyed {
  kind: 'keyed'
  collection: string
  key: string
  version: number
}
/** The generations as text: number and state of each, in order of their numbers. */
interface FoundGenerations {
  kind: 'generations'
  text: string
}
export type Found = FoundDecision | FoundSource | FoundKeyed | FoundGenerations
export type FoundOf<Kind extends Found['kind']> = Extract<Found, { kind: Kind }>

export interface Draft {
  /** By the name of the lock that guards it. */
  readonly found: Map<string, Found>
  readonly decisions: Map<string, DecisionWrite>
  /** Ids of erased decisions. */
  readonly gone: Set<string>
  /** Null drops the vectors of the decision. */
  readonly vectors: Map<string, VectorWrite | null>
  /** By the name of the lock. */
  readonly keyed: Map<string, KeyedWrite>
  readonly audit: (readonly unknown[])[]
  readonly acts: (readonly unknown[])[]
  /** Record ids of erased acts. */
  readonly erased: string[]
}

export const newDraft = (): Draft => ({
  found: new Map(),
  decisions: new Map(),
  gone: new Set(),
  vectors: new Map(),
  keyed: new Map(),
  audit: [],
  acts: [],
  erased: [],
})

export const writesOf = ({ decisions, gone, vectors, keyed, audit, acts, erased }: Draft): number =>
  [decisions, gone, vectors, keyed].reduce((sum, { size }) => sum + size, 0) +
  [audit, acts, erased].reduce((sum, { length }) => sum + length, 0)

/** Clears the writes, and the reads of written keys. */
export function clear({ found, decisions, gone, vectors, keyed, audit, acts, erased }: Draft): void {
  for (const name of keyed.keys()) found.delete(name)
  for (const id of [...decisions.keys(), ...gone, ...vectors.keys()]) found.delete(nameOf('decision', id))
  // Includes the source keys that the decisions had before.
  for (const [name, { kind }] of found) if (kind === 'source') found.delete(name)
  for (const list of [decisions, gone, vectors, keyed]) list.clear()
  for (const list of [audit, acts, erased]) list.length = 0
}

/** Name of a lock. */
export const nameOf = (kind: LockKind, key: string): string => `${kind} ${key}`
export const keyedName = (collection: string, key: string): string => nameOf('keyed', `${collection} ${key}`)
export const generationsName = nameOf('generations', '')

/**
 * Notes what was found under a name. The first finding stays: if work found something else the second time, it has seen both values, so the
 * comparison must fail. A later finding only adds what was unknown before.
 */
export function note(draft: Pick<Draft, 'found'>, name: string, found: Found): void {
  const first = draft.found.get(name)
  if (first === undefined) draft.found.set(name, found)
  else if (first.kind === 'decision' && found.kind === 'decision')
    draft.found.set(name, {
      ...first,
      // If the decision was assumed to exist but does not, the assumption stays and the comparison fails.
      revision: first.revision ?? (found.revision || null),
      indexed: first.indexed ?? found.indexed,
    })
}

/** The locks that guard a draft; true for keys that it writes, which are locked exclusively. */
export function locksOf({ found, decisions, gone, vectors, keyed }: Draft): Map<string, boolean> {
  const names = new Map<string, boolean>()
  for (const name of found.keys()) names.set(name, false)
  for (const [id, { record }] of decisions) {
    names.set(nameOf('decision', id), true)
    if (record.source_key !== null) names.set(nameOf('source', record.source_key), true)
  }
  for (const id of [...gone, ...vectors.keys()]) names.set(nameOf('decision', id), true)
  for (const name of keyed.keys()) names.set(name, true)
  return names
}
