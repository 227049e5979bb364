/** Finds secrets in texts by their shapes, masks all but the kind and the last four characters, and removes them from copies and settings. */

import {
  certainShapes,
  inAddresses,
  likelyTokens,
  namedSecrets,
  namesSecret,
  type SecretShape,
} from './secret-shapes.ts'
import { isRandom } from './secret-values.ts'

/** Minimum length of a secret for showing its last four characters. */
const minShown = 16

const shown = (kind: string, secret: string): string =>
  kind === 'private-key' || secret.length < minShown ? `[${kind}]` : `[${kind} …${secret.slice(-4).toWellFormed()}]`

const recognised: readonly SecretShape[] = [...certainShapes, ...likelyTokens, ...inAddresses]
/** Most texts contain no hint at all: one search for any of them is cheaper than one for each. */
const anyHint = new RegExp([...new Set(recognised.map(({ hint }) => RegExp.escape(hint)))].join('|'))

const masked = (text: string, shapes: readonly SecretShape[]): string => {
  let rest = text
  for (const { kind, shape, hint, accepts } of shapes)
    if (rest.includes(hint)) rest = rest.replace(shape, (secret) => (accepts(secret) ? shown(kind, secret) : secret))
  return rest
}

/** A secret in a text: its kind, and where it begins and ends. */
interface Found {
  kind: string
  from: number
  to: number
}

function* certainIn(text: string): Generator<Found> {
  if (!anyHint.test(text)) return
  for (const { kind, shape, hint, accepts } of certainShapes)
    if (text.includes(hint))
      for (const { 0: secret, index } of text.matchAll(shape))
        if (accepts(secret)) yield { kind, from: index, to: index + secret.length }
}

/** What is between the parts of one text: the ends of literals that are joined, the end of a line that goes on, what nobody sees. */
const joints =
  /["'`]\s{0,20}(?:[+.,&|]{1,2}|\\)?\s{0,20}["'`]|(?<=[\w+/=-]{8})\\?\r?\n[ \t]{0,40}(?=[\w+/=-]{8})|[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]/g

/** A character that is in every joint. */
const anyJoint = /["'`\n\u00ad\u200b-\u200f\u2060-\u2064\ufeff]/

/** Certain secrets that are split over several literals or lines. */
function* splitSecrets(text: string): Generator<Found> {
  const starts: { at: number; shift: number }[] = []
  let shift = 0
  const joined = text.replace(joints, (joint, index: number) => {
    const at = index - shift
    shift += joint.length
    starts.push({ at, shift })
    return ''
  })
  if (starts.length === 0) return
  const before = (at: number) => starts.findLast((one) => one.at < at)?.shift ?? 0
  for (const { kind, from, to } of certainIn(joined)) {
    const [first, last] = [from + (starts.findLast((one) => one.at <= from)?.shift ?? 0), to + before(to)]
    // One that no joint is in was found in the text itself.
    if (last - first > to - from) yield { kind, from: first, to: last }
  }
}

const encoded = /(?<![\w+/-])[A-Za-z0-9+/_-]{24,65536}={0,2}/g
const anyEncoded = /[A-Za-z0-9+/_-]{24}/
const printable = /^[\t\r\n -~]+$/
/** Longest secrets that are encoded twice have this length. */
const maxDecoded = 65_536

const decodedOf = (text: string): string | null => {
  const plain = Buffer.from(text, 'base64').toString('latin1')
  return plain.length <= maxDecoded && printable.test(plain) ? plain : null
}

/** Texts in base64 that contain a secret, and whether it is a certain one. */
function* encodedSecrets(text: string): Generator<Found & { certain: boolean }> {
  for (const { 0: run, index } of text.matchAll(encoded)) {
    const plain = decodedOf(run)
    if (plain === null) continue
    const certain = certainSecret(plain)
    if (certain || maskSecrets(plain) !== plain)
      yield { kind: certain?.kind ?? 'secret', certain: certain !== null, from: index, to: index + run.length }
  }
}

/** @param found in their order */
function maskAt(text: string, found: Iterable<Found>): string {
  let [rest, end] = ['', 0]
  for (const { kind, from, to } of [...found].sort((a, b) => a.from - b.from)) {
    if (from < end) continue
    rest += text.slice(end, from) + shown(kind, text.slice(from, to))
    end = to
  }
  return rest + text.slice(end)
}

/** Names of members, mostly: too short for a secret that its shape shows, without the sign that is before any other. */
const isName = /^[a-z_]{1,19}$/

/** Enough for secrets that directly follow each other. */
const maxPasses = 4

/** The text with every secret masked. */
export function maskSecrets(text: string): string {
  if (isName.test(text)) return text
  let rest = text
  for (let pass = 0; pass < maxPasses; pass++) {
    const before = rest
    if (anyJoint.test(rest)) rest = maskAt(rest, splitSecrets(rest))
    if (anyHint.test(rest)) rest = masked(rest, recognised)
    if (namesSecret.test(rest)) rest = masked(rest, namedSecrets)
    if (anyEncoded.test(rest)) rest = maskAt(rest, encodedSecrets(rest))
    if (rest === before) break
  }
  return rest
}

/** The first certain secret in a value, in masked form; null if there is none. */
export function certainSecret(value: unknown): { path: string; kind: string; shown: string } | null {
  if (typeof value === 'string') {
    if (isName.test(value)) return null
    for (const { kind, from, to } of certainIn(value))
      return { path: '', kind, shown: shown(kind, value.slice(from, to)) }
    for (const { kind, from, to } of anyJoint.test(value) ? splitSecrets(value) : [])
      return { path: '', kind, shown: shown(kind, value.slice(from, to)) }
    for (const { kind, from, to, certain } of anyEncoded.test(value) ? encodedSecrets(value) : [])
      if (certain) return { path: '', kind, shown: shown(kind, value.slice(from, to)) }
    return null
  }
  if (value === null || typeof value !== 'object') return null
  for (const key of Object.keys(value)) {
    const named = certainSecret(key)
    if (named) return named
    const found = certainSecret((value as Record<string, unknown>)[key])
    if (found) return { ...found, path: found.path === '' ? key : `${key}.${found.path}` }
  }
  return null
}

/** The value with every secret in its texts masked, also those that only the name of their member shows: itself if it has none, else a copy. */
export function withoutSecretTexts<T>(value: T): T {
  if (typeof value === 'string') return maskSecrets(value) as T
  if (value === null || typeof value !== 'object') return value
  const given = Object.entries(value)
  const masked = given.map(([key, item]): [string, unknown] => [
    maskSecrets(key),
    typeof item === 'string' && isSecretName(key) && isRandom(item) ? shown('secret', item) : withoutSecretTexts(item),
  ])
  if (masked.every(([key, item], at) => key === given[at]![0] && item === given[at]![1])) return value
  return (Array.isArray(value) ? masked.map(([, item]) => item) : Object.fromEntries(masked)) as T
}

const kinds = new Set([...recognised, ...namedSecrets].map(({ kind }) => RegExp.escape(kind)))
const mark = new RegExp(`\\[(?:${[...kinds].join('|')})(?: ….{4})?\\]`, 'u')

/** Whether a text contains a secret, or the mask of one. */
export const hasSecret = (texts: readonly string[]): boolean =>
  texts.some((text) => mark.test(text) || maskSecrets(text) !== text)

// Copies of what callers send, settings and errors: secrets are removed by their names too.

const hidden = '[redacted]'
/** Names whose values are secret, wherever they occur. */
const secretName =
  /(?:^|[_\-.])(?:pass(?:word|wd|phrase)?|secret|token|api_?key|access_?key|private_?key|credentials?|authorization|cookie|session)(?:$|[_\-.])/i
const secretNameTail = /(?:password|passphrase|secret|token|apikey|accesskey|privatekey|authorization)$/i

/** In the context of an action, this names the session of an agent, not of a browser. */
const sessionName = 'session_id'

/** Last words of names that say something about a secret, such as `token_amount`, and hold none. */
const aboutSecret =
  /[_\-.](?:amount|balance|budget|cost|count|expir(?:es|y)(?:_at)?|length|limit|max|min|name|price|size|total|ttl|type|usage|used)$/i

const isSecretName = (name: string): boolean =>
  (secretName.test(name) || secretNameTail.test(name.replaceAll(/[_-]/g, ''))) &&
  name !== sessionName &&
  !aboutSecret.test(name)

/** @param hides whether a value under the name of a secret is hidden as a whole; if not, only the secrets in it are */
function redacted(given: unknown, hides: (value: unknown) => boolean): { value: unknown; paths: string[] } {
  const paths: string[] = []
  const noted = (text: string, shown: string, path: string): string => {
    if (shown !== text) paths.push(path)
    return shown
  }
  const visit = (inner: unknown, secret: boolean, path: string): unknown => {
    if (typeof inner === 'boolean' || inner === null) return inner
    if (Array.isArray(inner)) return inner.map((item, at) => visit(item, secret, `${path}[${at}]`))
    if (typeof inner === 'object') {
      return Object.fromEntries(
        Object.entries(inner).map(([key, item]) => {
          const shown = maskSecrets(key)
          const below = path === '' ? shown : `${path}.${shown}`
          const isOpen = typeof item === 'boolean' || item === null
          return [noted(key, shown, below), isOpen ? item : visit(item, secret || isSecretName(key), below)]
        }),
      )
    }
    if (secret && hides(inner)) {
      paths.push(path)
      return hidden
    }
    return typeof inner === 'string' ? noted(inner, maskSecrets(inner), path) : inner
  }
  return { value: visit(given, false, ''), paths }
}

/** The redacted copy, and whether anything was hidden in it. */
export function redact(given: unknown): { value: unknown; redacted: boolean } {
  const { value, paths } = redacted(given, () => true)
  return { value, redacted: paths.length > 0 }
}

/**
 * The copy that a person is asked to approve, and the paths of what it hides. A name alone hides no number and no text with spaces: what
 * runs must not be hidden by calling it a password.
 */
export const redactForApproval = (given: unknown): { value: unknown; paths: string[] } =>
  redacted(given, (value) => typeof value === 'string' && !/\s/.test(value))

const mask = '****'
/** URL parameters that are never secret. */
const openParameters: readonly string[] = ['schema', 'connections', 'statement_timeout_ms', 'sslmode', 'host', 'port']
const isOpen = (name: string, value: string): boolean => openParameters.includes(name) && /^[\w.-]*$/.test(value)

/**
 * The text of a setting for display. If it is a URL, even a malformed one, or a libpq connection string, then user, password and all
 * parameters not known to be harmless are mask. A key in PEM is mask completely.
 */
export function withoutSecrets(text: string): string {
  if (text.includes('-----BEGIN')) return mask
  const isAddress = /^[\w+.-]+:/.test(text)
  const anonymous = maskUser(isAddress ? text : maskPairs(text))
  return isAddress || anonymous.includes('?') ? maskParameters(anonymous) : anonymous
}

/** Masks secrets in `name=value` and `name = 'value'`. */
const maskPairs = (text: string): string =>
  text.replace(/(?<![\w-])([\w-]+)(\s*=\s*)('(?:[^'\\]|\\.)*'?|\S+)/g, (pair, name: string, equals: string) =>
    isSecretName(name) ? `${name}${equals}${mask}` : pair,
  )

/** Masks everything between scheme and host. A `@` after a `?` may be part of a parameter or a password: then the rest is mask too. */
function maskUser(text: string): string {
  const colon = text.indexOf(':')
  if (colon === -1 || text.lastIndexOf('@') < colon) return text
  const scheme = /^[a-z][a-z0-9+.-]*:\/+/i.exec(text)?.[0] ?? ''
  const at = text.lastIndexOf('@')
  return /[?#]/.test(text.slice(0, at)) ? scheme + mask : scheme + mask + text.slice(at)
}

const maskParameters = (text: string): string =>
  text.replace(/([?&#;])([^=?&#;]*)(?:=([^&#;]*))?/g, (pair, mark: string, name: string, value?: string) => {
    if (pair === mark || isOpen(name, value ?? '')) return pair
    return isSecretName(name) && value !== undefined ? `${mark}${name}=${mask}` : `${mark}${mask}`
  })

/** Secret values in a URL. Values of fewer than 4 characters are left out: hiding them would garble unrelated messages. */
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

/** Hides these secrets in texts, in all spellings that a server may repeat them in. */
export function hideAll(secrets: readonly string[], shown = hidden): (text: string) => string {
  const spellings = secrets
    .flatMap((secret) => [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1), base64(secret)])
    .sort((a, b) => b.length - a.length)
  return (text) => spellings.reduce((rest, spelling) => rest.replaceAll(spelling, shown), text)
}

const base64 = (text: string): string => Buffer.from(text).toString('base64')
