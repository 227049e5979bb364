/** One pass over a bundle: every check that needs only the file. */
import { createHash } from 'node:crypto'
import { dataFormat } from '../core/format.ts'
import { chainFormat } from '../domain/ledger/evidence/hash.ts'
import type { BundleFindings } from './bundle-checks.ts'
import { type Chain, openChain } from './chain.ts'
import { openConclusionsCheck } from './conclusions.ts'
import { type LinkedDecision, openDecisions } from './decisions.ts'
import {
  checkSigner,
  type NoteKey,
  type ReadNote,
  reading,
  readKey,
  readNote,
  readSigned,
  type SignedNote,
} from './note.ts'
import { canonicalText, FormError, NotCanonical, type Part, parseCanonical, readParts } from './read.ts'
import { type Fields, fieldsIn, isFields, isHash, shown } from './report.ts'
import { entriesOf, type ListName } from './rules.ts'

const isText = (value: unknown): boolean => typeof value === 'string' && value !== ''

const lists = ['attested_only_controls', 'control_rules', 'decisions', 'events', ...Object.keys(entriesOf)]
/** Members with a single value, and its check. */
const singles: Record<string, [right: (value: unknown) => boolean, expected: string]> = {
  bundle_format: [(value) => value === dataFormat, String(dataFormat)],
  bundle_id: [isText, 'text'],
  chain_format: [(value) => value === chainFormat, String(chainFormat)],
  chain_head_hash: [isHash, '64 hexadecimal digits'],
  chain_intact: [(value) => value === true, 'true'],
  chain_root_hash: [isHash, '64 hexadecimal digits'],
  chain_size: [(value) => Number.isSafeInteger(value) && (value as number) >= 0, 'a number of events'],
  checkpoint: [
    (value) => isFields(value) && isText(value.note) && isText(value.verifier_key) && Object.keys(value).length === 2,
    'a note and a verifier_key',
  ],
  coverage: [isFields, 'an object'],
  generated_at: [(value) => isText(value) && !Number.isNaN(Date.parse(value as string)), 'a time'],
  insufficient_evidence_count: [Number.isSafeInteger, 'a number'],
  policy_hash: [isHash, '64 hexadecimal digits'],
  service_version: [isText, 'text'],
  signature: [isText, 'a signed note'],
}
const members = [...lists, ...Object.keys(singles)].sort()

/** The result of a walk. */
export interface Walked {
  chain: Chain
  /** Members with a single value. */
  stated: Fields
  /** The checkpoint, if it can be read. */
  note: ReadNote | null
  rules: { framework: unknown; version: unknown; evidence_class: unknown; digest: string }[]
  /** The signed note of this bundle, if its digest is that of the bundle. */
  signature: SignedNote | null
  decisions: LinkedDecision[]
  /** Ids of the decisions for which it is unknown whether they changed. */
  unproved: string[]
  counts: ReturnType<ReturnType<typeof openConclusionsCheck>['counts']>
}

/** Hashes a bundle while it is read, without its signature. */
function openDigest() {
  const digest = createHash('sha256')
  let inList = false
  let first = true
  const endList = () => {
    if (inList) digest.update(']')
    inList = false
  }
  return {
    take({ member, item, text }: Part): void {
      if (item === null || item <= 0) {
        endList()
        if (member === 'signature') return
        digest.update(`${first ? '{' : ','}${JSON.stringify(member)}:`)
        first = false
      } else if (member === 'signature') return
      inList = item !== null
      digest.update(item === null ? text : item <= 0 ? `[${text}` : `,${text}`)
    },
    /** Lowercase hex. */
    end(): string {
      endList()
      return digest.update('}').digest('hex')
    },
  }
}

/** @param seen called after each event */
export async function walkBundle(
  chunks: AsyncIterable<Uint8Array>,
  findings: BundleFindings,
  seen: (seq: number, chain: Chain) => void = () => {},
): Promise<Walked> {
  const chain = openChain(findings)
  const conclusions = openConclusionsCheck(findings)
  const decisions = openDecisions(findings)
  const digest = openDigest()
  const stated: Fields = {}
  const alone: unknown[] = []
  const rules: Walked['rules'] = []
  let last = ''

  const parsed = ({ member, text, at }: Part): unknown => {
    try {
      return parseCanonical(text)
    } catch (error) {
      if (!(error instanceof NotCanonical)) throw error
      findings.fail('form', `${member}, at byte ${at}: ${error.message}`)
      return undefined
    }
  }
  const takeRules = (value: unknown) => {
    conclusions.rules(value)
    if (!isFields(value)) return
    const { digest: said, ...set } = value
    const right = createHash('sha256').update(canonicalText(set)).digest('hex')
    const { framework, version, evidence_class } = set
    if (said !== right) findings.fail('conclusions', `the rules ${shown(framework)} do not give their digest`)
    rules.push({ framework, version, evidence_class, digest: right })
  }
  const takeItem = (part: Part) => {
    const { member, text } = part
    if (member === 'events') {
      const event = chain.take(text)
      conclusions.event(event)
      if (event) decisions.event(event)
      return seen(chain.size(), chain)
    }
    if (Object.hasOwn(entriesOf, member)) return conclusions.entry(member as ListName, text)
    const value = parsed(part)
    if (value === undefined) return
    if (member === 'attested_only_controls') alone.push(value)
    else if (member === 'control_rules') takeRules(value)
    else if (member === 'decisions') decisions.entry(value)
  }
  const takeMember = (part: Part) => {
    const { member, item } = part
    digest.take(part)
    if (member !== last || (item ?? 0) <= 0) {
      if (!members.includes(member))
        findings.fail('form', `there is a member ${JSON.stringify(member.slice(0, 80))}, which no bundle has`)
      else if (member <= last) findings.fail('form', `the member ${member} appears twice, or is not in its place`)
      last = member
    }
    const isList = lists.includes(member)
    if (members.includes(member) && isList !== (item !== null))
      return findings.fail('form', `${member}: expected ${isList ? 'a list' : 'a single value'}`)
    if (item !== null && item >= 0) takeItem(part)
    const single = Object.hasOwn(singles, member) ? singles[member] : undefined
    if (!single) {
      if (isList) stated[member] = true
      return
    }
    const value = parsed(part)
    stated[member] = value
    if (member === 'bundle_format' && findings.refuseNewer('form', 'the format of the bundle', value)) return
    if (value !== undefined && !single[0](value)) findings.fail('form', `${member}: expected ${single[1]}`)
  }

  try {
    for await (const part of readParts(chunks)) takeMember(part)
  } catch (error) {
    if (!(error instanceof FormError)) throw error
    findings.fail('form', error.message)
  }
  for (const member of members)
    if (!Object.hasOwn(stated, member)) findings.fail('form', `the member ${member} is missing`)
  conclusions.end({
    ...(stated as { coverage: unknown; insufficient_evidence_count: unknown }),
    attested_only_controls: alone,
  })
  decisions.end()
  checkHead(chain, stated, findings)
  const signature = readSignature(stated.signature, digest.end(), findings)
  const { note, key } = checkNote(chain, fieldsIn(stated.checkpoint), findings)
  if (key !== null && signature !== null)
    checkSigner(signature, key, (why) => findings.fail('signature', `the bundle: ${why}`))
  return {
    ...{ chain, stated, note, signature, rules },
    decisions: decisions.listed,
    unproved: decisions.unproved(),
    counts: conclusions.counts(),
  }
}

function checkHead(chain: Chain, stated: Fields, findings: BundleFindings): void {
  const right: Fields = { chain_size: chain.size(), chain_head_hash: chain.head(), chain_root_hash: chain.root() }
  for (const [name, value] of Object.entries(right))
    if (stated[name] !== value)
      findings.fail('head', `${name} is ${shown(stated[name])}, but the events give ${shown(value)}`)
}

function readSignature(stated: unknown, sha256: string, findings: BundleFindings): SignedNote | null {
  const note = reading(
    () => readSigned(shown(stated)),
    (why) => findings.fail('signature', `the signature ${why}`),
  )
  if (note === null || note.text === `cstp evidence bundle\nsha256:${sha256}\n`) return note
  findings.fail('signature', 'the bundle was changed after it was signed: its digest is not the one that is signed')
  return null
}

/** @returns the checkpoint and the key in the bundle, if they can be read */
function checkNote(
  chain: Chain,
  { note: text, verifier_key }: Fields,
  findings: BundleFindings,
): { note: ReadNote | null; key: NoteKey | null } {
  const fail = (message: string) => findings.fail('checkpoint', message)
  const note = reading(
    () => readNote(shown(text)),
    (why) => fail(`the checkpoint ${why}`),
  )
  if (note === null) return { note, key: null }
  if (note.size !== chain.size()) fail(`the checkpoint is of ${note.size} events, the bundle has ${chain.size()}`)
  else if (note.root_hash !== chain.root())
    fail('the checkpoint is of other events: its root is not that of the events in the bundle')
  const key = reading(
    () => readKey(shown(verifier_key)),
    (why) => fail(`the key in the bundle can't be read: ${why}`),
  )
  if (key === null) return { note, key }
  if (key.name !== note.origin)
    fail(`the checkpoint is of the log ${note.origin}, the key in the bundle of ${key.name}`)
  checkSigner(note, key, (why) => fail(`the checkpoint: ${why}`))
  return { note, key }
}
