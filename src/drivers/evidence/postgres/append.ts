/**
 * Appends of many servers to one chain. A transaction takes the log's advisory lock before it reads the head, so the head that it reads is
 * the last committed one, and other appends queue. With serialisable isolation instead, two transactions would read the same head and one
 * would be rolled back with all its hashes, more often the busier the servers are. The lock costs one message, and each append does its
 * work once. The row of the head is locked too, which keeps the order on an engine that ignores advisory locks.
 */
import { isStorageError } from '../../../../sdk/storage/errors.ts'
import type { EvidenceBatch, EvidenceRecord, WebhookKey } from '../../../../sdk/storage/evidence.ts'
import type { LedgerHead } from '../../../../sdk/storage/ledger.ts'
import { type Client, isRetryable, type Query, storageErrorOf } from '../../shared/postgres/client.ts'
import { growLedger, lockHead } from '../../shared/postgres/ledger.ts'
import { toText } from '../../shared/postgres/text.ts'
import type { Transact, Writing } from '../group.ts'
import { checkEnd, commitsOf, isWebhook, webhookKeysOf } from '../rows.ts'
import { recordColumns, recordOf } from './read.ts'

const attempts = 5
/** Rows in one statement, which is held in memory by client and server. */
const rowsAtOnce = 5_000
/** Locks the log of this schema until the transaction ends. The first half of the key is used only by evidence. */
const appendLock = `select pg_advisory_xact_lock(${0x63737465}, hashtext(current_schema()))`

/** Runs one transaction at a time, so that waiting appends share the next one. */
export function transactions(client: Client): Transact {
  let lane: Promise<unknown> = Promise.resolve()
  async function run(work: (writing: Writing) => Promise<void>): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await client.begin(async (query) => {
          await query(appendLock)
          await work(writing(query))
        })
      } catch (error) {
        if (isStorageError(error)) throw error
        if (!isRetryable(error) || attempt === attempts) throw storageErrorOf(error, 'cannot append evidence')
      }
    }
  }
  return (work) => {
    const next = lane.then(() => run(work))
    lane = next.catch(() => {})
    return next
  }
}

const writing = (query: Query): Writing => ({
  head: () => currentHead(query),
  find: (keys) => find(query, keys),
  write: (batches, head) => write(query, batches, head),
})

async function currentHead(query: Query): Promise<LedgerHead> {
  const head = await lockHead(query, '', 'postgres evidence')
  const [last] = await query<{ seq: number; hash: string }>(
    'select seq::float8 as seq, hash from events order by events.seq desc limit 1',
  )
  return checkEnd(head, last, 'postgres')
}

async function find(query: Query, keys: readonly WebhookKey[]): Promise<EvidenceRecord[]> {
  const rows = await query<EvidenceRecord>(
    `select ${recordColumns} from events e where e.seq in (
       select k.seq from webhook_keys k join unnest($1::text[], $2::text[]) as wanted (field, value)
         on k.field = wanted.field and k.value = wanted.value) order by e.seq`,
    [keys.map(({ field }) => field), keys.map(({ value }) => toText(keyText(value)))],
  )
  return rows.map(recordOf)
}

/** Inserts rows with one array for each column, so that a statement for thousands of rows has few parameters. */
async function insert<Row extends object>(
  query: Query,
  table: string,
  columns: Record<keyof Row & string, string>,
  rows: readonly Row[],
): Promise<void> {
  const names = Object.keys(columns) as (keyof Row & string)[]
  const arrays = names.map((name, at) => `$${at + 1}::${columns[name]}[]`)
  const quoted = names.map((name) => `"${name}"`)
  const sql = `insert into ${table} (${quoted}) select * from unnest(${arrays})`
  for (let from = 0; from < rows.length; from += rowsAtOnce) {
    const some = rows.slice(from, from + rowsAtOnce)
    await query(
      sql,
      names.map((name) => some.map((row) => (typeof row[name] === 'string' ? toText(row[name]) : row[name]))),
    )
  }
}

async function write(query: Query, batches: readonly EvidenceBatch[], head: LedgerHead): Promise<void> {
  const records = batches.flatMap((batch) => batch.records)
  const { webhook, pullRequests, commits } = keysOf(records)
  const text = 'text'
  await insert<EvidenceRecord>(
    query,
    'events',
    {
      seq: 'bigint',
      ts: text,
      source: text,
      event_type: text,
      evidence_class: text,
      payload: text,
      prev_hash: text,
      hash: text,
    },
    records,
  )
  await insert(query, 'webhook_keys', { field: text, value: text, seq: 'bigint' }, webhook)
  await insert(query, 'pull_requests', { pr_number: 'bigint', seq: 'bigint' }, pullRequests)
  await insert(query, 'commits', { sha: text, seq: 'bigint' }, commits)
  await growLedger(
    query,
    '',
    head,
    batches.flatMap((batch) => batch.nodes),
  )
}

/** A value in the form of the table: JSON, in which 1 differs from "1". */
const keyText = (value: string | number): string => JSON.stringify(value)

interface Keys {
  webhook: { field: string; value: string; seq: number }[]
  pullRequests: { pr_number: number; seq: number }[]
  commits: { sha: string; seq: number }[]
}

/** The keys of all records that have some. @throws SyntaxError for a payload that is not JSON */
function keysOf(records: readonly EvidenceRecord[]): Keys {
  const keys: Keys = { webhook: [], pullRequests: [], commits: [] }
  for (const record of records) {
    const { seq, payload } = record
    // Most records have no keys: their payload is not parsed.
    if (!isWebhook(record) && !/"(?:pr_number|sha|merge_commit_sha)"/.test(payload)) continue
    const values = JSON.parse(payload) as Record<string, unknown>
    if (Number.isSafeInteger(values.pr_number)) keys.pullRequests.push({ pr_number: values.pr_number as number, seq })
    for (const sha of commitsOf(values)) keys.commits.push({ sha, seq })
    if (!isWebhook(record)) continue
    for (const { field, value } of webhookKeysOf(values)) keys.webhook.push({ field, value: keyText(value), seq })
  }
  return keys
}
