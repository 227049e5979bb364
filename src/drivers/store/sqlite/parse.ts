/** Reads the YAML file of a decision back, or says what is wrong with it and in which line. */
import * as v from 'valibot'
import { LineCounter, parseDocument } from 'yaml'
import { DecisionRecord } from '../../../../sdk/schema/decision.ts'
import { isStorageError } from '../../../../sdk/storage/errors.ts'
import { fieldsOf } from '../../../../sdk/storage/fields.ts'

export type ParsedFile = { record: DecisionRecord } | { problem: string }

// A key that the record does not know is a mistake in a file written by hand; taking it silently away would lose what it says.
const schema = v.strictObject(DecisionRecord.entries)
const utf8 = new TextDecoder('utf-8', { fatal: true })

/** `id` is what the file's name says. */
export function parseRecord(content: Uint8Array, id: string): ParsedFile {
  let text: string
  try {
    text = utf8.decode(content)
  } catch {
    return { problem: 'not UTF-8 text' }
  }
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const [error] = document.errors
  const at = (offset: number | undefined) => (offset === undefined ? '' : `line ${lines.linePos(offset).line}: `)
  if (error !== undefined) return { problem: `${at(error.pos[0])}${error.message}` }

  const raw: unknown = document.toJS()
  const parsed = v.safeParse(schema, raw)
  if (!parsed.success) {
    const [issue] = parsed.issues
    const path = issue.path?.map(({ key }) => key) ?? []
    return {
      problem: `${at(offsetOf(document, path))}${path.length === 0 ? '' : `${path.join('.')}: `}${issue.message}`,
    }
  }
  const record = withAll(parsed.output, raw) as DecisionRecord
  if (record.id !== id)
    return { problem: `${at(offsetOf(document, ['id']))}the id is ${record.id}, the file is named ${id}` }
  try {
    fieldsOf(record, false)
  } catch (cause) {
    if (!isStorageError(cause)) throw cause
    return { problem: cause.message }
  }
  return { record }
}

/** What was parsed, with every key that the file has: valibot keeps none that it does not know, and no `__proto__` or `constructor`. */
function withAll(parsed: unknown, raw: unknown): unknown {
  if (Array.isArray(raw) && Array.isArray(parsed)) return raw.map((item, at) => withAll(parsed[at], item))
  if (!isObject(raw) || !isObject(parsed)) return parsed === undefined ? raw : parsed
  const own = (key: string) => (Object.hasOwn(parsed, key) ? parsed[key] : undefined)
  const missing = Object.entries(parsed).filter(([key]) => !Object.hasOwn(raw, key))
  return Object.fromEntries([...Object.entries(raw).map(([key, value]) => [key, withAll(own(key), value)]), ...missing])
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Where the innermost part of `path` stands that the document has. */
function offsetOf(document: ReturnType<typeof parseDocument>, path: readonly unknown[]): number | undefined {
  for (let length = path.length; length > 0; length--) {
    const node = document.getIn(path.slice(0, length), true)
    if (node !== null && typeof node === 'object' && 'range' in node && Array.isArray(node.range)) return node.range[0]
  }
  return undefined
}
