/** Drizzle's query builder on the connections of this program. */
import { drizzle, type PgRemoteDatabase } from 'drizzle-orm/pg-proxy'
import type { Query } from './pool.ts'

export type Database = PgRemoteDatabase

/** @param query called once for each statement, in the order in which statements are executed */
export const openDatabase = (query: Query): Database =>
  drizzle(async (text, params, method) => ({
    rows: await query(text, params, method === 'all' ? 'arrays' : 'objects'),
  }))
