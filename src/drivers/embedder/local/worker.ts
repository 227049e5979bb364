/** The thread of the local model: embeds one text at a time. */
import { messageOf } from '../../../core/log.ts'
import { type Model, openModel } from './minilm.ts'
import type { RuntimeName } from './runtime.ts'

export type Request = { open: { runtime?: RuntimeName } } | { id: number; text: string }
export type Reply =
  | { ready: Model['runtime'] }
  | { failed: string }
  | { id: number; vector: Float32Array }
  | { id: number; error: string }

declare const self: Worker

const reply = (message: Reply, transfer: Transferable[] = []) => self.postMessage(message, transfer)
let model: Model

self.onmessage = async ({ data }: MessageEvent<Request>) => {
  if ('open' in data) {
    try {
      model = await openModel(data.open.runtime)
      reply({ ready: { name: model.runtime.name, fallback: model.runtime.fallback } })
      // Frees the memory used only for loading, a third of its peak: an idle thread never collects garbage.
      Bun.gc(true)
    } catch (error) {
      reply({ failed: messageOf(error) })
    }
    return
  }
  const { id } = data
  try {
    const vector = await model.embed(data.text)
    reply({ id, vector }, [vector.buffer as ArrayBuffer])
  } catch (error) {
    reply({ id, error: messageOf(error) })
  }
}
