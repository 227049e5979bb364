/** Rebuilds the stored words when this program analyses text differently than the one that stored them. */

import type { DecisionRecord } from '../../../../sdk/schema/decision.ts'
import type { Terms } from '../../../../sdk/storage/store.ts'
import type { LogWriter } from '../../../core/log.ts'
import { equalTerms, packTerms } from '../resident/postings.ts'
import type { Committer } from './commit.ts'
import type { Statements } from './connect.ts'
import type { DecisionTable } from './decisions.ts'
import { termsOfRow } from './rows.ts'

export interface RewordOptions {
  statements: Statements
  words: ReadonlyMap<string, number>
  analyse(record: DecisionRecord): Terms
  table: DecisionTable
  commits: Committer
  log: LogWriter
}

interface Row {
  num: number
  doc: string
  length: number
  pairs: Uint8Array
}

/** Decisions that are looked at to see whether the analysis changed. */
const sample = 8
const page = 64

export async function rewordWhereNeeded({
  statements,
  words,
  analyse,
  table,
  commits,
  log,
}: RewordOptions): Promise<void> {
  const select = 'select num, doc, length, pairs from documents join keywords using (num)'
  const newest = statements.prepare<Row, [number]>(`${select} order by num desc limit ?`)
  const after = statements.prepare<Row, [number, number]>(`${select} where num > ? order by num limit ?`)

  const outdated = (row: Row): boolean => {
    const terms = packTerms(analyse(JSON.parse(row.doc)), (word) => words.get(word) ?? 0)
    return !equalTerms(termsOfRow(row), terms)
  }
  if (!newest.all(sample).some(outdated)) return
  log('info', 'text is analysed differently than before: rebuilding the keyword index')
  let last = 0
  do {
    last = await commits.run(async () => {
      const rows = after.all(last, page)
      for (const { num, doc } of rows) table.reword(num, JSON.parse(doc))
      return rows.at(-1)?.num ?? -1
    })
  } while (last > 0)
}
