/** The signature of a bundle: over everything in it except the signature itself. */
import { createHash } from 'node:crypto'
import type { Findings } from './findings.ts'
import { NoteFormError, type NoteKey, readSigned, type SignedNote, signedBy } from './note.ts'
import { type Part, shown } from './read.ts'

/** Hashes a bundle while it is read, without its signature. */
export function openDigest() {
  const digest = createHash('sha256')
  /** Parts are small, so many of them are hashed in one call. */
  let pending = ''
  const add = (text: string) => {
    pending += text
    if (pending.length < 65_536) return
    digest.update(pending)
    pending = ''
  }
  let inList = false
  let first = true
  const endList = () => {
    if (inList) add(']')
    inList = false
  }
  return {
    take({ member, item, text }: Part): void {
      if (item === null || item <= 0) endList()
      if (member === 'signature') return
      if (item === null || item <= 0) {
        add(`${first ? '{' : ','}${JSON.stringify(member)}:`)
        first = false
      }
      if (item === null) add(text)
      else {
        inList = true
        add(item <= 0 ? `[${text}` : `,${text}`)
      }
    },
    /** Lowercase hex. */
    end(): string {
      endList()
      return digest.update(`${pending}}`).digest('hex')
    },
  }
}

/** Reads the signature and compares its digest with that of the bundle. Null if there is no valid note. */
export function readSignature(stated: unknown, sha256: string, findings: Findings): SignedNote | null {
  try {
    const note = readSigned(shown(stated))
    if (note.text === `cstp evidence bundle\nsha256:${sha256}\n`) return note
    findings.add('signature', 'the bundle was changed after it was signed: its digest is not the one that is signed')
  } catch (error) {
    if (!(error instanceof NoteFormError)) throw error
    findings.add('signature', `the signature ${error.message}`)
  }
  return null
}

/** Checks that a key signed the bundle. */
export function checkSignature(
  check: 'signature' | 'key',
  note: SignedNote | null,
  key: NoteKey,
  findings: Findings,
): void {
  const signed = note === null ? 'no' : signedBy(note, key)
  if (signed === 'no') findings.add(check, `${key.name} with the key ${key.id} did not sign this bundle`)
  else if (signed === 'wrong') findings.add(check, `the signature of ${key.name} does not match the bundle`)
}
