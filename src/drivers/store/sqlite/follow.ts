/** Follows commits of all processes: a cheap check before each read, and cached rows are dropped if they changed. */
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
  /** Cached rows, in the state of the last {@link refresh} or a later one. */
  readonly documents: Recent<StoredText>
  /** Drops cached rows changed by any commit before this call, of any process; returns the newest change and the active generation. */
  refresh(): Head
  /** Like {@link refresh}, at the end of this turn of the event loop, once for all callers of the turn. */
  refreshTogether(): Promise<void>
}

/** If there are more changes than this, the whole document cache is dropped. */
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
    // Later commits change the version again, so the next check sees them.
    const next = headOf.get()!
    const rows = documents.isEmpty() ? [] : changed.all(head.seq, mostChanges)
    if (rows.length === mostChanges || next.generation !== head.generation) documents.clear()
    else for (const { id } of rows) documents.delete(id)
    counters.changed()
    head = next
    seen = version_now
  }

  /** Synchronous: an answer made in the turn in which it was requested is sent at once and in one piece, see docs/design/request.md. */
  function refresh(): Head {
    if (mark.moved()) {
      look()
      mark.settle()
    }
    return head
  }

  let together: Promise<void> | undefined
  /** Many short answers cost less in one batch than interleaved with reading requests. */
  function refreshTogether(): Promise<void> {
    together ??= new Promise(setImmediate).then(() => {
      together = undefined
      refresh()
    })
    return together
  }

  return { counters, documents, refresh, refreshTogether }
}
