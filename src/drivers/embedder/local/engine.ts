/** The main thread's side of a thread of the local model: sends texts, receives vectors, and handles an unexpected end of the thread. */
import { StorageError } from '../../../../sdk/storage/errors.ts'
import type { Model } from './minilm.ts'
import type { RuntimeName } from './runtime.ts'
import type { Reply, Request } from './worker.ts'

export interface Engine {
  runtime: Model['runtime']
  /** @throws StorageError `unavailable` if the thread fails or ends */
  embed(text: string): Promise<Float32Array>
  stop(): void
}

type Waiting = { resolve(vector: Float32Array): void; reject(error: Error): void }

const unavailable = (message: string) => new StorageError('unavailable', `The local embedder ${message}`)

/**
 * Resolves when the model is ready.
 * @param onDeath called once if the thread ends by itself after it was ready
 * @throws StorageError `unavailable` if the model can't load
 */
export function startEngine(worker: Worker, runtime: RuntimeName | undefined, onDeath: () => void): Promise<Engine> {
  const waiting = new Map<number, Waiting>()
  const { promise, resolve, reject } = Promise.withResolvers<Engine>()
  let count = 0
  let state: 'starting' | 'ready' | 'gone' = 'starting'
  const post = (request: Request) => worker.postMessage(request)

  function end(message: string): void {
    if (state === 'gone') return
    const before = state
    state = 'gone'
    worker.terminate()
    const error = unavailable(message)
    for (const { reject } of waiting.values()) reject(error)
    waiting.clear()
    if (before === 'ready') onDeath()
    else reject(error)
  }

  const engine = (ready: Model['runtime']): Engine => ({
    runtime: ready,
    embed(text) {
      if (state === 'gone') return Promise.reject(unavailable('lost its thread'))
      return new Promise((resolve, reject) => {
        waiting.set(++count, { resolve, reject })
        post({ id: count, text })
      })
    },
    stop() {
      state = 'gone'
      worker.terminate()
    },
  })

  // Bun's message is a page of source code; one of its lines has the cause.
  const cause = (message: string) => /^error: (.*)$/m.exec(message)?.[1] ?? message
  worker.addEventListener('error', (event) => end(`lost its thread: ${cause(event.message)}`))
  worker.addEventListener('close', () => end('lost its thread'))
  worker.addEventListener('message', ({ data }: MessageEvent<Reply>) => {
    if ('ready' in data) {
      state = 'ready'
      resolve(engine(data.ready))
    } else if ('failed' in data) end(`can't load its model: ${data.failed}`)
    else {
      const asker = waiting.get(data.id)
      waiting.delete(data.id)
      if ('vector' in data) asker?.resolve(data.vector)
      else asker?.reject(unavailable(`failed on a text: ${data.error}`))
    }
  })
  post({ open: { runtime } })
  return promise
}
