/** Schemas with the tables of the program, emptied and used again: making the tables takes longer than most tests. */
import { SQL } from 'bun'
import { migrations as evidenceTables } from '../../src/drivers/evidence/postgres/migrate.ts'
import { connect } from '../../src/drivers/shared/postgres/client.ts'
import { migrate } from '../../src/drivers/shared/postgres/migrate.ts'
import { migrations as storeTables } from '../../src/drivers/store/postgres/migrate.ts'
import { freshSchema, type Postgres } from './postgres.ts'

const nameOf = (url: string): string => new URL(url).searchParams.get('schema')!

/** Address of a schema with the tables as a program makes them. */
async function made(server: Postgres): Promise<string> {
  const url = freshSchema(server)
  const client = await connect({ url, connections: 1, statement_timeout_ms: 30_000 })
  await migrate(client, 'store', storeTables)
  await migrate(client, 'evidence', evidenceTables)
  await client.close()
  return url
}

/** Every row of `used` gives place to those of `pristine`, and every sequence starts again: no trigger sees it. */
const emptied = (used: string, pristine: string): string => `do $$ declare one record; begin
  set local session_replication_role = replica;
  set local lock_timeout = '5s';
  for one in select tablename as name from pg_tables where schemaname = '${pristine}' loop
    execute format('delete from ${used}.%I', one.name);
    execute format('insert into ${used}.%1$I overriding system value select * from ${pristine}.%1$I', one.name);
  end loop;
  for one in select sequencename as name, start_value as start from pg_sequences where schemaname = '${used}' loop
    perform setval(format('${used}.%I', one.name)::regclass, one.start, false);
  end loop;
end $$`

/** Schemas that nobody uses now. */
const idle: string[] = []
let pristine: Promise<string> | undefined
let direct: SQL | undefined

/** Address of a schema whose tables are as new. */
export async function emptySchema(server: Postgres): Promise<string> {
  const used = idle.pop()
  if (used === undefined) return made(server)
  pristine ??= made(server)
  direct ??= new SQL(server.url, { max: 1 })
  await direct.unsafe(emptied(nameOf(used), nameOf(await pristine)))
  return used
}

/** Lays a schema that nobody uses any more back, once. */
export function laidBack(url: string): void {
  if (!idle.includes(url)) idle.push(url)
}
