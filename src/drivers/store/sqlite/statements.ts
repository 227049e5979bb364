/** Prepared statements of a connection, all let go when it closes: SQLite ends a connection only after its statements. */
import type { Database, SQLQueryBindings, Statement } from 'bun:sqlite'

export interface Statements {
  prepare<Row, Parameters extends SQLQueryBindings[] = SQLQueryBindings[]>(sql: string): Statement<Row, Parameters>
  finalize(): void
}

export function statementsOf(db: Database): Statements {
  const ends: (() => void)[] = []
  return {
    prepare<Row, Parameters extends SQLQueryBindings[]>(sql: string) {
      const statement = db.prepare<Row, Parameters>(sql) as unknown as Statement<Row, Parameters>
      ends.push(() => statement.finalize())
      return statement
    },
    finalize() {
      for (const end of ends.splice(0)) end()
    },
  }
}
