/** What a value may be: most words after "password:" or "token =" are none. */

/** Stands for a value, or says what it is. */
const placeholder =
  /^(?:\$|%[A-Za-z_{(]|[<{[(…]|([*.x•-])\1{2,200}$|\*{2}|(?:none|null|nil|true|false|undefined|required|optional|string|text|number|any|unknown|redacted|hidden|masked|placeholder|example|your[\w-]{0,40}|secret|password|token)$)/i

/** Anything but a placeholder. */
export const isValue = (value: string): boolean => !placeholder.test(value)

/** Amounts with a unit, versions, dates, and names of algorithms: with digits, but not random. */
const ordinary =
  /^(?:v?\d{1,8}(?:[.,:/_-]\d{1,8}){0,6}(?:[._-]?[a-z%]{1,10}\d{0,3})?|(?:u?int|float|sha|md|aes|rsa|ed|x|argon|bcrypt|scrypt|pbkdf|hs|rs|es|ps|base|oauth|http|s|ec|k|utf|ipv|tls|p|h|ml|web|id|user|key|step|phase|option|part|test|case)[_-]?\d{1,5}[_-]?[a-z]{0,10}\d?)$/i
/** Paths, calls, and members of things. */
const named = /^(?:\.{0,2}\/|~\/|[A-Za-z_]{2,40}(?:[.([/]|::|->))/

const mixed = (value: string): boolean => /\d/.test(value) && /[A-Za-z]/.test(value)

/** Length of the longest run of letters and digits with both. */
const longestRun = (value: string): number =>
  (value.match(/[A-Za-z0-9]+/g) ?? []).reduce((most, run) => Math.max(most, mixed(run) ? run.length : 0), 0)

/** Many letters in both cases that are not the words of a name. */
const isScrambled = (value: string): boolean =>
  /[A-Za-z0-9]{20}/.test(value) && /[a-z][A-Z]{2}[a-z]|[A-Z]{2}[a-z]{1,2}[A-Z]/.test(value)

/** A value that a sentence or a program would not contain: letters with digits, with marks, or many of both cases. */
export function isRandom(value: string): boolean {
  if (value.length < 6 || placeholder.test(value) || ordinary.test(value) || named.test(value)) return false
  const hasBothCases = /[a-z]/.test(value) && /[A-Z]/.test(value)
  if (/[!#$%^&*+~=?@]/.test(value) && /[A-Za-z]/.test(value)) return true
  if (mixed(value)) return hasBothCases || longestRun(value) >= 6
  return isScrambled(value) && !/[-_.]/.test(value)
}

/** A key after a short prefix that words with hyphens have too. */
export const isKey = (value: string): boolean =>
  longestRun(value) >= 16 || (mixed(value) && /[a-z]/.test(value) && /[A-Z]/.test(value)) || isScrambled(value)

/** What is set as a password: any word, but no call, member or path. */
export const isSet = (value: string): boolean => isValue(value) && !named.test(value)
