/** The indices of the table of decisions. */
import type { Table } from '@lancedb/lancedb'
import { decisionFields } from '../../../../sdk/schema/decision-fields.ts'
import type { Libraries } from './library.ts'
import { columns, sidesOf } from './rows.ts'

/** Bits of a dimension in the vector index. */
const vectorBits = 4
/** The longest term has 64 characters; LanceDB counts bytes. */
const maxTokenLength = 1_024

/** Creates the indices that are missing, and brings the others up to date. @param dimensions 0 for no vector indices */
export async function indexRows(
  { lancedb: { Index } }: Pick<Libraries, 'lancedb'>,
  rows: Table,
  dimensions: number,
): Promise<void> {
  await rows.optimize()
  const existing = new Set((await rows.listIndices()).flatMap((index) => index.columns))
  const create = async (column: string, config: ReturnType<typeof Index.btree>) => {
    if (!existing.has(column)) await rows.createIndex(column, { config })
  }
  for (const column of columns) {
    const { type } = decisionFields[column]
    if (column === 'id' || type === 'time') await create(column, Index.btree())
    else if (type === 'text') await create(column, Index.bitmap())
    else if (type === 'texts') await create(column, Index.labelList())
  }
  await create('words', Index.labelList())
  // The terms come from our own analysis: LanceDB only has to split them.
  const terms = Index.fts({
    baseTokenizer: 'whitespace',
    stem: false,
    removeStopWords: false,
    lowercase: false,
    asciiFolding: false,
    withPosition: false,
    maxTokenLength,
  })
  await create('terms', terms)
  for (const side of sidesOf(dimensions))
    await create(side, Index.ivfRq({ distanceType: 'cosine', numBits: vectorBits }))
}
