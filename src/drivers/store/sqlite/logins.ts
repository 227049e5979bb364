/** Logins of the dashboard. */
import type { Login, LoginReader, LoginWriter } from '../../../../sdk/storage/store.ts'
import type { Verb } from '../resident/groups.ts'
import type { Statements } from './statements.ts'

export function loginReader({ prepare }: Statements): LoginReader {
  const get = prepare<Login, [string]>('select id_hash, agent, seal, used_ms, expires_ms from logins where id_hash = ?')
  return { get: async (id_hash) => get.get(id_hash) }
}

export function loginWriter(statements: Statements): (verb: Verb) => LoginWriter {
  const { prepare } = statements
  const get = prepare<Login, [string]>('select id_hash, agent, seal, used_ms, expires_ms from logins where id_hash = ?')
  const put = prepare<unknown, [string, string, string, number, number]>(
    'insert or replace into logins (id_hash, agent, seal, used_ms, expires_ms) values (?, ?, ?, ?, ?)',
  )
  const remove = prepare<unknown, [string]>('delete from logins where id_hash = ?')
  const expire = prepare<unknown, [number, number]>('delete from logins where expires_ms <= ? or used_ms < ?')
  return (verb) => ({
    get: verb((id_hash: string) => get.get(id_hash)),
    put: verb(({ id_hash, agent, seal, used_ms, expires_ms }: Login) => {
      put.run(id_hash, agent, seal, used_ms, expires_ms)
    }),
    delete: verb((id_hash: string) => {
      remove.run(id_hash)
    }),
    expire: verb((now_ms: number, unused_ms: number) => expire.run(now_ms, unused_ms).changes),
  })
}
