/** Circuit breakers. */
import { eq } from 'drizzle-orm'
import type { BunSQLiteDatabase } from 'drizzle-orm/bun-sqlite'
import type { Breaker, BreakerReader, BreakerWriter } from '../../../../sdk/storage/store.ts'
import type { Verb } from '../resident/groups.ts'
import { breakers } from './schema.ts'

const get = (db: BunSQLiteDatabase, scope: string): Breaker | null =>
  db.select().from(breakers).where(eq(breakers.scope, scope)).get() ?? null

const list = (db: BunSQLiteDatabase): Breaker[] => db.select().from(breakers).orderBy(breakers.scope).all()

export const breakerReader = (db: BunSQLiteDatabase): BreakerReader => ({
  get: async (scope) => get(db, scope),
  list: async () => list(db),
})

export const breakerWriter =
  (db: BunSQLiteDatabase) =>
  (verb: Verb): BreakerWriter => ({
    get: verb((scope: string) => get(db, scope)),
    list: verb(() => list(db)),
    put: verb(({ scope, ...rest }: Breaker) => {
      db.insert(breakers)
        .values({ scope, ...rest })
        .onConflictDoUpdate({ target: breakers.scope, set: rest })
        .run()
    }),
  })
