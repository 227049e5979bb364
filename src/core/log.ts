/** Structured log: JSON lines on stderr, or readable lines on a terminal. */

export const levels = ['debug', 'info', 'warn', 'error'] as const
export type Level = (typeof levels)[number]

/** Writes one line of a log. */
export type LogWriter = (level: Level, message: string, data?: Record<string, unknown>) => void

export interface Log extends LogWriter {
  /** Writes buffered messages. */
  flush(): void
}

const colours: Record<Level, string> = { debug: '\x1b[2m', info: '\x1b[36m', warn: '\x1b[33m', error: '\x1b[31m' }

/** A caller's text, such as a method name, must not start new lines or control the terminal. */
const control = /\p{Cc}/u
const controlInLine = /[^\P{Cc}\n]/gu
const escaped = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`

/** A line for people. @param style wraps a text in terminal codes, or returns it unchanged */
function pretty(
  style: (code: string, text: string) => string,
  level: Level,
  at: string,
  message: string,
  data: Record<string, unknown>,
): string {
  const rest = Object.entries(data).map(([key, value]) => {
    const name = style('\x1b[2m', `${key}=`)
    // A stack begins with the error's message, which may quote a caller.
    if (key === 'stack' && typeof value === 'string') return name + value.replace(controlInLine, escaped)
    return name + (typeof value === 'string' && !control.test(value) ? value : JSON.stringify(value))
  })
  const head = `${style('\x1b[2m', at.slice(11, 23))} ${style(colours[level], level.padEnd(5))} ${message}`
  return `${head}${rest.length > 0 ? `  ${rest.join(' ')}` : ''}\n`
}

/** The message of an error; for file system errors such as `ENOENT: no such file or directory, open 'x'`, without code and system call. */
export function messageOf(error: unknown): string {
  const { path } = Object(error) as { path?: unknown }
  const cause = causeOf(error)
  return typeof path === 'string' && error instanceof Error && cause !== error.message ? `${path}: ${cause}` : cause
}

/** Like {@link messageOf} without the path of the file, for texts that name it already. */
export function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return /^E[A-Z]{3,}: ([^']+?), [a-z_]+(?: '.*)?$/s.exec(error.message)?.[1] ?? error.message
}

/** Log level of a failure: a call aborted by its caller is not a failure of the service. */
export const failureLevel = (error: unknown, { signal }: { signal: AbortSignal }): 'info' | 'error' =>
  signal.aborted && error === signal.reason ? 'info' : 'error'

/** Describes an error for the log: message, cause and stack. Never sent to a caller. */
export function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { error: String(error) }
  const cause = error.cause === undefined ? {} : { cause: messageOf(error.cause) }
  return { error: error.message, ...cause, stack: error.stack }
}

interface Message {
  at_ms: number
  level: Level
  message: string
  data: Record<string, unknown>
}

/** Number of buffered messages that triggers an immediate write. */
const mostWaiting = 256

/**
 * Messages are buffered, then formatted and written together at most 50 ms later; `warn` and `error` are written at once. A write for each
 * request would cost more than the request, and formatting a line between two requests costs three times as much as in a batch.
 * @param input.write takes whole lines
 */
export function createLog(input: {
  level: Level
  pretty: boolean
  /** Whether readable lines are coloured; by default they are. */
  colours?: boolean
  write(text: string): void
  now(): number
}): Log {
  const { colours: coloured = true } = input
  const style = (code: string, text: string) => (coloured ? `${code}${text}\x1b[0m` : text)
  const least = levels.indexOf(input.level)
  let waiting: Message[] = []
  let timer: ReturnType<typeof setTimeout> | null = null
  const lineOf = ({ at_ms, level, message, data }: Message): string => {
    const at = new Date(at_ms).toISOString()
    return input.pretty
      ? pretty(style, level, at, message, data)
      : `${JSON.stringify({ at, level, message, ...data })}\n`
  }
  const flush = () => {
    if (timer) clearTimeout(timer)
    timer = null
    if (waiting.length === 0) return
    const messages = waiting
    waiting = []
    input.write(messages.map(lineOf).join(''))
  }
  const log = (level: Level, message: string, data: Record<string, unknown> = {}) => {
    if (levels.indexOf(level) < least) return
    waiting.push({ at_ms: input.now(), level, message, data })
    if (level === 'warn' || level === 'error' || waiting.length === mostWaiting) flush()
    else if (!timer) {
      timer = setTimeout(flush, 50)
      timer.unref()
    }
  }
  return Object.assign(log, { flush })
}
