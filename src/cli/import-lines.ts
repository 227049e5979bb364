/** The lines of an import: parses JSON Lines from bytes, each with a decision, its outcome and its links. */
import * as v from 'valibot'
import { EdgeType, fraction, nonEmptyText, Outcome, text } from '../../sdk/schema/decision.ts'
import { boundMs, DateBound } from '../../sdk/schema/params.ts'
import { RecordParams } from '../../sdk/schema/record.ts'
import { sha256Hex } from '../core/digest.ts'
import { dataFormat, formatProblem } from '../core/format.ts'
import { compileParams } from '../core/params.ts'
import type { Params } from './connection.ts'

const d = v.description
const { created_at: _, recorded_by: __, source_key: ___, ...entries } = RecordParams.entries
const note = v.nullish(text(10_000), null)
const day = v.nullish(
  v.pipe(
    DateBound,
    v.check((value) => (boundMs(value, false) ?? 0) <= Date.now(), 'a time that is not in the future'),
  ),
  null,
)
const name = v.nullish(nonEmptyText(256), null)

const ImportLink = v.object({
  target: v.pipe(
    nonEmptyText(256),
    d('Source of another line or of an earlier import, or the id of a stored decision.'),
  ),
  edge_type: EdgeType,
  weight: v.optional(fraction, 1),
  context: v.nullish(text(10_000), null),
})
export type ImportLink = v.InferOutput<typeof ImportLink>

/** A line: the parameters of recordDecision with shorter names for the import fields, a review, and links. */
const ImportLine = v.object({
  ...entries,
  confidence: v.nullish(entries.confidence, null),
  format: v.pipe(v.optional(v.literal(dataFormat), dataFormat), d('Version of the format of the line.')),
  source: v.pipe(name, d('Key in the system of origin; by default derived from the content.')),
  source_key: v.pipe(name, d('The same as source.')),
  date: v.pipe(day, d('When it was decided.')),
  created_at: v.pipe(day, d('The same as date.')),
  agent: v.pipe(name, d('Who decided.')),
  recorded_by: v.pipe(name, d('The same as agent.')),
  outcome: v.pipe(v.nullish(Outcome, null), d('The outcome.')),
  actual_result: v.pipe(note, d('What happened.')),
  lessons: v.pipe(note, d('What to do differently next time.')),
  notes: v.pipe(note, d('Anything else about the outcome.')),
  basis: v.pipe(
    v.nullish(v.literal('evidence'), null),
    d('Basis of the outcome; only with a source git:<hash> and without confidence.'),
  ),
  links: v.optional(v.pipe(v.array(ImportLink), v.maxLength(1_000, 'at most 1000 entries')), () => []),
})
export type ImportLine = v.InferInput<typeof ImportLine>

/** The calls that a line needs. */
export interface Plan {
  record: Params<'recordDecision'> & { source_key: string }
  review: Omit<Params<'reviewDecision'>, 'decision_id'> | null
  links: ImportLink[]
}

const parse = compileParams(ImportLine)

/** The value given under one of two names. @throws Error if both are given */
function either<T>(names: string, a: T | null, b: T | null): T | null {
  if (a !== null && b !== null) throw new Error(`${names} mean the same; give one of them`)
  return a ?? b
}

/** @throws an error whose message describes the problem with the line */
export function planLine(value: unknown): Plan {
  const problem = formatProblem('the format of the line', (value as { format?: unknown } | null)?.format)
  if (problem !== null) throw new Error(problem)
  const { format: _, source, source_key, date, created_at, agent, recorded_by, ...rest } = parse(value)
  const { outcome, actual_result, lessons, notes, basis, links, ...decision } = rest
  const decided = either('date and created_at', date, created_at)
  const content = {
    ...decision,
    created_at: decided === null ? null : new Date(boundMs(decided, false)!).toISOString(),
    recorded_by: either('agent and recorded_by', agent, recorded_by),
  }
  if (outcome === null && (actual_result ?? lessons ?? notes) !== null)
    throw new Error('actual_result, lessons and notes need an outcome')
  return {
    record: { ...content, source_key: either('source and source_key', source, source_key) ?? keyOf(content) },
    review: outcome === null ? null : { outcome, actual_result, lessons, notes, ...(basis !== null && { basis }) },
    links,
  }
}

/** Prefix of derived keys. */
export const contentKey = 'content:'

/** A key derived from the content, so that importing the same line again does nothing. */
const keyOf = (content: unknown): string => contentKey + sha256Hex(JSON.stringify(content)).slice(0, 32)

/** Where a decision comes from: a line of a file, or a file of a folder. */
export type Place = { line: number } | { file: string }
export const placeOf = (entry: Place): Place => ('line' in entry ? { line: entry.line } : { file: entry.file })
/** The place in words. */
export const nameOf = (place: Place): string => ('line' in place ? `line ${place.line}` : place.file)

/** One item of an import with its place: its value, or the problem with it. */
export type Line = Place & ({ value: unknown } | { problem: string })

/** Bounds the memory for a file without line breaks. */
const maxLineBytes = 16 * 1_048_576
const newline = 10
const utf8 = new TextDecoder('utf-8', { fatal: true })

function parseText(line: number, bytes: Uint8Array): Line | null {
  let text: string
  try {
    // The decoder drops a byte order mark; trim() drops the carriage return.
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

/** Reads one line at a time, whatever the file size. @param seen called with the number of bytes read so far */
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
    if (held <= maxLineBytes) parts.push(part)
    else parts = []
  }
  const finish = (): Line | null => {
    const found =
      held > maxLineBytes
        ? { line, problem: `is longer than ${maxLineBytes / 1_048_576} MiB` }
        : parseText(line, Buffer.concat(parts))
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
    // Copied, since the stream may reuse the chunk's memory.
    take(chunk.slice(start))
    bytes += chunk.length
  }
  const last = held > 0 ? finish() : null
  seen(bytes)
  if (last) yield last
}
