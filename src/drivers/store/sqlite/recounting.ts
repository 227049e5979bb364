/** Compares and corrects the counters of a store in a separate thread, so that other calls can run. */
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

/** Recounts all counters. This process must not write anything else in the meantime. */
export async function correctCounters(database: string): Promise<void> {
  await asked({ database, correct: true })
}
