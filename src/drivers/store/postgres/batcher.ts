/**
 * Group commit. Transactions that arrive while a group runs share the next one: one database transaction, which takes the lock of all
 * writers, runs them, and commits once. Every server holds this lock until its commit, so all transactions behave as if they had run one
 * after the other, what a transaction reads stays so until it ends, and the numbers of changes ascend in the order of commits.
 */
import { sql } from 'drizzle-orm'
import { isStorageError, StorageError } from '../../../../sdk/storage/errors.ts'
import { type Client, isLost, isRetryable, type Query, storageErrorOf } from '../../shared/postgres/client.ts'
import { openDatabase } from '../../shared/postgres/database.ts'
import type { History } from './history.ts'
import { type Access, type Group, openTransaction } from './transaction.ts'
import { openWrites } from './writes.ts'

type Work<T> = (access: Access) => Promise<T>

interface Job {
  work: Work<unknown>
  /** It can't share a group. */
  isAlone: boolean
  resolve(value: unknown): void
  reject(error: unknown): void
}

const maxGroup = 64
/** How often a group runs again after it lost its connection or a conflict with another program, before anything was committed. */
const maxAttempts = 4
/** The lock of all writers in this schema, until the commit. The first half of the key is used only by the store. */
const writerLock = `select pg_advisory_xact_lock(${0x63737470}, hashtext(current_schema()))`
/** A server that hangs must not hold the lock for long: the others wait for it. */
const maxIdleMs = 2_000
const first = `set local idle_in_transaction_session_timeout = ${maxIdleMs}; ${writerLock}`

/** @returns runs `work` in a transaction, and resolves once it is durable */
export function openBatcher({ begin }: Pick<Client, 'begin'>, history: History): <T>(work: Work<T>) => Promise<T> {
  const queue: Job[] = []
  let isRunning = false
  let connection: Query | null = null
  const db = openDatabase((...statement) => {
    if (connection === null) throw new StorageError('invalid', 'the transaction is over')
    return connection(...statement)
  })

  /** Runs the jobs and sends their writes. Resolves with what to do after the commit. */
  async function runJobs(jobs: readonly Job[]): Promise<(() => void)[]> {
    const group: Group = { db, writes: openWrites(db), reads: new Map() }
    const running = jobs.map(async (job) => {
      const transaction = openTransaction(group, job.isAlone)
      const [result] = await Promise.allSettled([job.work(transaction.access)])
      return { job, result, ended: transaction.end() }
    })
    const answers: (() => void)[] = []
    const again: Job[] = []
    const written = new Set<string>()
    const changed = new Set<string>()
    for (const { job, result, ended } of await Promise.all(running)) {
      if (ended === 'alone') again.push({ ...job, isAlone: true })
      else if (!ended.reads.isDisjointFrom(written)) again.push(job)
      else if (result.status === 'rejected') {
        if (job.isAlone) throw new Refusal(result.reason)
        answers.push(() => job.reject(result.reason))
      } else {
        for (const key of ended.written) written.add(key)
        for (const id of ended.changed) changed.add(id)
        for (const write of ended.writes) write(group.writes)
        answers.push(() => job.resolve(result.value))
      }
    }
    if (changed.size > 0) group.writes.numberChanges([...changed])
    const flushed = group.writes.flush()
    // Behind the writes, under the lock: what this server has seen is still there, and nothing is acknowledged otherwise.
    const looked = db.select(history.columns()).from(sql`(select) as one`)
    const [[row]] = await Promise.all([looked, flushed])
    const newest = history.check(row!)
    answers.unshift(() => history.saw(newest))
    answers.push(() => queue.unshift(...again))
    return answers
  }

  /** Settles the jobs, or puts them back into the queue. */
  async function runGroup(jobs: readonly Job[], attempt = 1): Promise<void> {
    let hasBegun = false
    /** The first error of the engine, which has aborted the database transaction. */
    let failure: { error: unknown } | undefined
    try {
      const answers = await begin(async (query) => {
        hasBegun = true
        connection = async (...statement) => {
          try {
            return await query(...statement)
          } catch (error) {
            failure ??= { error }
            throw error
          }
        }
        const answers = await runJobs(jobs)
        if (failure !== undefined) throw failure.error
        return answers
      }, first)
      for (const answer of answers) answer()
    } catch (thrown) {
      const error = failure === undefined ? thrown : failure.error
      if (error instanceof Refusal) jobs[0]!.reject(error.reason)
      else if (isStorageError(error) || !hasBegun)
        for (const { reject } of jobs) reject(storageErrorOf(error, 'cannot begin a transaction'))
      else if ((isLost(error) || isRetryable(error)) && attempt < maxAttempts) {
        await Bun.sleep(attempt * 10)
        await runGroup(jobs, attempt + 1)
      } else if (jobs.length > 1) queue.unshift(...jobs.map((job) => ({ ...job, isAlone: true })))
      else jobs[0]!.reject(storageErrorOf(error, 'cannot write'))
    } finally {
      connection = null
    }
  }

  function nextGroup(): Job[] {
    const end = queue.findIndex(({ isAlone }) => isAlone)
    return queue.splice(0, end === -1 ? maxGroup : Math.max(1, Math.min(end, maxGroup)))
  }

  async function run(): Promise<void> {
    // Requests that arrive together are each read in a turn of the event loop of their own: wait for all of them.
    await new Promise(setImmediate)
    while (queue.length > 0) await runGroup(nextGroup())
    isRunning = false
  }

  return <T>(work: Work<T>) =>
    new Promise<T>((resolve, reject) => {
      queue.push({ work, isAlone: false, resolve: resolve as (value: unknown) => void, reject })
      if (isRunning) return
      isRunning = true
      run()
    })
}

/** The error of a transaction that runs alone, which rolls back what it has already sent. */
class Refusal extends Error {
  readonly reason: unknown
  constructor(reason: unknown) {
    super('refused')
    this.reason = reason
  }
}
