/** Column types of the schemas in PostgreSQL. */
import { bigint, customType } from 'drizzle-orm/pg-core'

/** Text that compares byte by byte, whatever the database's language. */
export const text = customType<{ data: string }>({ dataType: () => 'text collate "C"' })
export const texts = customType<{ data: string[] }>({ dataType: () => 'text[]' })
/** Keeps the text as written: `jsonb` would reorder keys and has no NUL. */
export const json = customType<{ data: string }>({ dataType: () => 'json' })
export const bytea = customType<{ data: Uint8Array }>({ dataType: () => 'bytea' })
/** Number of a transaction, which is never reused. */
export const xid8 = customType<{ data: string }>({ dataType: () => 'xid8' })
export const big = () => bigint({ mode: 'number' })
