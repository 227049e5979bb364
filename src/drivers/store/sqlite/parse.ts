/** Parses the YAML file of a decision, or reports the problem and its line. */
import * as v from 'valibot'
import { LineCounter, parseDocument } from 'yaml'
import { completeRecord } from '../../../../sdk/schema/complete.ts'
import { DecisionRecord } from '../../../../sdk/schema/decision.ts'
import { isStorageError } from '../../../../sdk/storage/errors.ts'
import { filterFields } from '../../../../sdk/storage/fields.ts'
import { dataFormat, formatProblem, isNewer } from '../../../core/format.ts'
import { yamlOf } from '../../../core/yaml.ts'

/** `isNewer` if a newer program wrote the file. */
export type ParsedFile = { record: DecisionRecord } | { problem: string; isNewer?: true }

// An unknown key is a mistake in a file written by hand; dropping it silently would lose its content.
const schema = v.strictObject(DecisionRecord.entries)
const utf8 = new TextDecoder('utf-8', { fatal: true })

/** The file of a decision, which names the version of its format. */
export const recordFile = (record: DecisionRecord): string => `format: ${dataFormat}\n${yamlOf(record)}`

/** `id` is the id in the file's name. */
export function parseRecord(content: Uint8Array, id: string): ParsedFile {
  let text: string
  try {
    text = utf8.decode(content)
  } catch {
    return { problem: 'not UTF-8 text' }
  }
  const own = ownYaml(text)
  // The other parser takes forty times as long, so it is used only for files that people wrote and for errors.
  const document = own === undefined ? locatedYaml(text) : undefined
  if (document?.problem) return { problem: document.problem }
  const whole = own ?? document?.value
  const { format, ...fields } = isObject(whole) ? whole : {}
  const problem = formatProblem('the format of the file', format)
  if (problem !== null) return isNewer(format) ? { problem, isNewer: true } : { problem }
  const raw = isObject(whole) ? fields : whole
  completeRecord(raw)
  const placed = (path: readonly unknown[]) => (document ?? locatedYaml(text)).line(path)

  const parsed = v.safeParse(schema, raw)
  if (!parsed.success) {
    const [issue] = parsed.issues
    const path = issue.path?.map(({ key }) => key) ?? []
    return { problem: `${placed(path)}${path.length === 0 ? '' : `${path.join('.')}: `}${issue.message}` }
  }
  const record = withAll(parsed.output, raw) as DecisionRecord
  if (record.id !== id) return { problem: `${placed(['id'])}the id is ${record.id}, the file is named ${id}` }
  try {
    filterFields(record, false)
  } catch (cause) {
    if (!isStorageError(cause)) throw cause
    return { problem: cause.message }
  }
  return { record }
}

/**
 * The value of a file that we wrote, or undefined. Writing the value again must give the same text, so a flaw of the fast parser can't lose
 * anything.
 */
function ownYaml(text: string): unknown {
  try {
    const value: unknown = Bun.YAML.parse(text)
    return isTree(value) && yamlOf(value) === text ? value : undefined
  } catch {
    return undefined
  }
}

/** True if no object occurs twice: a few lines of aliases can expand to gigabytes, and a cyclic value has no end. */
function isTree(value: unknown, seen = new Set<object>()): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (seen.has(value)) return false
  seen.add(value)
  return Object.values(value).every((inner) => isTree(inner, seen))
}

/** The value, if it can be written as JSON: the library rejects aliases that grow without bound, and JSON rejects cycles. */
function plainValue(document: ReturnType<typeof parseDocument>): { value: unknown; problem: string | null } {
  try {
    const value = document.toJS() as unknown
    JSON.stringify(value)
    return { value, problem: null }
  } catch (error) {
    return {
      value: undefined,
      problem: `contains aliases that are not finite: ${(error as Error).message.split('\n')[0]}`,
    }
  }
}

/** Parses any YAML, and finds the line of each part. */
function locatedYaml(text: string) {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const at = (offset: number | undefined) => (offset === undefined ? '' : `line ${lines.linePos(offset).line}: `)
  const [error] = document.errors
  return {
    ...(error ? { value: undefined, problem: `${at(error.pos[0])}${error.message}` } : plainValue(document)),
    line: (path: readonly unknown[]) => at(offsetOf(document, path)),
  }
}

/** The parsed record, with every key of the file: valibot drops unknown keys, and also `__proto__` and `constructor`. */
function withAll(parsed: unknown, raw: unknown): unknown {
  if (Array.isArray(raw) && Array.isArray(parsed)) return raw.map((item, at) => withAll(parsed[at], item))
  if (!isObject(raw) || !isObject(parsed)) return parsed === undefined ? raw : parsed
  const own = (key: string) => (Object.hasOwn(parsed, key) ? parsed[key] : undefined)
  const missing = Object.entries(parsed).filter(([key]) => !Object.hasOwn(raw, key))
  return Object.fromEntries([...Object.entries(raw).map(([key, value]) => [key, withAll(own(key), value)]), ...missing])
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Offset of the innermost part of `path` that exists in the document. */
function offsetOf(document: ReturnType<typeof parseDocument>, path: readonly unknown[]): number | undefined {
  for (let length = path.length; length > 0; length--) {
    const node = document.getIn(path.slice(0, length), true)
    if (node !== null && typeof node === 'object' && 'range' in node && Array.isArray(node.range)) return node.range[0]
  }
  return undefined
}
