/** What expressions see of the arguments of a tool that are SQL or addresses. Each action is read once, however many rules look at it. */
import { addressesIn } from '../command/addresses.ts'
import { beginsAsSql, type SqlFacts, sqlFacts } from '../command/sql.ts'
import type { Action } from './action.ts'
import { commandFacts } from './command.ts'

const sqlKeys =
  /^(?:sql|query|queries|statements?|stmt|sql_?(?:query|text|statement|command|string)|query_?(?:text|string))$/i
/** Tools and servers of databases, whose statements may be under any key. */
const databases =
  /sql|postgres|pg|maria|duckdb|database|\bdb\b|_db|db_|bigquery|snowflake|redshift|clickhouse|supabase|neon|oracle/i
const clients =
  /^(?:sql|psql|mysql|mariadb|sqlite3|duckdb|cockroach|sqlcmd|clickhouse-client|cqlsh|bq|snowsql|pgcli|mycli|litecli|usql|turso|supabase|wrangler)$/
const maxLevels = 24

function textsOf({ context }: Action): { texts: string[]; opaque: boolean } {
  const texts: string[] = []
  let opaque = false
  const isDatabase = databases.test(`${context.mcp_server ?? ''} ${context.tool ?? ''}`)
  const visit = (value: unknown, key: string, level: number): void => {
    if (typeof value === 'string') {
      // A query of a search is no statement.
      if ((sqlKeys.test(key) || isDatabase) && (/sql|statement|stmt/i.test(key) || beginsAsSql(value)))
        texts.push(value)
    } else if (value !== null && typeof value === 'object') {
      if (level > maxLevels) opaque = true
      else if (Array.isArray(value)) for (const one of value) visit(one, key, level + 1)
      else for (const [name, one] of Object.entries(value)) visit(one, name, level + 1)
    }
  }
  visit(context.input, '', 0)
  return { texts, opaque }
}

function readSql(action: Action): SqlFacts {
  const { texts, opaque } = textsOf(action)
  const onLine = commandFacts(action).invocations.filter((one) => clients.test(one.program) && one.code !== '')
  const all = [...new Set([...texts, ...onLine.map((one) => one.code)])].map((text) => sqlFacts(text))
  return { statements: all.flatMap((one) => one.statements), opaque: opaque || all.some((one) => one.opaque) }
}

const unique = <T>(list: readonly T[]): T[] => [...new Set(list)]

const sqlVariable = ({ statements, opaque }: SqlFacts) => ({
  statements,
  verbs: unique(statements.map(({ verb }) => verb)),
  tables: unique(statements.flatMap(({ tables }) => tables)),
  without_where: statements.some(({ without_where }) => without_where),
  opaque,
})

const urlVariable = ({ addresses, opaque }: ReturnType<typeof addressesIn>) => ({
  all: addresses,
  hosts: unique(addresses.map(({ host }) => host).filter((host) => host !== '')),
  schemes: unique(addresses.map(({ scheme }) => scheme)),
  private: addresses.some((one) => one.private),
  opaque,
})

interface Variables {
  sql: ReturnType<typeof sqlVariable>
  url: ReturnType<typeof urlVariable>
}
const known = new WeakMap<Action, Variables>()

/** The variables `sql` and `url` of an expression. @throws EvaluationError as {@link commandFacts} */
export function argumentVariables(action: Action): Variables {
  let found = known.get(action)
  if (found === undefined) {
    found = { sql: sqlVariable(readSql(action)), url: urlVariable(addressesIn(action.context.input)) }
    known.set(action, found)
  }
  return found
}
