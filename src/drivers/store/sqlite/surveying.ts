/** Compares the files of a large store in a separate thread, so that other calls can run. */
import { StorageError } from '../../../../sdk/storage/errors.ts'
import { startThread } from '../../../core/thread.ts'
import type { Looking, Survey } from './survey.ts'
import type { SurveyReply, SurveyRequest } from './survey-worker.ts'

export function surveyBeside(database: string, root: string): Looking {
  const { promise, resolve, reject } = Promise.withResolvers<Survey>()
  const refuse = (message: string) => reject(new StorageError('unavailable', `cannot check the files: ${message}`))
  const worker = startThread('drivers/store/sqlite/survey-worker.ts')
  const ask = (request: SurveyRequest) => worker.postMessage(request)
  worker.addEventListener('error', ({ message }) => refuse(message))
  worker.addEventListener('message', ({ data }: MessageEvent<SurveyReply>) => {
    if ('found' in data) resolve(data.found)
    else refuse(data.error)
  })
  ask({ database, root })
  return {
    found: promise.finally(() => worker.terminate()),
    stop: () => ask({ stop: true }),
  }
}
