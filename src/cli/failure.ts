/** Errors of the command line, and how errors are shown to a person or a program. */
import { CstpError, type Issue } from '../../sdk/errors.ts'
import type { Violation } from '../../sdk/schema/policy.ts'
import { ConfigError } from '../app/config/config.ts'
import { messageOf } from '../core/log.ts'
import { plain } from './terminal.ts'

/** An error that the user can fix: a clear message without a stack. */
export class Failure extends Error {
  readonly status: number

  constructor(message: string, status = 1, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'Failure'
    this.status = status
  }
}

/** An invalid command line. */
export const misuse = (message: string): Failure => new Failure(message, 2)

/** The exit status for an error. */
export const statusOf = (error: unknown): number =>
  error instanceof Failure ? error.status : error instanceof ConfigError ? 2 : 1

/** What each rule that refused says, and the way out. */
const violationLines = ({ data }: CstpError): string[] =>
  (Array.isArray(data?.violations) ? (data.violations as Violation[]) : []).map(
    ({ guardrail_id, message, suggestion }) =>
      `\n  ${plain(`${guardrail_id}: ${message}${suggestion ? ` → ${suggestion}` : ''}`)}`,
  )

const issuesOf = (error: CstpError): Issue[] =>
  Array.isArray(error.data?.issues) ? (error.data.issues as Issue[]) : []

/** Why a call failed, on one line. */
export function reasonOf(error: unknown): string {
  if (error instanceof CstpError) {
    const issues = issuesOf(error)
    if (issues.length === 0) return plain(error.message)
    return plain(issues.map(({ path, message }) => (path ? `${path}: ${message}` : message)).join('; '))
  }
  const message = plain(messageOf(error))
  // Leave out a cause that repeats the outer message.
  const cause = error instanceof Error && error.cause !== undefined ? reasonOf(error.cause) : ''
  return cause === '' || message.includes(cause) ? message : `${message}: ${cause}`
}

/** Whether an error lists problems, such as that of the guardrail files; detected by its shape, to avoid loading their code. */
const hasProblems = (error: unknown): error is Error & { problems: string[] } =>
  error instanceof Error && 'problems' in error && Array.isArray(error.problems)

const firstLine = (message: string): string => plain(message.split('\n')[0]!.replace(/:$/, ''))

/** Describes an error for a person, with a line for each problem. */
export function describe(error: unknown): string {
  if (error instanceof ConfigError) return ['invalid settings', ...error.problems.map(plain)].join('\n  ')
  if (hasProblems(error)) return [firstLine(error.message), ...error.problems.map(plain)].join('\n  ')
  if (!(error instanceof CstpError)) return reasonOf(error)
  const issues = issuesOf(error)
  const head = issues.length > 0 ? 'Invalid params' : plain(error.message)
  const lines = issues.map(({ path, message }) => `\n  ${plain(path ? `${path}: ${message}` : message)}`)
  return `${head} (${error.code})${[...lines, ...violationLines(error)].join('')}`
}

/** Describes an error for a program. */
export function errorJson(error: unknown): Record<string, unknown> {
  if (error instanceof CstpError) {
    const { code, message, data } = error
    return { error: { code, message, ...(data && { data }) } }
  }
  if (error instanceof ConfigError) return { error: { message: 'Invalid settings', problems: error.problems } }
  if (hasProblems(error)) return { error: { message: firstLine(error.message), problems: error.problems } }
  return { error: { message: reasonOf(error) } }
}
