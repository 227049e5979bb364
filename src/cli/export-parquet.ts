/** Decisions, their reviews and the verdicts as Parquet, for data tools: a folder with a file each, in row groups of bounded size. */
import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { BasicType } from 'hyparquet-writer'
import type { DecisionRecord } from '../../sdk/schema/decision.ts'
import { scoredValue, settlerOf } from '../../sdk/storage/fields.ts'
import { causeOf } from '../core/log.ts'
import type { Connection, Result } from './connection.ts'
import { Failure } from './failure.ts'
import { auditEntries } from './pages.ts'

type Entry = Result<'listAudit'>['entries'][number]
type Columns<Row> = Record<string, readonly [type: BasicType, value: (row: Row) => unknown]>

const time = (text: string | null | undefined): Date | null => (text ? new Date(text) : null)

const decisions: Columns<DecisionRecord> = {
  id: ['STRING', ({ id }) => id],
  created_at: ['TIMESTAMP', ({ created_at }) => time(created_at)],
  recorded_by: ['STRING', ({ recorded_by }) => recorded_by],
  project: ['STRING', ({ project }) => project?.name],
  category: ['STRING', ({ category }) => category],
  stakes: ['STRING', ({ stakes }) => stakes],
  tags: ['JSON', ({ tags }) => tags],
  decision: ['STRING', ({ decision }) => decision],
  pattern: ['STRING', ({ pattern }) => pattern],
  verdict: ['STRING', ({ verdict }) => verdict?.verdict],
  confidence: ['DOUBLE', ({ confidence_at_record }) => confidence_at_record],
  outcome: ['STRING', ({ outcome }) => outcome],
  settled_by: ['STRING', (record) => settlerOf(record)],
  reviewed_at: ['TIMESTAMP', ({ reviewed_at }) => time(reviewed_at)],
  score: [
    'DOUBLE',
    (record) => scoredValue({ ...record, confidence: record.confidence_at_record, settled_by: settlerOf(record) }),
  ],
}

const outcomes: Columns<{ id: string; review: DecisionRecord['review_history'][number] }> = {
  decision_id: ['STRING', ({ id }) => id],
  reviewed_at: ['TIMESTAMP', ({ review }) => time(review.reviewed_at)],
  reviewed_by: ['STRING', ({ review }) => review.reviewed_by],
  outcome: ['STRING', ({ review }) => review.outcome],
  self_reviewed: ['BOOLEAN', ({ review }) => review.self_reviewed],
  basis: ['STRING', ({ review }) => review.basis],
  counts: ['BOOLEAN', ({ review }) => review.counts],
  actual_result: ['STRING', ({ review }) => review.actual_result],
  lessons: ['STRING', ({ review }) => review.lessons],
}

interface Detail {
  verdict?: string
  policy_hash?: string
  record_id?: string
  duration_ms?: number
  dry_run?: boolean
  shadow?: boolean
}
const detailOf = ({ detail }: Entry): Detail => (detail ?? {}) as Detail

const verdicts: Columns<Entry> = {
  seq: ['INT64', ({ seq }) => BigInt(seq)],
  at: ['TIMESTAMP', ({ at }) => time(at)],
  agent: ['STRING', ({ agent }) => agent],
  method: ['STRING', ({ method }) => method],
  verdict: ['STRING', (entry) => detailOf(entry).verdict],
  allowed: ['BOOLEAN', ({ allowed }) => allowed],
  rules: ['JSON', ({ rules }) => rules],
  record_id: ['STRING', (entry) => detailOf(entry).record_id],
  policy_hash: ['STRING', (entry) => detailOf(entry).policy_hash],
  dry_run: ['BOOLEAN', (entry) => detailOf(entry).dry_run === true],
  shadow: ['BOOLEAN', (entry) => detailOf(entry).shadow === true],
  duration_ms: ['DOUBLE', (entry) => detailOf(entry).duration_ms],
}

const groupRows = 20_000

/** Without it, DuckDB takes a time for one of its own time zone. */
const logical_type = { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' } as const

/** Writes a table; a row group whenever enough rows have come. */
async function openTable<Row>(path: string, columns: Columns<Row>) {
  const { ParquetWriter, fileWriter, schemaFromColumnData } = await import('hyparquet-writer')
  const of = (rows: readonly Row[]) =>
    Object.entries(columns).map(([name, [type, value]]) => ({
      name,
      type,
      data: rows.map((row) => value(row) ?? null),
    }))
  const schema = schemaFromColumnData({ columnData: of([]) }).map((column) =>
    column.converted_type === 'TIMESTAMP_MILLIS' ? { ...column, logical_type } : column,
  )
  const writer = new ParquetWriter({ writer: fileWriter(path), schema })
  let waiting: Row[] = []
  const flush = async () => {
    if (waiting.length > 0) await writer.write({ columnData: of(waiting), rowGroupSize: groupRows })
    waiting = []
  }
  return {
    async add(rows: readonly Row[]) {
      waiting.push(...rows)
      if (waiting.length >= groupRows) await flush()
    },
    async end() {
      await flush()
      await writer.finish()
    },
  }
}

/** Writes the three files; the folder gets its name when they are complete. Returns the number of decisions. @throws Failure if it exists */
export async function exportParquet(
  connection: Connection,
  folder: string,
  records: AsyncIterable<readonly DecisionRecord[]>,
): Promise<number> {
  if (existsSync(folder)) throw new Failure(`${folder} exists; --out names a new folder`)
  const part = `${folder}.${process.pid}.tmp`
  try {
    await mkdir(part, { recursive: true })
    const ofDecisions = await openTable(join(part, 'decisions.parquet'), decisions)
    const ofOutcomes = await openTable(join(part, 'outcomes.parquet'), outcomes)
    const ofVerdicts = await openTable(join(part, 'verdicts.parquet'), verdicts)
    let exported = 0
    for await (const page of records) {
      exported += page.length
      await ofDecisions.add(page)
      await ofOutcomes.add(page.flatMap(({ id, review_history }) => review_history.map((review) => ({ id, review }))))
    }
    for await (const entry of auditEntries(connection, {})) if (entry.allowed !== null) await ofVerdicts.add([entry])
    for (const table of [ofDecisions, ofOutcomes, ofVerdicts]) await table.end()
    await rename(part, folder)
    return exported
  } catch (error) {
    await rm(part, { recursive: true, force: true })
    if (error instanceof Error && 'syscall' in error) throw new Failure(`can't write ${folder}: ${causeOf(error)}`)
    throw error
  }
}
