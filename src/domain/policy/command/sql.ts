/** What SQL does: the statements in a text, with their verbs and tables, and whether they change every row. */
import { readings, type Token } from './sql-tokens.ts'

export interface Statement {
  /** In lower case: `select`, `delete`, `drop`. */
  verb: string
  /** What `create`, `alter`, `drop` and `truncate` are about: `table`, `database`, `column`; empty for others. */
  object: string
  /** Names in lower case, without quotes, with their schemas where they are named. */
  tables: string[]
  /** An `update` or `delete` of every row. */
  without_where: boolean
}

export interface SqlFacts {
  statements: Statement[]
  /** A text or a comment in it does not end, or there is too much of it, so something may be missed. */
  opaque: boolean
}

const verbs = new Set(
  'select insert update delete replace merge upsert truncate drop create alter rename grant revoke call exec execute do copy load vacuum attach detach pragma set show explain begin commit rollback lock kill shutdown use with'.split(
    ' ',
  ),
)
/** Verbs that may follow another one in the same statement. */
const nested = new Set('select insert update delete merge truncate drop'.split(' '))
/** Words before a verb that is a statement of its own. */
const beforeNested = new Set(['(', ')', 'as', 'begin', 'explain', 'analyze', 'loop', 'execute', 'prepare'])
const withObject = new Set(['drop', 'create', 'alter', 'truncate', 'rename'])
const beforeTable = new Set('from join into update table view truncate using only'.split(' '))
const skipped = new Set(
  'only if not exists ignore low_priority quick table concurrently or replace lateral temporary temp'.split(' '),
)
/** Parts of a table whose removal deletes no data. */
const harmlessParts = new Set('constraint not default trigger policy rule check foreign identity expression'.split(' '))
const maxText = 262_144
const maxStatements = 1_000
const maxLevels = 3

const isName = (token: Token | undefined): token is Token => token?.kind === 'word' || token?.kind === 'name'

/** The name at a place, with its schema, and the place after it; null if there is none. @param calls whether a function may be there */
function nameAt(tokens: readonly Token[], from: number, calls = true): { name: string; next: number } | null {
  let here = from
  while (tokens[here]?.kind === 'word' && skipped.has(tokens[here]!.text)) here++
  if (!isName(tokens[here])) return null
  let name = tokens[here]!.text
  for (here++; tokens[here]?.text === '.' && isName(tokens[here + 1]); here += 2) name += `.${tokens[here + 1]!.text}`
  // A function is no table.
  return calls && tokens[here]?.text === '(' ? null : { name, next: here }
}

function tablesIn(tokens: readonly Token[]): string[] {
  const found = new Set<string>()
  for (const [at, { text, kind }] of tokens.entries()) {
    if (kind !== 'word' || !beforeTable.has(text)) continue
    for (let one = nameAt(tokens, at + 1, !/^(?:into|table|view)$/.test(text)); one !== null; ) {
      found.add(one.name)
      let { next } = one
      if (tokens[next]?.text === 'as') next++
      if (isName(tokens[next]) && tokens[next + 1]?.text === ',') next++
      one = tokens[next]?.text === ',' ? nameAt(tokens, next + 1) : null
    }
  }
  return [...found]
}

/** Whether the rows are limited by something that does not hold for all of them. */
function isLimited(tokens: readonly Token[]): boolean {
  let depth = 0
  for (const [at, { text, kind }] of tokens.entries()) {
    if (text === '(' && kind === 'sign') depth++
    else if (text === ')' && kind === 'sign') depth--
    else if (depth === 0 && kind === 'word' && text === 'where') {
      const rest = tokens.slice(at + 1).filter((one) => one.kind !== 'sign' || !'()'.includes(one.text))
      const [left, sign, right] = rest
      const holds =
        rest.length === 1
          ? left!.text === 'true' || /^[1-9]/.test(left!.text)
          : rest.length === 3 && sign!.text === '=' && left!.text === right!.text
      return rest.length > 0 && !holds
    }
  }
  return false
}

/** The tokens of a part: to its closing bracket, or to the end of the statement. */
function extent(tokens: readonly Token[], from: number): Token[] {
  let depth = 0
  for (let end = from; end < tokens.length; end++) {
    const { text, kind } = tokens[end]!
    if (kind !== 'sign') continue
    if (text === '(') depth++
    else if (text === ')' && --depth < 0) return tokens.slice(from, end)
  }
  return tokens.slice(from)
}

function statementAt(tokens: readonly Token[], from: number): Statement {
  const part = extent(tokens, from)
  const verb = part[0]!.text
  const words = part.slice(1, 8).filter(({ text, kind }) => kind === 'word' && !(skipped.has(text) && text !== 'table'))
  const object = !withObject.has(verb) ? '' : verb === 'truncate' ? 'table' : (words[0]?.text ?? '')
  const tables = tablesIn(part)
  const changes = verb === 'update' || verb === 'delete'
  return { verb, object, tables, without_where: changes && tables.length > 0 && !isLimited(part) }
}

/** The statements between two semicolons: the main one, and those inside it. */
function statementsOf(tokens: readonly Token[]): Statement[] {
  const start = tokens.findIndex(({ text, kind }) => kind !== 'sign' || text !== '(')
  const first = tokens[start]
  if (first?.kind !== 'word' || !verbs.has(first.text)) return []
  const found = first.text === 'with' ? [] : [statementAt(tokens, start)]
  for (let at = start + 1; at < tokens.length; at++) {
    const { text, kind } = tokens[at]!
    if (kind !== 'word' || !nested.has(text)) continue
    const before = tokens[at - 1]!.text
    if (first.text === 'alter' && text === 'drop') {
      const object = tokens.slice(at + 1).find((one) => one.kind !== 'word' || !skipped.has(one.text))
      if (!harmlessParts.has(object?.text ?? ''))
        found.push({
          ...statementAt(tokens, at),
          object: object?.text === 'partition' ? 'table' : 'column',
          tables: found[0]!.tables,
        })
    } else if (beforeNested.has(before)) found.push(statementAt(tokens, at))
  }
  return found
}

function split(tokens: readonly Token[]): Token[][] {
  const parts: Token[][] = [[]]
  for (const token of tokens)
    if (token.kind === 'sign' && token.text === ';') parts.push([])
    else parts.at(-1)!.push(token)
  return parts
}

/** What a text of SQL does in any database. */
export function sqlFacts(text: string, level = 0): SqlFacts {
  const found = new Map<string, Statement>()
  let opaque = text.length > maxText || level > maxLevels
  if (opaque) return { statements: [], opaque }
  for (const { tokens, bodies, open } of readings(text)) {
    opaque ||= open
    const inner = bodies.map((body) => sqlFacts(body, level + 1))
    const all = [...split(tokens).flatMap(statementsOf), ...inner.flatMap(({ statements }) => statements)]
    opaque ||= inner.some((one) => one.opaque)
    for (const one of all) found.set(JSON.stringify(one), one)
    if (found.size > maxStatements) return { statements: [...found.values()].slice(0, maxStatements), opaque: true }
  }
  return { statements: [...found.values()], opaque }
}

/** Whether a text begins as a statement does. */
export const beginsAsSql = (text: string): boolean =>
  /^\s*(?:\(\s*)*(?:--|\/\*|select\b|with\s|insert\s+into\b|replace\s+into\b|update\s+\S+\s|delete\s+from\b|merge\s+into\b|truncate\b|(?:drop|create|alter|rename)\s+\w|grant\s|revoke\s|explain\s|begin\b|call\s|exec(?:ute)?\s|do\s+\$|copy\s|set\s+\w+|pragma\s|use\s)/i.test(
    text,
  )
