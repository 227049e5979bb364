/** Rebuilds the stored terms if this program analyses text differently from the one that stored them. */

import type { DecisionRecord } from '../../../../sdk/schema/decision.ts'
import { parseRecord } from '../../../../sdk/storage/decisions.ts'
import type { LogWriter } from '../../../core/log.ts'
import type { Committer } from './commit.ts'
import type { Statements } from './connect.ts'
import type { DecisionTable } from './decisions.ts'

export interface RewordOptions {
  statements: Statements
  analyse(record: DecisionRecord): string
  table: DecisionTable
  commits: Committer
  log: LogWriter
}

interface Row {
  num: number
  doc: string
  terms: string
}

/** Number of decisions to check for a change of the analysis. */
const sample = 8
const page = 64

export async function rewordWhereNeeded({ statements, analyse, table, commits, log }: RewordOptions): Promise<void> {
  const select = 'select num, doc, terms from documents join search_terms using (num)'
  const newest = statements.prepare<Row, [number]>(`${select} order by num desc limit ?`)
  const after = statements.prepare<Row, [number, number]>(`${select} where num > ? order by num limit ?`)

  const outdated = ({ doc, terms }: Row): boolean => analyse(parseRecord({ json: doc })) !== terms
  if (!newest.all(sample).some(outdated)) return
  log('info', 'text is analysed differently than before: rebuilding the search terms')
  let last = 0
  do {
    last = await commits.run(async () => {
      const rows = after.all(last, page)
      for (const row of rows) if (outdated(row)) table.reword(row.num, parseRecord({ json: row.doc }))
      return rows.at(-1)?.num ?? -1
    })
  } while (last > 0)
}
