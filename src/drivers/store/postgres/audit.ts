/** The audit trail. */
import type { AuditEntry, AuditReader, AuditWriter } from '../../../../sdk/storage/store.ts'
import type { Client } from '../../shared/postgres/client.ts'
import { toText } from '../../shared/postgres/filter.ts'
import type { Connection, Verb } from './transaction.ts'

export const auditReader = ({ read }: Client): AuditReader => ({
  async list({ since_ms, agent, method, rule, allowed, cursor, limit }) {
    const values: unknown[] = []
    const tests = Object.entries({
      'seq <': [cursor, 'bigint'],
      'at_ms >=': [since_ms, 'float8'],
      'agent =': [agent === undefined ? undefined : toText(agent), 'text'],
      'method =': [method === undefined ? undefined : toText(method), 'text'],
      'allowed =': [allowed, 'bool'],
      'rules @>': [rule === undefined ? undefined : [toText(rule)], 'text[]'],
    }).flatMap(([test, [value, type]]) => (value === undefined ? [] : `${test} $${values.push(value)}::${type}`))
    const rows = await read<{ seq: number; entry: string }>(
      `select seq::float8 as seq, entry::text as entry from audit ${tests.length > 0 ? `where ${tests.join(' and ')}` : ''}
       order by audit.seq desc limit $${values.push(limit)}::int`,
      values,
    )
    return rows.map(({ seq, entry }) => ({ seq, ...(JSON.parse(entry) as AuditEntry) }))
  },
})

export const auditWriter = ({ query }: Connection, verb: Verb): AuditWriter => ({
  append: verb(async (entry: AuditEntry) => {
    const { at, agent, method, request_id, ids, allowed, rules, detail } = entry
    await query(
      `insert into audit (at_ms, agent, method, allowed, rules, entry)
       values ($1::float8, $2, $3, $4::bool, $5::text[], $6::text::json)`,
      [
        Date.parse(at),
        toText(agent),
        toText(method),
        allowed,
        rules.map(toText),
        JSON.stringify({ at, agent, method, request_id, ids, allowed, rules, detail: detail ?? null }),
      ],
    )
  }),
})
