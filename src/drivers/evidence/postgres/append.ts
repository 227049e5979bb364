/**
 * Appends of many servers as one chain. A transaction takes the log's advisory lock before it reads the head, so the head that it
 * follows is the last one that was committed, and the next one waits in line. Under serialisable isolation both would read
 * the same head and one would be thrown away with all that it had hashed, the more often the busier the servers are; the lock lets
 * each do its work once, in turn, and costs one message. The head's row is locked too: an engine that takes advisory locks for
 * nothing still keeps the order.
 */
import { isStorageError } from '../../../../sdk/storage/errors.ts'
import type { EvidenceBatch, EvidenceHead, EvidenceRecord, WebhookKey } from '../../../../sdk/storage/evidence.ts'
import { type HeadRow, headOf } from '../../shared/log-rows.ts'
import { type Client, isRetryable, type Query, storageErrorOf } from '../../shared/postgres/client.ts'
import { toText } from '../../shared/postgres/filter.ts'
import type { Transact, Writing } from '../group.ts'
import { checkEnd, commitsOf, isWebhook, webhookKeysOf } from '../rows.ts'
import { recordColumns, recordOf, selectHead } from './read.ts'

const attempts = 5
/** Rows of one statement: it is held in memory by both sides. */
const rowsAtOnce = 5_000
/** Of the log in this schema, until the transaction ends; the first half of the key is evidence's alone. */
const appendLock = `select pg_advisory_xact_lock(${0x63737465}, hashtext(current_schema()))`

/** One transaction at a time, so that appends that wait share the next one. */
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

async function currentHead(query: Query): Promise<EvidenceHead> {
  const [row] = await query<HeadRow>(`${selectHead} for update`)
  const [last] = await query<{ seq: number; hash: string }>(
    'select seq::float8 as seq, hash from events order by events.seq desc limit 1',
  )
  return checkEnd(headOf(row, 'postgres evidence'), last, 'postgres')
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

/** Inserts rows by the thousand: one array a column, so that a statement has few parameters whatever its rows. */
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

async function write(query: Query, batches: readonly EvidenceBatch[], head: EvidenceHead): Promise<void> {
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
  const nodes = batches.flatMap((batch) => batch.nodes)
  await insert(query, 'nodes', { level: 'int', index: 'bigint', hash: text }, nodes)
  await insert(query, 'webhook_keys', { field: text, value: text, seq: 'bigint' }, webhook)
  await insert(query, 'pull_requests', { pr_number: 'bigint', seq: 'bigint' }, pullRequests)
  await insert(query, 'commits', { sha: text, seq: 'bigint' }, commits)
  await query('update head set seq = $1::bigint, hash = $2, frontier = $3', [
    head.seq,
    head.hash,
    JSON.stringify(head.frontier),
  ])
}

/** A value as the table has it: an integer is not the text of its digits. */
const keyText = (value: string | number): string => JSON.stringify(value)

interface Keys {
  webhook: { field: string; value: string; seq: number }[]
  pullRequests: { pr_number: number; seq: number }[]
  commits: { sha: string; seq: number }[]
}

/** Of the records that hold any. @throws SyntaxError for a payload that is not JSON */
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
