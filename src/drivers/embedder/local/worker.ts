/** The thread of the local model. */
import { answerCalls } from '../../../core/worker.ts'
import { type Model, openModel } from './minilm.ts'
import type { RuntimeName } from './runtime.ts'

/** The first request opens the model, and is answered with its runtime; each further one is answered with the vector of a text. */
export type Request = { open: { runtime: RuntimeName | undefined } } | { text: string }

let model: Model

answerCalls<Request>(async (request) => {
  if ('text' in request) return model.embed(request.text)
  model = await openModel(request.open.runtime)
  // Frees the memory used only for loading, a third of its peak: an idle thread never collects garbage.
  Bun.gc(true)
  return { name: model.runtime.name, fallback: model.runtime.fallback } satisfies Model['runtime']
})
