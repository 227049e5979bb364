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

  const parsed = v.safeParse(schema, document.toJS())
  if (!parsed.success) {
    const [issue] = parsed.issues
    const path = issue.path?.map(({ key }) => key) ?? []
    return {
      problem: `${at(offsetOf(document, path))}${path.length === 0 ? '' : `${path.join('.')}: `}${issue.message}`,
    }
  }
  const record = parsed.output
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

/** Where the innermost part of `path` stands that the document has. */
function offsetOf(document: ReturnType<typeof parseDocument>, path: readonly unknown[]): number | undefined {
  for (let length = path.length; length > 0; length--) {
    const node = document.getIn(path.slice(0, length), true)
    if (node !== null && typeof node === 'object' && 'range' in node && Array.isArray(node.range)) return node.range[0]
  }
  return undefined
}
