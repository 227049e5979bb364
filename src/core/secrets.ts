/** Finds secrets in texts by their shapes, and masks all but the kind and the last four characters. */
import {
  certainShapes,
  inAddresses,
  likelyTokens,
  namedSecrets,
  namesSecret,
  type SecretShape,
} from './secret-shapes.ts'

/** Minimum length of a secret for showing its last four characters. */
const minShown = 16

const shown = (kind: string, secret: string): string =>
  kind === 'private-key' || secret.length < minShown ? `[${kind}]` : `[${kind} …${secret.slice(-4).toWellFormed()}]`

/** @param hints contains the hint of every shape that may be in the text */
const masked = (text: string, shapes: readonly SecretShape[], hints: string): string => {
  let rest = text
  for (const { kind, shape, hint } of shapes)
    if (hints.includes(hint)) rest = rest.replace(shape, (secret) => shown(kind, secret))
  return rest
}

const keyHint = 'PRIVATE KEY'
/** Minimum length of a token including its prefix; words of natural language are shorter. */
const minToken = 20
const ofTokens = new Uint8Array(128)
for (const char of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.+/=~:-')
  ofTokens[char.charCodeAt(0)] = 1

/** Runs of token characters long enough for a token; most texts have none. Each run covers every twentieth position at least once. */
function longRuns(text: string): string {
  let runs = text.includes(keyHint) ? keyHint : ''
  for (let at = minToken - 1; at < text.length; at += minToken) {
    let [from, to] = [at, at]
    while (from >= 0 && ofTokens[text.charCodeAt(from)]) from--
    while (to < text.length && ofTokens[text.charCodeAt(to)]) to++
    if (to - from <= minToken) continue
    runs += `${text.slice(from + 1, to)}\n`
    at = to
  }
  return runs
}

/** Hash of three characters. Hints are found by their last three, which hardly any word contains. */
const placeOf = (text: string, at: number): number =>
  ((text.charCodeAt(at) * 31 + text.charCodeAt(at + 1)) * 31 + text.charCodeAt(at + 2)) & 0xffff
const ends = new Uint8Array(65_536)
const shortHints = new Set<string>()
for (const { hint } of [...certainShapes, ...likelyTokens])
  if (hint.length < 3) shortHints.add(hint)
  else ends[placeOf(hint, hint.length - 3)] = 1

/** Whether any hint may be in the runs: one check instead of one for each shape, as most runs are addresses and hashes. */
function mayHint(runs: string): boolean {
  if (runs === '') return false
  for (let at = 0; at + 2 < runs.length; at++) if (ends[placeOf(runs, at)]) return true
  for (const hint of shortHints) if (runs.includes(hint)) return true
  return false
}

/** Enough for secrets that directly follow each other. */
const maxPasses = 4

/** The text with every secret masked. */
export function maskSecrets(text: string): string {
  let rest = text
  for (let pass = 0; pass < maxPasses; pass++) {
    const before = rest
    const runs = longRuns(rest)
    if (mayHint(runs)) rest = masked(masked(rest, certainShapes, runs), likelyTokens, runs)
    rest = masked(rest, inAddresses, rest)
    if (namesSecret.test(rest)) rest = masked(rest, namedSecrets, rest)
    if (rest === before) break
  }
  return rest
}

/** The first certain secret in a value, in masked form; null if there is none. */
export function certainSecret(value: unknown): { path: string; shown: string } | null {
  if (typeof value === 'string') {
    const runs = longRuns(value)
    if (!mayHint(runs)) return null
    for (const { kind, shape, hint } of certainShapes) {
      const found = runs.includes(hint) ? value.match(shape) : null
      if (found) return { path: '', shown: shown(kind, found[0]!) }
    }
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

/** A copy of the value with all certain and likely secrets in its texts masked. */
export function withoutSecretTexts<T>(value: T): T {
  if (typeof value === 'string') return maskSecrets(value) as T
  if (Array.isArray(value)) return value.map(withoutSecretTexts) as T
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withoutSecretTexts(item)])) as T
}
