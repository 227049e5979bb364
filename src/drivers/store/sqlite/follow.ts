/** Follows the database, whichever process writes to it: a cheap check before each read, then what was remembered of changed rows goes. */
import type { StoredText } from '../../../../sdk/storage/store.ts'
import { keptCharacters, type Recent, recent } from '../recent.ts'
import { type CommitMark, everMoved } from './commit-mark.ts'
import type { Statements } from './connect.ts'
import { type Tallies, tallies } from './tallies.ts'

export interface Head {
  seq: number
  generation: number
}

export interface Followed {
  readonly counters: Tallies
  /** Rows read by the state of the last {@link refresh} or a later one. */
  readonly documents: Recent<StoredText>
  /** Forgets what was changed by a commit before this call, of any process; returns the newest change and the active generation. */
  refresh(): Head
  /** The same at the end of the turn of the event loop, once for all that ask in it. */
  refreshTogether(): Promise<void>
}

/** More changes than these, and all documents are forgotten. */
const mostChanges = 1_000

export function follow(statements: Statements, mark: CommitMark = everMoved): Followed {
  const { prepare } = statements
  const version = prepare<{ data_version: number }, []>('PRAGMA data_version')
  const headOf = prepare<Head, []>(
    `select (select coalesce(max(seq), 0) from decisions) as seq,
     coalesce((select number from generations where state = 'active'), 0) as generation`,
  )
  const changed = prepare<{ id: string }, [number, number]>('select id from decisions where seq > ? limit ?')

  const documents = recent<StoredText>(keptCharacters)
  const counters = tallies(statements)
  let seen = -1
  let head: Head = { seq: 0, generation: 0 }

  function look(): void {
    const version_now = version.get()!.data_version
    if (version_now === seen) return
    // What is committed after this belongs to the next look, which the version will ask for.
    const next = headOf.get()!
    const rows = documents.isEmpty() ? [] : changed.all(head.seq, mostChanges)
    if (rows.length === mostChanges || next.generation !== head.generation) documents.clear()
    else for (const { id } of rows) documents.delete(id)
    counters.changed()
    head = next
    seen = version_now
  }

  /** Without a promise: what is answered within the turn in which it was asked is sent at once and whole, see docs/design/request.md. */
  function refresh(): Head {
    if (mark.moved()) {
      look()
      mark.settle()
    }
    return head
  }

  let together: Promise<void> | undefined
  /** Many short answers cost less one after the other than each between the reading of two requests. */
  function refreshTogether(): Promise<void> {
    together ??= new Promise(setImmediate).then(() => {
      together = undefined
      refresh()
    })
    return together
  }

  return { counters, documents, refresh, refreshTogether }
}
