/** Embeddings and their generations, and the feed of changes that derived indexes follow. */
import { StorageError } from '../../../../sdk/storage/errors.ts'
import type { Verb } from '../../../../sdk/storage/members.ts'
import type {
  EmbeddingWriter,
  FeedEntry,
  Generation,
  MadeVectors,
  PutGeneration,
} from '../../../../sdk/storage/store.ts'
import { checkVectors } from '../../../../sdk/storage/vector-checks.ts'
import { packVectors, unpackVectors, type VectorRow } from '../shared.ts'
import type { SqliteMember } from './commit.ts'
import type { Statements } from './connect.ts'
import { type DecisionTable, type FieldRow, fieldColumns, fieldsOfRow, holdsVectors } from './decisions.ts'

export function embeddingWriter(statements: Statements, table: DecisionTable) {
  const { prepare } = statements
  const all = prepare<Generation, []>('select number, embedder, dimensions, state from generations')
  const inState = (state: Generation['state']) => all.all().find((one) => one.state === state)
  const add = prepare<{ number: number }, [string, number, string]>(
    'insert into generations (embedder, dimensions, state) values (?, ?, ?) returning number',
  )
  const forgetGeneration = prepare<unknown, [number]>('delete from generations where number = ?')
  const forgetVectors = prepare<unknown, [number]>('delete from embeddings where generation = ?')
  const activate = prepare<unknown, [number]>(`update generations set state = 'active' where number = ?`)
  const mark = prepare<unknown, []>(`update decisions as d set indexed = not indexed where indexed <> ${holdsVectors}`)
  const put = prepare<unknown>(
    `insert or replace into embeddings (num, generation, structure, function, both, shared) values (?, ?, ?, ?, ?, ?)`,
  )
  const drop = prepare<unknown, [number]>(
    'delete from embeddings where num = ? and generation in (select number from generations)',
  )

  function numOf(id: string): number | null {
    const row = table.find(id)
    return row === null || row.gone !== 0 ? null : row.num
  }
  function forget({ number }: Generation): void {
    forgetVectors.run(number)
    forgetGeneration.run(number)
  }

  function start(embedder: string, dimensions: number): Generation {
    const unfinished = inState('building')
    if (unfinished) forget(unfinished)
    const state = inState('active') ? 'building' : 'active'
    return { number: add.get(embedder, dimensions, state)!.number, embedder, dimensions, state }
  }
  function finish(number: number): Generation {
    const built = inState('building')
    if (built?.number !== number) throw new StorageError('not_found', `generation ${number} is not being built`)
    const active = inState('active')
    if (active) forget(active)
    activate.run(number)
    mark.run()
    return { ...built, state: 'active' }
  }

  return (member: SqliteMember, verb: Verb): EmbeddingWriter => ({
    put: verb((id: string, made: MadeVectors | null) => {
      // A decision that this transaction wrote has its number in the feed already.
      const own = member.files.get(id)
      const num = own ? own.num : numOf(id)
      if (made === null) {
        if (num === null) return false
        drop.run(num)
        own ? table.mark(num) : table.touch(num)
        return false
      }
      if (num === null) throw new StorageError('not_found', `there is no decision ${id}`)
      const stored = all.all()
      if (stored.length === 0) stored.push(start(made.embedder, made.vectors.both.length))
      const generations = stored.filter(({ embedder }) => embedder === made.embedder)
      for (const generation of generations) checkVectors(made.vectors, generation)
      const row = packVectors(made.vectors)
      for (const { number } of generations) put.run(num, number, row.structure, row.function, row.both, row.shared)
      if (generations.length > 0) own ? table.mark(num) : table.touch(num)
      return generations.some(({ state }) => state === 'active')
    }),
    putGeneration: verb((next: PutGeneration) =>
      next.state === 'building' ? start(next.embedder, next.dimensions) : finish(next.number),
    ),
  })
}

/** Reads the entries of the feed after a number, with the vectors of one generation. */
export function feedReader(statements: Statements): (after: number, generation: number, limit: number) => FeedEntry[] {
  type Row = FieldRow & Partial<VectorRow> & { seq: number; gone: number; terms: string }
  const since = statements.prepare<Row, [number, number, number]>(
    `select d.seq, d.gone, ${fieldColumns}, t.terms, e.structure, e.function, e.both, e.shared
     from decisions d join search_terms t on t.num = d.num left join embeddings e on e.generation = ? and e.num = d.num
     where d.seq > ? order by d.seq limit ?`,
  )
  return (after, generation, limit) =>
    since.all(generation, after, limit).map((row) => ({
      seq: row.seq,
      id: row.id as string,
      fields: row.gone !== 0 ? null : fieldsOfRow(row),
      terms: row.gone !== 0 ? '' : row.terms,
      vectors: row.gone !== 0 || row.structure == null ? null : unpackVectors(row as VectorRow),
    }))
}
