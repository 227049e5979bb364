/** The outbox of decisions whose vectors are still to be made. */
import { randomUUID } from 'node:crypto'
import type { OutboxEntry, OutboxReader, OutboxWriter } from '../../../../sdk/storage/store.ts'
import type { Verb } from '../resident/groups.ts'
import type { Statements } from './statements.ts'

export function outboxReader({ prepare }: Statements): OutboxReader {
  const depth = prepare<{ depth: number }, []>('select count(*) as depth from outbox')
  return { depth: async () => depth.get()!.depth }
}

export function outboxWriter({ prepare }: Statements): (verb: Verb) => OutboxWriter {
  const add = prepare<unknown, [string, number]>(
    `insert or replace into outbox (id, attempts, due_ms, claim, error) values (?, 0, ?, '', null)`,
  )
  const due = prepare<{ id: string; attempts: number }, [number, number]>(
    'select id, attempts from outbox where due_ms <= ? order by due_ms, id limit ?',
  )
  const lease = prepare<unknown, [number, string, string]>(
    'update outbox set attempts = attempts + 1, due_ms = ?, claim = ? where id = ?',
  )
  const done = prepare<unknown, [string, string]>('delete from outbox where id = ? and claim = ?')
  const retry = prepare<unknown, [number, string, string, string]>(
    `update outbox set due_ms = ?, error = ?, claim = '' where id = ? and claim = ?`,
  )
  return (verb) => ({
    add: verb((id: string, now_ms: number) => void add.run(id, now_ms)),
    claim: verb((limit: number, lease_ms: number, now_ms: number) =>
      due.all(now_ms, limit).map(({ id, attempts }) => {
        const claim = randomUUID()
        lease.run(now_ms + lease_ms, claim, id)
        return { id, attempts, claim }
      }),
    ),
    finish: verb(({ id, claim }: OutboxEntry, again?: { due_ms: number; error: string }) => {
      if (again === undefined) done.run(id, claim)
      else retry.run(again.due_ms, again.error, id, claim)
    }),
  })
}
