/** The migrations of `provenance.db`: SQL that drizzle-kit generates from `schema.ts`, and triggers, which it can't express. */
import tables from './migrations/0000_tables.sql' with { type: 'text' }
import triggers from './migrations/0000_triggers.sql' with { type: 'text' }

export const migrations: readonly string[] = [tables + triggers]
