/** Decisions inside a write transaction. */
import type { DecisionRecord } from '../../../../sdk/schema/decision.ts'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import type { CountFilter, DecisionWriter, GroupKey, StoreOptions } from '../../../../sdk/storage/store.ts'
import type { Query } from '../../shared/postgres/client.ts'
import { toText } from '../../shared/postgres/filter.ts'
import { allCounts, countedName, countedUnder } from './count-locks.ts'
import { type FoundOf, nameOf, note } from './draft.ts'
import { groupRows } from './groups.ts'
import { getStored, idsOfSource } from './rows.ts'
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

  /** The revision of a decision, 0 if there is none; `guess` if it need not be read before the commit. */
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
    note(draft, name, { kind: 'decision', id, revision, indexed: null })
    return revision
  }

  /** Id of the decision that has a source key, if there is one. */
  async function holdersOf(key: string): Promise<string[]> {
    const name = nameOf('source', key)
    const ids = await access.look([name], (query) => idsOfSource(query, key))
    const holder = ids[0] ?? null
    note(draft, name, { kind: 'source', key, holders: [holder, holder] })
    return ids
  }
  /** Whether a record may have its source key. `mine` is its id if it replaces a decision, otherwise null. */
  async function isFree({ source_key: key, id }: DecisionRecord, mine: string | null): Promise<boolean> {
    if (key === null) return true
    const name = nameOf('source', key)
    if (draft.decisions.values().some(({ record }) => record.source_key === key)) await access.engine()
    const found = draft.found.get(name) as FoundOf<'source'> | undefined
    if (found === undefined && !access.held) {
      access.assume(name, { kind: 'source', key, holders: [null, mine] })
      return true
    }
    let holder = found ? found.holders[0] : ((await holdersOf(key))[0] ?? null)
    if (holder !== null && written(holder)) {
      // This transaction may have taken the key from that decision.
      await access.engine()
      holder = (await holdersOf(key))[0] ?? null
    }
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
        note(draft, nameOf('decision', id), { kind: 'decision', id, revision, indexed })
      }
      return texts
    }),
    groups: verb((filter: CountFilter, by: readonly GroupKey[]) =>
      counted(filter, (query) => groupRows(query, filter, by)),
    ) as DecisionWriter['groups'],
    find: verb(async ({ source_key }: { source_key: string }) => {
      if (draft.decisions.size + draft.gone.size > 0) await access.engine()
      return holdersOf(source_key)
    }),
    put: verb(async (record: DecisionRecord, replaces: number, revision = replaces + 1) => {
      const terms = analyse(record)
      const { id } = record
      const isNew = replaces === 0
      if (isNew && written(id)) throw taken(record)
      if (written(id)) await access.engine()
      const stored = await revisionOf(id, replaces)
      if (isNew && stored !== 0) throw taken(record)
      if (!isNew && stored === 0) throw new StorageError('not_found', `there is no decision ${id}`)
      if (stored !== replaces)
        throw new StorageError('conflict', `decision ${id} is at revision ${stored}, not ${replaces}`)
      if (!(await isFree(record, isNew ? null : id))) throw taken(record)
      // The names that an existing decision was counted under are not looked up, so a change of it locks all counts.
      if (counts) await (isNew ? access.guard(countedUnder(record), 'shared') : access.guard([allCounts]))
      draft.decisions.set(id, { record, replaces, revision, terms })
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
