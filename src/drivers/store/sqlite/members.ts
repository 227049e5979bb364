/**
 * The members of a group, one after the other in one transaction of SQLite. One that fails before it has written is merely left out. If one
 * has written, all of them run again with a savepoint each: savepoints copy each page that they change, too much for every group.
 */
import type { Database } from 'bun:sqlite'
import { type Member, newMember } from '../groups.ts'
import type { Statements } from './connect.ts'

/** A file that a decision of the transaction waits for. */
export interface PendingFile {
  num: number
  revision: number
  /** Null for one that is removed. */
  text: string | null
}

export interface SqliteMember extends Member {
  /** By id. */
  files: Map<string, PendingFile>
  /** Called before something is erased: from here to the end of the group, what is deleted is overwritten with zeros. */
  erases(): void
}

export interface Job {
  work(member: SqliteMember): Promise<unknown>
}

export type Outcome = { value: unknown } | { error: unknown }

/** @param execute runs a statement that takes and returns nothing */
export function memberRunner(db: Database, { prepare }: Statements, execute: (sql: string) => void) {
  const changes = prepare<{ total: number }, []>('select total_changes() as total')
  let overwrites = false
  function overwrite(on: boolean): void {
    if (overwrites !== on) execute(`PRAGMA secure_delete = ${on ? 'ON' : 'FAST'}`)
    overwrites = on
  }

  async function runOne({ work }: Job, files: Map<string, PendingFile>, apart: boolean): Promise<Outcome | null> {
    const member: SqliteMember = { ...newMember(), files: new Map(), erases: () => overwrite(true) }
    const before = changes.get()!.total
    if (apart) execute('SAVEPOINT member')
    try {
      const value = await work(member)
      if (member.broken !== undefined) throw member.broken
      if (apart) execute('RELEASE member')
      for (const [id, file] of member.files) files.set(id, file)
      return { value }
    } catch (error) {
      // Out of space, SQLite may have ended the whole transaction: nothing of the group is left.
      if (!db.inTransaction) throw error
      if (!apart) return changes.get()!.total === before ? { error } : null
      execute('ROLLBACK TO member')
      execute('RELEASE member')
      return { error }
    } finally {
      member.open = false
    }
  }

  return {
    /**
     * Runs the members in the transaction that is open.
     * @param files gets those of members that succeed
     * @param apart whether each has a savepoint
     * @returns null if one has written and failed outside of a savepoint: the transaction must be rolled back
     */
    async run(jobs: readonly Job[], files: Map<string, PendingFile>, apart: boolean): Promise<Outcome[] | null> {
      const outcomes: Outcome[] = []
      for (const job of jobs) {
        const outcome = await runOne(job, files, apart)
        if (outcome === null) return null
        outcomes.push(outcome)
      }
      return outcomes
    },
    /** Called after each group. */
    end: () => overwrite(false),
  }
}
