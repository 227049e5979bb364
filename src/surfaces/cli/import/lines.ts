/** JSON Lines from bytes, one at a time, whatever the size of the file. */

/** A line that is not blank, by its number in the file: its value, or what is wrong with it. */
export type Line = { line: number; value: unknown } | { line: number; problem: string }

/** Longest line, in bytes: a file without line ends must not fill the memory. */
const longest = 16 * 1_048_576
const newline = 10
const utf8 = new TextDecoder('utf-8', { fatal: true })

function parse(line: number, bytes: Uint8Array): Line | null {
  let text: string
  try {
    // The decoder drops a byte order mark; trim() the carriage return.
    text = utf8.decode(bytes).trim()
  } catch {
    return { line, problem: 'is not UTF-8' }
  }
  if (text === '') return null
  try {
    return { line, value: JSON.parse(text) }
  } catch (error) {
    return { line, problem: `is not JSON: ${(error as Error).message.replace(/^JSON Parse error: /, '')}` }
  }
}

/** @param seen told how many bytes of the input are done */
export async function* readLines(
  input: AsyncIterable<Uint8Array>,
  seen: (bytes: number) => void = () => {},
): AsyncGenerator<Line> {
  let parts: Uint8Array[] = []
  let held = 0
  let line = 1
  let bytes = 0
  const take = (part: Uint8Array) => {
    held += part.length
    if (held <= longest) parts.push(part)
    else parts = []
  }
  const finish = (): Line | null => {
    const found =
      held > longest
        ? { line, problem: `is longer than ${longest / 1_048_576} MiB` }
        : parse(line, Buffer.concat(parts))
    parts = []
    held = 0
    line++
    return found
  }
  for await (const chunk of input) {
    let start = 0
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      take(chunk.subarray(start, end))
      start = end + 1
      const found = finish()
      seen(bytes + start)
      if (found) yield found
    }
    // A copy: the stream may use the chunk's memory again.
    take(chunk.slice(start))
    bytes += chunk.length
  }
  const last = held > 0 ? finish() : null
  seen(bytes)
  if (last) yield last
}
