/**
 * Runs the members of a group one after the other in one SQLite transaction. A member that fails before it has written anything is left
 * out. If it has written, all members run again, each with a savepoint: savepoints copy each page they change, which is too expensive for
 * every group.
 */
import type { Database } from 'bun:sqlite'
import { type Member, newMember } from '../groups.ts'
import type { Statements } from './connect.ts'

/** A decision file that the transaction's commit must write or remove. */
export interface PendingFile {
  num: number
  revision: number
  /** Null if the file is removed. */
  text: string | null
}

export interface SqliteMember extends Member {
  /** Files of the member's decisions, by id. */
  files: Map<string, PendingFile>
  /** Call it before erasing: until the end of the group, deleted content is overwritten with zeros. */
  erases(): void
}

export interface Job {
  work(member: SqliteMember): Promise<unknown>
}

export type Outcome = { value: unknown } | { error: unknown }

/** @param execute runs a statement without parameters and results */
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
      // If the disk is full, SQLite may have ended the transaction: nothing of the group is left.
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
     * Runs the members in the open transaction.
     * @param files receives the files of the members that succeed
     * @param apart whether each member gets a savepoint
     * @returns null if a member failed after writing, without a savepoint: the transaction must be rolled back
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
