/** Copies of what callers send, and texts of settings and errors, without what is or looks like a secret. */
import { maskSecrets } from './secrets.ts'

const hidden = '[redacted]'
/** Names that hold secrets wherever they stand. */
const secretName =
  /(?:^|[_\-.])(?:pass(?:word|wd|phrase)?|secret|token|api_?key|access_?key|private_?key|credentials?|authorization|cookie|session)(?:$|[_\-.])/i
const secretNameTail = /(?:password|passphrase|secret|token|apikey|accesskey|privatekey|authorization)$/i

/** In the context of an action it names the session of an agent, not that of a browser. */
const sessionName = 'session_id'

/** Names that were judged before, whether they hold secrets and how they are shown: the same few come with every call. */
const judgedNames = new Map<string, { secret: boolean; shown: string }>()
const mostJudgedNames = 1_000
const longestJudgedName = 64

function judge(name: string): { secret: boolean; shown: string } {
  const known = judgedNames.get(name)
  if (known !== undefined) return known
  const secret = name !== sessionName && (secretName.test(name) || secretNameTail.test(name.replaceAll(/[_-]/g, '')))
  const judged = { secret, shown: maskSecrets(name) }
  if (judgedNames.size === mostJudgedNames) judgedNames.clear()
  if (name.length <= longestJudgedName) judgedNames.set(name, judged)
  return judged
}

const isSecretName = (name: string): boolean => judge(name).secret

/** The copy, and whether anything was hidden in it. */
export function redact(value: unknown): { value: unknown; redacted: boolean } {
  let redacted = false
  const noted = (text: string, shown: string): string => {
    if (shown !== text) redacted = true
    return shown
  }
  const visit = (inner: unknown, secret: boolean): unknown => {
    if (Array.isArray(inner)) return inner.map((item) => visit(item, secret))
    if (inner !== null && typeof inner === 'object') {
      return Object.fromEntries(
        Object.entries(inner).map(([key, item]) => {
          const judged = judge(key)
          return [noted(key, judged.shown), visit(item, secret || judged.secret)]
        }),
      )
    }
    if (typeof inner === 'boolean' || inner === null) return inner
    if (secret) {
      redacted = true
      return hidden
    }
    return typeof inner === 'string' ? noted(inner, maskSecrets(inner)) : inner
  }
  return { value: visit(value, false), redacted }
}

const masked = '****'
/** Parameters of an address that are never secret. */
const openParameters: readonly string[] = ['schema', 'connections', 'statement_timeout_ms', 'sslmode', 'host', 'port']
const isOpen = (name: string, value: string): boolean => openParameters.includes(name) && /^[\w.-]*$/.test(value)

/**
 * The text of a setting as it may be shown. It may be an address, also one with a mistake in it, or a connection string of libpq: user
 * and password are masked, and every parameter that is not known to be harmless. A key in PEM is masked whole.
 */
export function withoutSecrets(text: string): string {
  if (text.includes('-----BEGIN')) return masked
  const isAddress = /^[\w+.-]+:/.test(text)
  const anonymous = maskUser(isAddress ? text : maskPairs(text))
  return isAddress || anonymous.includes('?') ? maskParameters(anonymous) : anonymous
}

/** `name=value` and `name = 'value'`. */
const maskPairs = (text: string): string =>
  text.replace(/([\w-]+)(\s*=\s*)('(?:[^'\\]|\\.)*'?|\S+)/g, (pair, name: string, equals: string) =>
    isSecretName(name) ? `${name}${equals}${masked}` : pair,
  )

/** Everything between the scheme and the host. A `@` behind a `?` belongs to a parameter or to a password, so that nothing after it is known to be a host. */
function maskUser(text: string): string {
  if (!/:[\s\S]*@/.test(text)) return text
  const scheme = /^[a-z][a-z0-9+.-]*:\/+/i.exec(text)?.[0] ?? ''
  const at = text.lastIndexOf('@')
  return /[?#]/.test(text.slice(0, at)) ? scheme + masked : scheme + masked + text.slice(at)
}

const maskParameters = (text: string): string =>
  text.replace(/([?&#;])([^=?&#;]*)(?:=([^&#;]*))?/g, (pair, mark: string, name: string, value?: string) => {
    if (pair === mark || isOpen(name, value ?? '')) return pair
    return isSecretName(name) && value !== undefined ? `${mark}${name}=${masked}` : `${mark}${masked}`
  })

/** What an address carries that must not be shown. Shorter values would take words out of messages that have nothing to do with them. */
export function secretsIn(address: string): string[] {
  if (!URL.canParse(address)) return []
  const { password, searchParams } = new URL(address)
  const values = [...searchParams].flatMap(([name, value]) => (isOpen(name, value) ? [] : [value]))
  return [password, decodeLeniently(password), ...values].filter((value) => value.length >= 4)
}

function decodeLeniently(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Takes these secrets out of texts, in the spellings in which a server repeats them. */
export function hideAll(secrets: readonly string[], shown = hidden): (text: string) => string {
  const spellings = secrets
    .flatMap((secret) => [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1), base64(secret)])
    .sort((a, b) => b.length - a.length)
  return (text) => spellings.reduce((rest, spelling) => rest.replaceAll(spelling, shown), text)
}

const base64 = (text: string): string => Buffer.from(text).toString('base64')

const maxCopy = 8_192
const maxText = 2_000
const maxMember = 3_000

/** The copy of an action, in about 8 KiB of JSON: of what is larger, the beginnings of its description and its context. */
export function bounded<T extends { description: string; context: unknown }>(copy: T) {
  if (JSON.stringify(copy).length <= maxCopy) return { value: copy, truncated: false }
  const context = JSON.stringify(copy.context)
  const description = copy.description.slice(0, maxText).toWellFormed()
  const shown = context.length <= maxMember ? copy.context : { truncated: context.slice(0, maxMember).toWellFormed() }
  return { value: { ...copy, description, context: shown }, truncated: true }
}
