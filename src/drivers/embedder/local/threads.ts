/** The threads of the local model: one while the embedder is open, more while many texts are waiting. */
import { StorageError } from '../../../../sdk/storage/errors.ts'
import { messageOf } from '../../../core/log.ts'
import { WorkerEnded, workerCall } from '../../../core/worker.ts'
import type { Model } from './minilm.ts'
import type { RuntimeName } from './runtime.ts'
import type { Request } from './worker.ts'

/** A thread of the model. */
export interface Engine {
  runtime: Model['runtime']
  /** @throws StorageError `unavailable` if the thread fails or ends */
  embed(text: string): Promise<Float32Array>
  stop(): void
}

/**
 * Resolves when the model is ready.
 * @param onDeath called once if the thread ends by itself after it was ready
 * @throws StorageError `unavailable` if the model can't load
 */
export async function startEngine(
  worker: Worker,
  runtime: RuntimeName | undefined,
  onDeath: () => void,
): Promise<Engine> {
  let ready = false
  const thread = workerCall<Request>(worker, () => {
    if (ready) onDeath()
  })
  const call = <R>(request: Request, failed: string): Promise<R> =>
    thread.call<R>(request).catch((error: unknown) => {
      const problem = error instanceof WorkerEnded ? 'lost its thread' : failed
      throw new StorageError(
        'unavailable',
        [`The local embedder ${problem}`, messageOf(error)].filter(Boolean).join(': '),
      )
    })
  try {
    const loaded = await call<Model['runtime']>({ open: { runtime } }, "can't load its model")
    ready = true
    return {
      runtime: loaded,
      embed: (text) => call({ text }, 'failed on a text'),
      stop: thread.terminate,
    }
  } catch (error) {
    thread.terminate()
    throw error
  }
}

export interface ThreadLimits {
  /** Maximum number of threads. The first takes about 80 MB, each further one 55 MB. */
  most: number
  /** How long a further thread is kept after the last call of `wanted`, in milliseconds. */
  idle_ms: number
}

export interface Threads {
  /** Number of threads. */
  count(): number
  /** The first thread, which is started if it is not running. @throws StorageError `unavailable` if the model can't load */
  first(): Promise<Engine>
  /** Embeds a text in the thread with the fewest characters left. @throws StorageError `unavailable` if the thread fails or ends */
  embed(text: string): Promise<Float32Array>
  /** Reports more work than one thread should do: starts a thread unless the maximum is reached, and keeps the further threads. */
  wanted(): void
  stop(): Promise<void>
}

interface Slot {
  engine: Promise<Engine>
  /** Characters of its unfinished texts, plus one for each text. */
  busy: number
}

/** @param start starts a thread; its callback is called when the thread ends unexpectedly */
export function openThreads(
  start: (ended: () => void) => Promise<Engine>,
  { most, idle_ms }: ThreadLimits,
  failed: (error: unknown) => void,
): Threads {
  let main: Slot | undefined
  const more: Slot[] = []
  let growing = false
  let stopped = false
  let timer: ReturnType<typeof setTimeout> | undefined

  function mainSlot(): Slot {
    if (main) return main
    const forget = () => {
      if (main === slot) main = undefined
    }
    const slot: Slot = { engine: start(forget), busy: 0 }
    slot.engine.catch(forget)
    main = slot
    return slot
  }

  function remove(slot: Slot): void {
    const at = more.indexOf(slot)
    if (at >= 0) more.splice(at, 1)
  }

  async function grow(): Promise<void> {
    growing = true
    try {
      const engine = await start(() => remove(slot))
      const slot: Slot = { engine: Promise.resolve(engine), busy: 0 }
      if (stopped) engine.stop()
      else more.push(slot)
    } catch (error) {
      failed(error)
    } finally {
      growing = false
    }
  }

  function keepAwhile(): void {
    clearTimeout(timer)
    timer = setTimeout(async () => {
      for (const slot of more.filter(({ busy }) => busy === 0)) {
        remove(slot)
        ;(await slot.engine).stop()
      }
      if (more.length > 0 || growing) keepAwhile()
    }, idle_ms)
    timer.unref()
  }

  return {
    count: () => 1 + more.length,
    first: () => mainSlot().engine,
    async embed(text) {
      const slot = more.reduce((least, one) => (one.busy < least.busy ? one : least), mainSlot())
      const work = text.length + 1
      slot.busy += work
      try {
        return await (await slot.engine).embed(text)
      } finally {
        slot.busy -= work
      }
    },
    wanted() {
      if (stopped || most === 1) return
      if (!growing && 1 + more.length < most) grow()
      keepAwhile()
    },
    async stop() {
      stopped = true
      clearTimeout(timer)
      const engines = [main, ...more].map((slot) => slot?.engine.catch(() => undefined))
      for (const engine of engines) (await engine)?.stop()
    },
  }
}
