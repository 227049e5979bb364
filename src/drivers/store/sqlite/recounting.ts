/** Compares and corrects the counters of a store in a thread of its own, so that other calls are answered meanwhile. */
import { StorageError } from '../../../../sdk/storage/errors.ts'
import { startThread } from '../../../core/thread.ts'
import type { Counter } from './recount.ts'
import type { RecountReply, RecountRequest } from './recount-worker.ts'

function asked(request: RecountRequest): Promise<Counter[]> {
  const { promise, resolve, reject } = Promise.withResolvers<Counter[]>()
  const refuse = (message: string) => reject(new StorageError('unavailable', `cannot count decisions: ${message}`))
  const worker = startThread('drivers/store/sqlite/recount-worker.ts')
  worker.addEventListener('error', ({ message }) => refuse(message))
  worker.addEventListener('message', ({ data }: MessageEvent<RecountReply>) => {
    if ('wrong' in data) resolve(data.wrong)
    else refuse(data.error)
  })
  worker.postMessage(request)
  return promise.finally(() => worker.terminate())
}

/** The counters that differ from a recount. */
export const findWrongCounters = (database: string): Promise<Counter[]> => asked({ database, correct: false })

/** Counts all of them again. Nothing else of this process may write meanwhile. */
export async function correctCounters(database: string): Promise<void> {
  await asked({ database, correct: true })
}
