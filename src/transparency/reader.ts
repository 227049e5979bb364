/** Reads the public answers of a log: short texts, with a timeout, without credentials. */

/** The log could not be reached, which is no evidence against it: no network, an overloaded server, another service at its address. */
export class Unreachable extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'Unreachable'
  }
}

/** An answer of the log: its text, or an error of the log itself. */
export type LogResponse = { ok: true; text: string } | { ok: false; damaged: boolean; text: string }

export interface LogReader {
  url: string
  key(): Promise<LogResponse>
  checkpoint(): Promise<LogResponse>
  consistency(old_size: number, size: number): Promise<LogResponse>
}

const timeoutMs = 15_000
const maxBytes = 1_048_576

/** The text of an answer. @throws Error if it has more than `most` bytes, or is not UTF-8 */
export async function readText(response: Response, most: number): Promise<string> {
  const parts: Uint8Array[] = []
  let length = 0
  for await (const part of response.body ?? []) {
    length += part.length
    if (length > most) throw new Error('the answer is too long')
    parts.push(part)
  }
  return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(parts))
}

/** The code of a plain error response; null for any other text. */
function errorOf(text: string): string | null {
  try {
    const body = JSON.parse(text) as { error?: unknown } | null
    return typeof body?.error === 'string' ? body.error : null
  } catch {
    return null
  }
}

/** @param signal aborts running requests */
export function logReader(url: string, signal: AbortSignal): LogReader {
  const get = async (path: string): Promise<LogResponse> => {
    let response: Response
    let text: string
    try {
      const ends = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
      response = await fetch(`${url}${path}`, { redirect: 'manual', signal: ends })
      text = await readText(response, maxBytes)
    } catch (error) {
      signal.throwIfAborted()
      throw new Unreachable(`${url}${path}: ${(error as Error).message}`)
    }
    if (response.status === 200) return { ok: true, text }
    const error = errorOf(text)
    // Only the log itself reports damage; any other failure may come from a proxy.
    if (error === 'log_damaged') return { ok: false, damaged: true, text }
    if (response.status === 400 && error === 'invalid_params') return { ok: false, damaged: false, text }
    throw new Unreachable(`${url}${path}: HTTP ${response.status}`)
  }
  return {
    url,
    key: () => get('/.well-known/cstp-evidence-key'),
    checkpoint: () => get('/evidence/checkpoint'),
    consistency: (old_size, size) => get(`/evidence/consistency?old=${old_size}&new=${size}`),
  }
}
