/**
 * Transactions. A transaction first runs without locks: its reads are noted, its writes are kept in memory, and both are sent together with
 * those of others. It commits if its reads still hold; otherwise it runs again. If that doesn't help, or if the work asks questions that
 * can't be noted, it runs in a database transaction of its own, which locks each key until the commit before it reads it, so that its reads
 * stay valid. On a deadlock the engine aborts one transaction, which runs again.
 */
import { isStorageError, StorageError } from '../../../../sdk/storage/errors.ts'
import { type Client, isLost, isRetryable, type Query, storageErrorOf } from '../../shared/postgres/client.ts'
import { toText } from '../../shared/postgres/filter.ts'
import { clear, type Draft, type Found, locksOf, newDraft, note, writesOf } from './draft.ts'
import { announceChanges } from './feed.ts'
import { lockNames } from './locks.ts'
import { changesOf, send } from './writes.ts'

type Mode = 'shared' | 'exclusive'

/** What the methods of a transaction work with. */
export interface Access {
  readonly draft: Draft
  /** Whether locks are held. */
  readonly held: boolean
  /** Reads what the locks with these names guard: under the locks, or to be compared at the commit. */
  look<T>(names: readonly string[], read: (query: Query) => Promise<T>, mode?: Mode): Promise<T>
  /** Reads something that may change before the commit. */
  glance<T>(read: (query: Query) => Promise<T>): Promise<T>
  /** Assumes something without reading it; only if no locks are held. */
  assume(name: string, found: Found): void
  /** Locks what will be written if locks are held; otherwise the commit does so. */
  guard(names: readonly string[], mode?: Mode): Promise<void>
  /** For what needs a database transaction: returns its connection, to which all earlier writes have been sent. */
  engine(): Promise<Query>
}

export type Verb = <A extends unknown[], R>(run: (...args: A) => Promise<R>) => (...args: A) => Promise<R>

/** The outcome of a draft: `kept` if it was committed, `outdated` if something it has read has changed, `contested` if it needs locks. */
export type Fate = 'kept' | 'outdated' | 'contested'

type Work<T> = (access: Access, verb: Verb) => Promise<T>

/** State shared by the transactions of one store. */
export interface Transactions {
  client: Client
  /** Sends a draft together with those of others. */
  commit(draft: Draft): Promise<Fate>
  /** Called with the number of decisions that a transaction has changed. */
  changed(changes: number): void
  /** Called if an assumption did not hold: cached contents of tables can't be trusted. */
  forget(): void
}

/** Attempts without locks, before one that waits for them. */
const freeAttempts = 3
const attempts = 20
const cutAttempts = 3

interface State {
  open: boolean
  broken: unknown
}

/** Methods work while the transaction is open, but not after one that failed halfway. */
const verbOf =
  (state: State): Verb =>
  (run) =>
  async (...args) => {
    if (!state.open) throw new StorageError('invalid', 'the transaction is over')
    if (state.broken !== undefined) throw storageErrorOf(state.broken, 'the transaction has failed')
    try {
      return await run(...args)
    } catch (error) {
      // Refusals happen before anything is written: `work` may catch them and continue.
      if (isStorageError(error)) throw error
      state.broken = error
      throw storageErrorOf(error, 'cannot write')
    }
  }

/** Runs `work` and commits, several times if needed. @throws StorageError, and whatever `work` throws */
export async function transact<T>(shared: Transactions, work: Work<T>): Promise<T> {
  const alone = new Set<string>()
  for (let attempt = 1; attempt <= freeAttempts; attempt++) {
    const draft = newDraft()
    const done = await withoutLocks(shared, work, draft)
    if (typeof done === 'object') return done.value
    shared.forget()
    for (const [name, only] of locksOf(draft)) if (only) alone.add(name)
    if (done === 'contested') break
  }
  return withLocks(shared, work, alone)
}

/** Returns `contested` if it has to run with locks. */
async function withoutLocks<T>(
  { client, commit }: Transactions,
  work: Work<T>,
  draft: Draft,
): Promise<{ value: T } | Exclude<Fate, 'kept'>> {
  const state: State = { open: true, broken: undefined }
  let [reads, assumed, needsEngine] = [0, false, false]
  const access: Access = {
    draft,
    held: false,
    look(_, read) {
      reads++
      return read(client.read)
    },
    glance: (read) => read(client.read),
    assume(name, found) {
      assumed = true
      note(draft, name, found)
    },
    guard: async () => {},
    async engine() {
      needsEngine = true
      throw new StorageError('unavailable', 'the transaction runs again with locks')
    },
  }
  // What one statement found was true at one time.
  const isSure = () => reads <= 1 && !assumed
  let value: T
  try {
    value = await work(access, verbOf(state))
  } catch (error) {
    if (needsEngine || (state.broken === undefined && !isSure())) return 'contested'
    throw error
  } finally {
    state.open = false
  }
  if (needsEngine) return 'contested'
  if (state.broken !== undefined) throw storageErrorOf(state.broken, 'cannot write')
  if (writesOf(draft) === 0 && isSure()) return { value }
  const fate = await commit(draft)
  return fate === 'kept' ? { value } : fate
}

/** @param alone names that are locked exclusively before anything under them is read; grows */
async function withLocks<T>({ client, changed }: Transactions, work: Work<T>, alone: Set<string>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const state: State = { open: true, broken: undefined }
    try {
      const { result, changes } = await client.begin((query, finish) => {
        state.broken = undefined
        return runLocked(query, finish, state, work, alone)
      }, announceChanges)
      changed(changes)
      return result
    } catch (error) {
      // If BEGIN failed, the error is the engine's own.
      const cause = isFromEngine(error) ? error : (state.broken ?? error)
      // If a method failed because its connection was lost, that was before the commit: nothing of the transaction was kept.
      const isCut = state.broken !== undefined && isLost(cause) && attempt < cutAttempts
      if (isCut || (isRetryable(cause) && attempt < attempts)) {
        await Bun.sleep(Math.random() * 2 ** Math.min(attempt, 6))
        continue
      }
      if (state.broken !== undefined) throw storageErrorOf(cause, 'cannot write')
      // Errors that `work` threw are the caller's; errors that the engine threw at the commit are ours.
      throw 'query' in Object(error) || !isFromEngine(error) ? error : storageErrorOf(error, 'cannot commit')
    } finally {
      state.open = false
    }
  }
}

const isFromEngine = (error: unknown): boolean =>
  !isStorageError(error) && error instanceof Error && /^(?:Postgres|SQL)/.test(error.constructor.name)

async function runLocked<T>(
  query: Query,
  finish: (last: readonly Promise<unknown>[]) => Promise<void>,
  state: State,
  work: Work<T>,
  alone: Set<string>,
): Promise<{ result: T; changes: number }> {
  const locked = new Map<string, Mode>()
  const draft = newDraft()
  let given = 0
  async function lock(names: readonly string[], mode: Mode): Promise<void> {
    const wanted = names.filter((name) => locked.get(name) !== 'exclusive' && locked.get(name) !== mode).sort()
    if (wanted.length === 0) return
    // If two transactions have both read what they then write, the engine aborts one at once; its next attempt should wait instead.
    for (const name of wanted) if (locked.has(name)) alone.add(name)
    const modes = wanted.map((name) => (alone.has(name) ? 'exclusive' : mode))
    for (const [at, name] of wanted.entries()) locked.set(name, modes[at]!)
    await query(lockNames, [wanted.map(toText), modes.map((one) => one === 'exclusive')])
  }
  const access: Access = {
    draft,
    held: true,
    async look(names, read, mode = 'exclusive') {
      // Sent together: a statement sees what was committed before it runs, and it runs after the one that locks.
      const waiting = lock(names, mode)
      const [found] = await Promise.all([read(query), waiting])
      return found
    },
    glance: (read) => read(query),
    assume() {
      throw new StorageError('invalid', 'optimistic reads are not allowed while locks are held')
    },
    guard: (names, mode = 'exclusive') => lock(names, mode),
    async engine() {
      const changes = changesOf([draft]).length
      await Promise.all(send(query, [draft], given))
      given += changes
      clear(draft)
      return query
    },
  }
  const result = await work(access, verbOf(state))
  state.open = false
  if (state.broken !== undefined) throw state.broken
  await finish(send(query, [draft], given))
  return { result, changes: given + changesOf([draft]).length }
}
