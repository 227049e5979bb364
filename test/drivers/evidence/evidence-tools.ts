/** What the tests of the evidence database share: logs with records, and hands that reach past the program. */
import { Database } from 'bun:sqlite'
import { afterAll } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Evidence } from '../../../sdk/storage/evidence.ts'
import { appendEvents, type NewEvent, openChain } from '../../../src/domain/ledger/evidence/chain.ts'
import { openSqliteEvidence } from '../../../src/drivers/evidence/sqlite/driver.ts'

const dir = mkdtempSync(join(tmpdir(), 'cstp-evidence-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))
let made = 0

/** A path in a folder of its own that does not exist yet. */
export const freshPath = (): string => join(dir, String(made++), 'provenance.db')

export const eventOf = (number: number, more: Partial<NewEvent> = {}): NewEvent => ({
  ts: '2026-07-01T10:00:00+02:00',
  source: 'github',
  event_type: 'pr_opened',
  evidence_class: 'observed',
  payload: `{"payload":{"n":${number}},"title":"Zoë \\"${number}\\""}`,
  ...more,
})

export const eventsFrom = (first: number, count: number): NewEvent[] =>
  Array.from({ length: count }, (_, index) => eventOf(first + index))

/** An open log with so many records. */
export async function logOf(count: number, path = freshPath()): Promise<Evidence> {
  const evidence = await openSqliteEvidence(path)
  for (let number = 1; number <= count; number += 5_000)
    await appendEvents(evidence, eventsFrom(number, Math.min(5_000, count - number + 1)))
  return evidence
}

/** A chain that has seen nothing yet: as after a start. */
export const chainOf = (evidence: Evidence) => openChain({ evidence, now: Date.now, yieldToEventLoop: async () => {} })

/** A connection of somebody who drops the triggers first. */
export function intruder(path: string): Database {
  const db = new Database(path)
  db.run('PRAGMA busy_timeout = 5000')
  for (const { name } of db.query<{ name: string }, []>(`select name from sqlite_schema where type = 'trigger'`).all())
    db.run(`drop trigger ${name}`)
  return db
}
