/** The body of a request: its type, its length, its text. */
import { plainError, tooLarge } from './answers.ts'

const jsonTypes = /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i
const strictUtf8 = new TextDecoder('utf-8', { fatal: true })

/** The body, read no further than the limit; null when it is longer. */
export async function readBody(request: Request, limit: number): Promise<Uint8Array | null> {
  const declared = request.headers.get('content-length')
  // Number takes what HTTP does not; whatever is no length at all is counted like a body without one.
  if (declared !== null && Number(declared) > limit) return null
  // Asked for before the body: a look at that alone makes a stream.
  if ((declared !== null && Number(declared) >= 0) || request.body === null) return request.bytes()
  const parts: Uint8Array[] = []
  let length = 0
  for await (const part of request.body) {
    length += part.length
    if (length > limit) return null
    parts.push(part)
  }
  return Buffer.concat(parts)
}

/** The text of a POST of JSON, null where it is no UTF-8, or the answer that refuses it. */
export async function readJsonText(request: Request, limit: number): Promise<string | null | Response> {
  if (Number(request.headers.get('content-length') ?? 0) > limit) return tooLarge(limit)
  if (!jsonTypes.test(request.headers.get('content-type') ?? ''))
    return plainError(415, 'unsupported_media_type', 'The content type must be application/json')
  const bytes = await readBody(request, limit)
  if (bytes === null) return tooLarge(limit)
  try {
    return strictUtf8.decode(bytes)
  } catch {
    return null
  }
}
