/** The table of one generation's vectors, and the locks around it. */
import { sides } from '../../../../sdk/storage/vectors.ts'

const space = 0x63737476

/** The statement that takes a lock until the end of the transaction: of all tables, or of one generation's entries. */
export const lockOf = (what: 'tables' | number): string =>
  `select pg_advisory_xact_lock(${space}, ${what === 'tables' ? -1 : what})`

/** Filter columns with their types; the same as those of decisions. */
export const columns = [
  ['id', 'text'],
  ['category', 'text'],
  ['confidence', 'float8'],
  ['stakes', 'int'],
  ['status', 'text'],
  ['outcome', 'text'],
  ['project', 'text'],
  ['feature', 'text'],
  ['pr', 'bigint'],
  ['agent', 'text'],
  ['created_ms', 'float8'],
  ['review_by_ms', 'float8'],
  ['preserve', 'bool'],
  ['indexed', 'bool'],
] as const

/**
 * @param extension schema of pgvector; the search path names only our own
 * @returns statements that make the table where it is missing
 */
export function tableSql(generation: number, dimensions: number, extension: string): string[] {
  const table = `vectors_g${generation}`
  const fields = columns.slice(1).map(([name, type]) => `${name} ${type}${type === 'text' ? ' collate "C"' : ''}`)
  const vectors = sides.map((side) => `"${side}" ${extension}.vector(${dimensions}) not null`)
  return [
    `create table if not exists ${table} (id text collate "C" primary key, ${[...fields, 'tags text[] not null', ...vectors].join(', ')})`,
    // A narrow filter is answered from here, and what passes is ranked exactly.
    `create index if not exists ${table}_category on ${table} (category, created_ms)`,
    `create index if not exists ${table}_project on ${table} (project, pr)`,
  ]
}

export const hnswName = (generation: number, side: string): string => `vectors_g${generation}_${side}_hnsw`
