/** Decisions inside a write transaction. */
import type { DecisionRecord } from '../../../../sdk/schema/decision.ts'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import type { CountFilter, DecisionWriter, StoreOptions } from '../../../../sdk/storage/store.ts'
import type { Query } from '../../shared/postgres/client.ts'
import { toText } from '../../shared/postgres/filter.ts'
import { rowsOf } from '../../shared/postgres/rows.ts'
import { allCounts, countedName, countedUnder } from './count-locks.ts'
import { counter } from './counts.ts'
import { type FoundOf, nameOf } from './draft.ts'
import { getStored } from './rows.ts'
import type { Access, Verb } from './transaction.ts'

export function decisionWriter(access: Access, verb: Verb, analyse: StoreOptions['analyse']): DecisionWriter {
  const { draft } = access
  let counts = false
  const counted = async <T>(filter: CountFilter, read: (query: Query) => Promise<T>): Promise<T> => {
    await access.engine()
    counts = true
    const name = countedName(filter)
    const shared = name === allCounts ? undefined : access.guard([allCounts], 'shared')
    const [found] = await Promise.all([access.look([name], read), shared])
    return found
  }
  const taken = (record: DecisionRecord) =>
    new StorageError('conflict', `the id or source key of decision ${record.id} is taken`)
  const written = (id: string) => draft.decisions.has(id) || draft.vectors.has(id) || draft.gone.has(id)

  /** The revision of a decision, 0 where there is none: `guess` where it need not be read before the commit. */
  async function revisionOf(id: string, guess: number): Promise<number> {
    const name = nameOf('decision', id)
    const found = draft.found.get(name) as FoundOf<'decision'> | undefined
    if (found && found.revision !== null) return found.revision
    if (!access.held) {
      access.assume(name, { kind: 'decision', id, revision: guess, indexed: null })
      return guess
    }
    const [row] = await access.look([name], (query) =>
      query<{ revision: number }>('select revision from decisions where id = $1', [toText(id)]),
    )
    const revision = row?.revision ?? 0
    draft.found.set(name, { kind: 'decision', id, revision, indexed: null })
    return revision
  }

  async function holderOf(key: string): Promise<string | null> {
    const name = nameOf('source', key)
    const [row] = await access.look([name], (query) =>
      query<{ id: string }>('select id from decisions where source_key = $1', [toText(key)]),
    )
    const id = row?.id ?? null
    draft.found.set(name, { kind: 'source', key, holders: [id, id] })
    return id
  }
  /** Whether a decision that is `mine` may have the key. */
  async function isFree({ source_key: key, id }: DecisionRecord, mine: string | null): Promise<boolean> {
    if (key === null) return true
    const name = nameOf('source', key)
    if (draft.decisions.values().some(({ record }) => record.source_key === key)) await access.engine()
    const found = draft.found.get(name) as FoundOf<'source'> | undefined
    if (found === undefined && !access.held) {
      access.assume(name, { kind: 'source', key, holders: [null, mine] })
      return true
    }
    const holder = found ? found.holders[0] : await holderOf(key)
    return holder === null || (holder === mine && mine === id)
  }

  return {
    get: verb(async (ids: readonly string[]) => {
      if (ids.some(written)) await access.engine()
      const names = ids.map((id) => nameOf('decision', id))
      const texts = await access.look(names, (query) => getStored(query, ids))
      const found = new Map(texts.map((text) => [text.id, text]))
      for (const id of ids) {
        const { revision = 0, indexed = null } = found.get(id) ?? {}
        draft.found.set(nameOf('decision', id), { kind: 'decision', id, revision, indexed })
      }
      return texts
    }),
    count: verb((filter: CountFilter) => counted(filter, (query) => counter(query).count(filter))),
    outcomes: verb((filter: CountFilter) => counted(filter, (query) => counter(query).outcomes(filter))),
    idOfSource: verb(async (key: string) => {
      if (draft.decisions.size > 0) await access.engine()
      return holderOf(key)
    }),
    create: verb(async (record: DecisionRecord) => {
      const terms = analyse(record)
      if (written(record.id) || (await revisionOf(record.id, 0)) !== 0 || !(await isFree(record, null)))
        throw taken(record)
      if (counts) await access.guard(countedUnder(record), 'shared')
      draft.decisions.set(record.id, { record, revision: 0, terms })
    }),
    update: verb(async (record: DecisionRecord, revision: number) => {
      const terms = analyse(record)
      if (written(record.id)) await access.engine()
      const stored = await revisionOf(record.id, revision)
      if (stored === 0) throw new StorageError('not_found', `there is no decision ${record.id}`)
      if (stored !== revision)
        throw new StorageError('conflict', `decision ${record.id} is at revision ${stored}, not ${revision}`)
      if (!(await isFree(record, record.id))) throw taken(record)
      // What it was counted under before nobody looks up.
      if (counts) await access.guard([allCounts])
      draft.decisions.set(record.id, { record, revision, terms })
    }),
    renumber: verb(async (decisions: readonly { id: string; revision: number }[]) => {
      const query = await access.engine()
      const [rows, values] = rowsOf(
        ['text', 'int'],
        decisions.map(({ id, revision }) => [toText(id), revision]),
      )
      await query(
        `update decisions d set revision = g.revision from ${rows} as g (id, revision) where d.id = g.id`,
        values,
      )
      for (const { id } of decisions) draft.found.delete(nameOf('decision', id))
    }),
    erase: verb(async (id: string, revision: number | null) => {
      if (written(id)) await access.engine()
      if (revision === null) await access.engine()
      const stored = await revisionOf(id, revision ?? 0)
      if (stored === 0) throw new StorageError('not_found', `there is no decision ${id}`)
      if (revision !== null && stored !== revision)
        throw new StorageError('conflict', `decision ${id} is at revision ${stored}, not ${revision}`)
      if (counts) await access.guard([allCounts])
      draft.gone.add(id)
    }),
  }
}
