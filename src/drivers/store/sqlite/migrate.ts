/** The migrations of `cstp.db`: what drizzle-kit generated from `schema.ts`, and what it can't express. */
import tables from './migrations/0000_tables.sql' with { type: 'text' }
import triggers from './migrations/0000_triggers.sql' with { type: 'text' }
import settled from './migrations/0001_tables.sql' with { type: 'text' }

export const migrations: readonly string[] = [tables + triggers, settled]
