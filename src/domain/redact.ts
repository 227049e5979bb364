/** Copies of what callers send, without what looks like a secret. */
const hidden = '[redacted]'
/** Names that hold secrets wherever they stand. */
const secretName =
  /(?:^|[_\-.])(?:pass(?:word|wd|phrase)?|secret|token|api_?key|access_?key|private_?key|credentials?|authorization|cookie|session)(?:$|[_\-.])/i
const secretNameTail = /(?:password|passphrase|secret|token|apikey|accesskey|privatekey|authorization)$/i

/** Shapes of well-known secrets inside any text. */
const secretText = [
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
  /\b(?:sk|rk|pk)[-_](?:live|test|proj|ant)?[-_A-Za-z0-9]{16,}/g,
  /\b(?:ghp|gho|ghu|ghs|ghr|github_pat)_[A-Za-z0-9_]{20,}/g,
  /\bxox[abprs]-[A-Za-z0-9-]{10,}/g,
  /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g,
  /\bhf_[A-Za-z0-9]{20,}/g,
  /\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g,
  /\b(?:Bearer|Basic)\s+[A-Za-z0-9+/=._:~-]{8,}/gi,
  /(?<=:\/\/[^\s/:@]{1,100}:)[^\s/@]{1,200}(?=@)/g,
  /(?<=\b(?:password|passwd|secret|token|api[_-]?key)["']?\s{0,3}[=:]\s{0,3}["']?)[^\s"',;]{4,200}/gi,
]

const redactText = (text: string): string => secretText.reduce((rest, shape) => rest.replace(shape, hidden), text)

/** The copy, and whether anything was hidden in it. */
export function redact(value: unknown): { value: unknown; redacted: boolean } {
  let redacted = false
  const visit = (inner: unknown, name: string): unknown => {
    if (inner !== null && typeof inner === 'object') {
      if (Array.isArray(inner)) return inner.map((item) => visit(item, name))
      return Object.fromEntries(Object.entries(inner).map(([key, item]) => [redactText(key), visit(item, key)]))
    }
    if (typeof inner === 'boolean' || inner === null) return inner
    if (secretName.test(name) || secretNameTail.test(name.replaceAll(/[_-]/g, ''))) {
      redacted = true
      return hidden
    }
    if (typeof inner !== 'string') return inner
    const clean = redactText(inner)
    if (clean !== inner) redacted = true
    return clean
  }
  return { value: visit(value, ''), redacted }
}
