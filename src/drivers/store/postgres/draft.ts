/** What a transaction has found and what it will write: the first is compared with the tables when the second is sent to them, all at once. */
import type { DecisionRecord } from '../../../../sdk/schema/decision.ts'
import type { VectorRow } from '../shared.ts'
import type { LockKind } from './locks.ts'

/** A decision to write. */
export interface DecisionWrite {
  record: DecisionRecord
  /** The revision that it replaces, 0 for one that is new; and the one that it gets. */
  replaces: number
  revision: number
  /** As they are stored. */
  terms: string
}

/** Vectors by the generations that get them. */
export type VectorWrite = readonly { generation: number; row: VectorRow }[]

export interface KeyedWrite {
  collection: string
  key: string
  /** JSON; null removes it. */
  value: string | null
  expires_ms: number | null
}

/** A decision: its revision, 0 where there is none. `indexed` is null if nobody asked. */
interface FoundDecision {
  kind: 'decision'
  id: string
  /** Null: any, as long as there is one. */
  revision: number | null
  indexed: boolean | null
}
/** The holder of a source key: one of these. */
interface FoundSource {
  kind: 'source'
  key: string
  holders: readonly [string | null, string | null]
}
/** A keyed record: its version, 0 where there is none. */
interface FoundKeyed {
  kind: 'keyed'
  collection: string
  key: string
  version: number
}
/** The generations as {@link generationsText} tells them. */
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
  /** Ids of decisions that are erased. */
  readonly gone: Set<string>
  /** Null drops those of the decision. */
  readonly vectors: Map<string, VectorWrite | null>
  /** By the name of the lock. */
  readonly keyed: Map<string, KeyedWrite>
  readonly audit: (readonly unknown[])[]
  readonly acts: (readonly unknown[])[]
  /** Acts that are erased. */
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

/** Forgets what was written, and what was found of it. */
export function clear({ found, decisions, gone, vectors, keyed, audit, acts, erased }: Draft): void {
  for (const name of keyed.keys()) found.delete(name)
  for (const id of [...decisions.keys(), ...gone, ...vectors.keys()]) found.delete(nameOf('decision', id))
  // Those of before that the decisions had too.
  for (const [name, { kind }] of found) if (kind === 'source') found.delete(name)
  for (const list of [decisions, gone, vectors, keyed]) list.clear()
  for (const list of [audit, acts, erased]) list.length = 0
}

/** Name of a lock. */
export const nameOf = (kind: LockKind, key: string): string => `${kind} ${key}`
export const keyedName = (collection: string, key: string): string => nameOf('keyed', `${collection} ${key}`)
export const generationsName = nameOf('generations', '')

/**
 * Notes what was found under a name. What was found first stays: work that found something else the second time has been told both, so the
 * comparison has to fail. Only what nobody knew before is added.
 */
export function note(draft: Pick<Draft, 'found'>, name: string, found: Found): void {
  const first = draft.found.get(name)
  if (first === undefined) draft.found.set(name, found)
  else if (first.kind === 'decision' && found.kind === 'decision')
    draft.found.set(name, {
      ...first,
      // One that was taken to exist and is not there stays wrong.
      revision: first.revision ?? (found.revision || null),
      indexed: first.indexed ?? found.indexed,
    })
}

/** The locks that guard a draft; true for those of what it writes, which nobody else may look at meanwhile. */
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
