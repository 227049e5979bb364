/** A refused call as the text of a tool's result. @see interface "Errors" */
import { CstpError, codes, type Issue } from '../../../sdk/errors.ts'

export interface ToolError {
  error: 'validation_error' | 'internal_error'
  message: string
  /** The JSON-RPC code that the method's own answer would carry. */
  code: number
  /** What else is known: violations, candidates of a prefix, the id of the request. */
  data?: Record<string, unknown>
}

/** `query_decisions` has the input `QueryDecisionsInput`. */
const schemaName = (tool: string): string =>
  `${tool.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())}Input`

/** Where a field of the method stands in the tool's flat input. */
function pathIn(names: ReadonlySet<string>, path: string): string {
  const [first = '', ...rest] = path.split('.')
  if (path === '' || names.has(first)) return path
  if (first === 'decision_id' && names.has('id')) return ['id', ...rest].join('.')
  return rest.length > 0 && names.has(rest[0]!) ? rest.join('.') : path
}

/** @param names the fields of the tool's input */
export function toolError(thrown: unknown, tool: string, names: ReadonlySet<string>): ToolError {
  const error = thrown instanceof CstpError ? thrown : new CstpError('internal_error', 'Internal error')
  const { code, message, data = {} } = error
  const { issues, id, ...rest } = data as { issues?: Issue[]; id?: string }
  const more = Object.keys(rest).length > 0 ? { data: rest } : {}
  if (code !== codes.invalid_params && code !== codes.decision_not_found)
    return { error: 'internal_error', message, code, ...more }
  const told = issues?.map((issue) => {
    const path = pathIn(names, issue.path)
    return path === '' ? issue.message : `${path}: ${issue.message}`
  }) ?? [message]
  const count = told.length === 1 ? '1 validation error' : `${told.length} validation errors`
  return {
    error: 'validation_error',
    message: `${count} for ${schemaName(tool)}: ${told.join('; ')}`,
    code,
    ...more,
  }
}
