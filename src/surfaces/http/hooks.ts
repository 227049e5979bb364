/** `POST /hooks/<client>`: an event from the hook of an agent's client, answered in that client's format whatever the body is. */
import type { Caller } from '../../core/caller.ts'
import { parseJson } from '../../core/json.ts'
import { json, plainError, type Route } from './route.ts'

/** One event as sent. */
export interface HookPost {
  client: string
  /** Undefined if it is not JSON. */
  body: unknown
  caller: Caller
  request_id: string
  signal: AbortSignal
  /** `?mode=`: which rules stop a call; null if the hook names none. */
  mode: string | null
  /** Project and branch of the repository, as configured in the hook. */
  project: string | null
  branch: string | null
  /** W3C `traceparent` of the agent's turn. */
  traceparent: string | null
}

export interface HookOptions {
  clients: readonly string[]
  /** `failed` is true if the service could not do what was asked. */
  answer(post: HookPost): Promise<{ answer: Record<string, unknown>; failed: boolean }>
}

/** Marks an answer that is not a verdict, for hooks that can try again later. */
const failedHeader = 'cstp-failed'

const name = (value: string | null): string | null => {
  const text = value?.trim().slice(0, 256).toWellFormed() ?? ''
  return text === '' || /\p{C}/u.test(text) ? null : text
}

export const hooksRoute = ({ clients, answer }: HookOptions): Route => ({
  methods: ['POST'],
  scope: 'write',
  async handle(request, { caller, path, body, max_body_bytes, newRequestId, signal }) {
    const client = path.slice('/hooks/'.length)
    if (!clients.includes(client))
      return plainError(404, 'not_found', `There are hooks of ${clients.join(', ')} at /hooks/<client>`)
    const bytes = await body(max_body_bytes)
    if (bytes instanceof Response) return bytes
    const { searchParams } = new URL(request.url)
    const parsed = parseJson(bytes)
    const answered = await answer({
      client,
      body: 'value' in parsed ? parsed.value : undefined,
      caller: caller!,
      request_id: newRequestId(),
      signal,
      mode: searchParams.get('mode'),
      project: name(searchParams.get('project')),
      branch: name(searchParams.get('branch')),
      traceparent: request.headers.get('traceparent'),
    })
    const response = json(answered.answer)
    if (answered.failed) response.headers.set(failedHeader, 'true')
    return response
  },
})
