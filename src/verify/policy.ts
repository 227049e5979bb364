/** A trust policy: which logs and witnesses are known, and which witnesses are enough. @see C2SP tlog-policy */
import { instant, NoteFormError, type NoteKey, type ReadNote, readKey, signedBy } from './note.ts'

interface KnownLog {
  key: NoteKey
  url: string | null
}

export interface KnownWitness extends KnownLog {
  /** Used in the policy only. */
  name: string
}

export interface Policy {
  logs: readonly KnownLog[]
  witnesses: readonly KnownWitness[]
  /** The name in the quorum line; `none` requires no witness. */
  quorum: string
  /** Whether the witnesses with these names are enough. */
  isQuorum(cosigned: ReadonlySet<string>): boolean
}

/** Thrown for an invalid policy. Its message names the line and what was expected. */
export class PolicyFormError extends Error {
  override name = 'PolicyFormError'
}

const forms = {
  log: 'log <vkey> [<url>]',
  witness: 'witness <name> <vkey> [<url>]',
  group: 'group <name> all|any|<k> <name>…',
  quorum: 'quorum <name>|none',
} as const

/** @throws PolicyFormError */
export function readPolicy(text: string): Policy {
  const logs: KnownLog[] = []
  const witnesses: KnownWitness[] = []
  /** By name of a witness or group: whether it counts as having seen a checkpoint that these witnesses cosigned. */
  const seen = new Map<string, (cosigned: ReadonlySet<string>) => boolean>()
  const members = new Set<string>()
  let quorum: string | null = null
  let number = 0
  const fail = (message: string): PolicyFormError => new PolicyFormError(`line ${number}: ${message}`)

  const keyOf = (given: string, kind: NoteKey['kind'], known: readonly KnownLog[]): NoteKey => {
    let key: NoteKey
    try {
      key = readKey(given)
    } catch (error) {
      if (!(error instanceof NoteFormError)) throw error
      throw fail(error.message)
    }
    if (key.kind !== kind) throw fail(`${key.name} is the key of a ${key.kind}, expected that of a ${kind}`)
    if (known.some((one) => one.key.key.equals(key.key))) throw fail(`the key of ${key.name} is given twice`)
    return key
  }
  const define = (name: string, rule: (cosigned: ReadonlySet<string>) => boolean): void => {
    if (name === 'none' || seen.has(name)) throw fail(`the name ${name} is taken`)
    seen.set(name, rule)
  }
  const group = ([name, count, ...names]: string[]): void => {
    const needed =
      count === 'all' ? names.length : count === 'any' ? 1 : /^[1-9]\d{0,3}$/.test(count!) ? Number(count) : 0
    if (needed < 1 || needed > names.length)
      throw fail(`expected all, any or a number from 1 to ${names.length}, received ${count}`)
    const rules = names.map((member) => {
      const rule = seen.get(member)
      if (!rule) throw fail(`${member} is not a witness or a group of a line above`)
      if (members.has(member)) throw fail(`${member} is a member already, and can be one only once`)
      members.add(member)
      return rule
    })
    define(name!, (cosigned) => rules.filter((rule) => rule(cosigned)).length >= needed)
  }
  const read = (keyword: string, words: string[]): void => {
    const [first = '', second = ''] = words
    const count = words.length
    if (keyword === 'log' && (count === 1 || count === 2))
      logs.push({ key: keyOf(first, 'log', logs), url: words[1] ?? null })
    else if (keyword === 'witness' && (count === 2 || count === 3)) {
      define(first, (cosigned) => cosigned.has(first))
      witnesses.push({ name: first, key: keyOf(second, 'witness', witnesses), url: words[2] ?? null })
    } else if (keyword === 'group' && count >= 3) group(words)
    else if (keyword === 'quorum' && count === 1) {
      if (quorum !== null) throw fail('there is a quorum already')
      if (first !== 'none' && !seen.has(first)) throw fail(`${first} is not a witness or a group of a line above`)
      quorum = first
    } else {
      const form = Object.hasOwn(forms, keyword) ? forms[keyword as keyof typeof forms] : Object.keys(forms).join(', ')
      throw fail(`expected ${form}`)
    }
  }

  for (const line of text.split('\n')) {
    number++
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
    if (/[\x00-\x08\x0b-\x1f\x7f]/.test(line)) throw fail('there is a control character')
    const [keyword = '', ...words] = line.split(/[ \t]+/).filter((word) => word !== '')
    if (keyword !== '' && !keyword.startsWith('#')) read(keyword, words)
  }
  if (quorum === null) throw new PolicyFormError('there is no quorum line: quorum <name>, or quorum none')
  return { logs, witnesses, quorum, isQuorum: seen.get(quorum) ?? (() => true) }
}

/** A witness of a policy that cosigned, with the time by its own clock. */
export interface Cosigned {
  name: string
  at: string
}

/** The policy that trusts a log, and requires one witness, if it is given. */
export const policyOf = (log: NoteKey | null, witness: NoteKey | null): Policy => ({
  logs: log === null ? [] : [{ key: log, url: null }],
  witnesses: witness === null ? [] : [{ name: witness.name, key: witness, url: null }],
  quorum: witness?.name ?? 'none',
  isQuorum: (cosigned) => witness === null || cosigned.has(witness.name),
})

/** Compares the signatures of a checkpoint with a policy. @returns the witnesses with valid cosignatures */
export function checkSignatures(
  note: ReadNote,
  { logs, witnesses, isQuorum, quorum }: Policy,
  failed: (check: 'log' | 'witnesses', message: string) => void,
): Cosigned[] {
  const ofLog = logs.filter(({ key }) => key.name === note.origin).map(({ key }) => signedBy(note, key))
  if (ofLog.length === 0) failed('log', `the checkpoint is of the log ${note.origin}, which you did not name`)
  else if (ofLog.includes('wrong')) failed('log', `the signature of ${note.origin} does not match the checkpoint`)
  else if (ofLog.every((signed) => signed === 'no')) failed('log', `${note.origin} did not sign the checkpoint`)
  const cosigned: Cosigned[] = []
  for (const { name, key } of witnesses) {
    const signed = signedBy(note, key)
    if (signed === 'wrong') failed('witnesses', `the cosignature of ${key.name} does not match the checkpoint`)
    else if (signed !== 'no') cosigned.push({ name, at: instant(signed.at!) })
  }
  const names = cosigned.map(({ name }) => name)
  if (!isQuorum(new Set(names)))
    failed('witnesses', `cosigned by ${names.join(', ') || 'no witness'}; the quorum is ${quorum}`)
  return cosigned
}
