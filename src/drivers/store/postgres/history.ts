/**
 * Notices that the database is another history than the one that this server has seen: a replica that lagged was promoted, or a snapshot was
 * restored. Numbers that were seen are then given again to other rows, so whatever follows them would be blind to these. Acts are only ever
 * appended, in the order of commits and with random salt, so the newest one that was seen is there as long as the history is the same.
 */
import { type SQL, sql } from 'drizzle-orm'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import { acts } from './schema.ts'

/** The newest act: its number and its commitment. */
const newestAct = sql<string | null>`(select num || ' ' || commitment from ${acts} order by num desc limit 1)`

export type History = ReturnType<typeof followHistory>

export function followHistory() {
  let seen: string | null = null
  let loss: StorageError | null = null
  const lost = Promise.withResolvers<StorageError>()
  const numberOf = (act: string): number => Number(act.slice(0, act.indexOf(' ')))

  /** @throws StorageError `unavailable` for good, once the history is another one */
  function require(): void {
    if (loss !== null) throw loss
  }
  return {
    /** Resolves with the error of every later call, once the history is another one. */
    lost: lost.promise,
    require,
    /** What a statement selects, for `check`. */
    columns: (): { kept: SQL<boolean>; newest: SQL<string | null> } => ({
      kept:
        seen === null
          ? sql<boolean>`true`
          : sql<boolean>`exists (select from ${acts} where num = ${numberOf(seen)}::bigint and num || ' ' || commitment = ${seen})`,
      newest: newestAct,
    }),
    /** @returns the newest act. @throws StorageError `unavailable` if what was seen is not there any more */
    check({ kept, newest }: { kept: boolean; newest: string | null }): string | null {
      if (!kept && loss === null) {
        loss = new StorageError(
          'unavailable',
          'postgres: the database is an earlier state of itself: it lacks what this server has seen in it',
        )
        lost.resolve(loss)
      }
      require()
      return newest
    },
    /** The newest act of a committed state. */
    saw(newest: string | null): void {
      if (newest !== null && (seen === null || numberOf(newest) > numberOf(seen))) seen = newest
    },
  }
}
