/** COPY into PostgreSQL's tables through `psql`, as no client library of ours speaks it. */
import type { SQL } from 'bun'

/** A value as COPY's text format has it; arrays of texts as PostgreSQL writes them. */
function field(value: unknown): string {
  if (value === null) return '\\N'
  const text = Array.isArray(value)
    ? `{${value.map((one: string) => `"${one.replace(/["\\]/g, '\\$&')}"`).join(',')}}`
    : String(value)
  return /[\\\t\n\r]/.test(text)
    ? text.replaceAll('\\', '\\\\').replaceAll('\t', '\\t').replaceAll('\n', '\\n').replaceAll('\r', '\\r')
    : text
}

export interface Copy {
  row(values: readonly unknown[]): void
  /** Hands over what was given so far. */
  written(): Promise<void>
  /** Commits. @throws where the server refused a row */
  end(): Promise<void>
}

export function copyInto(url: string, table: string, columns: readonly string[]): Copy {
  const quoted = columns.map((column) => `"${column}"`).join(', ')
  const command = `copy ${table} (${quoted}) from stdin`
  const child = Bun.spawn(['psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-c', command, url], {
    stdin: 'pipe',
    stdout: 'ignore',
    stderr: 'pipe',
  })
  let rows: string[] = []
  const written = async () => {
    if (rows.length === 0) return
    child.stdin.write(`${rows.join('\n')}\n`)
    rows = []
    await child.stdin.flush()
  }
  return {
    row: (values) => void rows.push(values.map(field).join('\t')),
    written,
    async end() {
      await written()
      await child.stdin.end()
      if ((await child.exited) !== 0) throw new Error(`${table}: ${await new Response(child.stderr).text()}`)
    },
  }
}

/** Runs `work` while the tables have no indexes, and makes these again. */
export async function fast(sql: SQL, tables: readonly string[], work: () => Promise<void>): Promise<void> {
  const names = `{${tables.join(',')}}`
  const constraints: { table: string; name: string; definition: string }[] = await sql`
    select conrelid::regclass::text as table, conname as name, pg_get_constraintdef(oid) as definition from pg_constraint
    where contype in ('p', 'u') and conrelid::regclass::text = any(${names}::text[])`
  const indexes: { name: string; definition: string }[] = await sql`
    select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index
    where indrelid::regclass::text = any(${names}::text[])
      and not exists (select from pg_constraint where conindid = indexrelid)`
  for (const { table, name } of constraints) await sql.unsafe(`alter table ${table} drop constraint ${name}`)
  for (const { name } of indexes) await sql.unsafe(`drop index ${name}`)
  await work()
  for (const { table, name, definition } of constraints)
    await sql.unsafe(`alter table ${table} add constraint ${name} ${definition}`)
  for (const { definition } of indexes) await sql.unsafe(definition)
}
