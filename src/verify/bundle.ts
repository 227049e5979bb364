/** One pass over a bundle: every check that needs only the file. */
import { createHash } from 'node:crypto'
import { chainFormat } from '../domain/ledger/evidence/hash.ts'
import { type Chain, openChain } from './chain.ts'
import { type ListName, openConclusionsCheck } from './conclusions.ts'
import { type LinkedDecision, openDecisions } from './decisions.ts'
import { type Fields, type Findings, isFields } from './findings.ts'
import { NoteFormError, type NoteKey, type ReadNote, readKey, readNote, type SignedNote, signedBy } from './note.ts'
import { canonicalText, FormError, NotCanonical, type Part, parseCanonical, readParts, shown } from './read.ts'
import { checkSignature, openDigest, readSignature } from './signature.ts'

const lists = ['control_rules', 'decisions', 'events', 'insufficient_evidence', 'mappings', 'unmapped'] as const
/** Members with a single value, and its check. */
const singles: Record<string, [right: (value: unknown) => boolean, expected: string]> = {
  bundle_format: [(value) => value === 1, '1'],
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
const members = ['attested_only_controls', ...lists, ...Object.keys(singles)].sort()

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}
function isHash(value: unknown): boolean {
  return typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)
}

/** The result of a walk. */
export interface Walked {
  chain: Chain
  /** Members with a single value. */
  stated: Fields
  /** The checkpoint, if it can be read. */
  note: ReadNote | null
  rules: { framework: unknown; version: unknown; evidence_class: unknown; digest: string }[]
  /** The signed note, if the key of the log signed this bundle. */
  signature: SignedNote | null
  decisions: LinkedDecision[]
  /** Ids of the decisions for which it is unknown whether they changed. */
  unproved: string[]
  counts: ReturnType<ReturnType<typeof openConclusionsCheck>['counts']>
}

/** @param seen called after each event */
export async function walkBundle(
  chunks: AsyncIterable<Uint8Array>,
  findings: Findings,
  seen: (seq: number, chain: Chain) => void = () => {},
): Promise<Walked> {
  const chain = openChain(findings)
  const conclusions = openConclusionsCheck(findings)
  const stated: Fields = {}
  const alone: unknown[] = []
  const decisions = openDecisions(findings)
  const digest = openDigest()
  const rules: Walked['rules'] = []
  let last = ''

  const parsed = ({ member, text, at }: Part): unknown => {
    try {
      return parseCanonical(text)
    } catch (error) {
      if (!(error instanceof NotCanonical)) throw error
      findings.add('form', `${member}, at byte ${at}: ${error.message}`)
      return undefined
    }
  }
  const takeEvent = (text: string) => {
    const event = chain.take(text)
    conclusions.event(event)
    if (event) decisions.event(event)
    seen(chain.size(), chain)
  }
  const takeItem = (part: Part) => {
    const { member, text } = part
    switch (member) {
      case 'events':
        return takeEvent(text)
      case 'mappings':
      case 'insufficient_evidence':
      case 'unmapped':
        return conclusions.entry(member as ListName, text)
    }
    const value = parsed(part)
    if (value === undefined) return
    if (member === 'attested_only_controls') alone.push(value)
    else if (member === 'control_rules') {
      conclusions.rules(value)
      if (!isFields(value)) return
      const { framework, version, evidence_class, digest, ...rest } = value
      const right = createHash('sha256')
        .update(canonicalText({ ...rest, framework, version, evidence_class }))
        .digest('hex')
      if (digest !== right) findings.add('conclusions', `the rules ${shown(framework)} do not give their digest`)
      rules.push({ framework, version, evidence_class, digest: right })
    } else if (member === 'decisions') decisions.entry(value)
  }
  const takeMember = (part: Part) => {
    const { member, item } = part
    digest.take(part)
    if (member !== last || (item ?? 0) <= 0) {
      if (!members.includes(member))
        findings.add('form', `there is a member ${JSON.stringify(member.slice(0, 80))}, which no bundle has`)
      else if (member <= last) findings.add('form', `the member ${member} appears twice, or is not in its place`)
      last = member
    }
    const isList = member === 'attested_only_controls' || lists.includes(member as (typeof lists)[number])
    if (members.includes(member) && isList !== (item !== null))
      return findings.add('form', `${member}: expected ${isList ? 'a list' : 'a single value'}`)
    if (item !== null && item >= 0) takeItem(part)
    const single = Object.hasOwn(singles, member) ? singles[member] : undefined
    if (!single) {
      if (isList) stated[member] = true
      return
    }
    const value = parsed(part)
    stated[member] = value
    if (value !== undefined && !single[0](value)) findings.add('form', `${member}: expected ${single[1]}`)
  }

  try {
    for await (const parts of readParts(chunks)) for (const part of parts) takeMember(part)
  } catch (error) {
    if (!(error instanceof FormError)) throw error
    findings.add('form', error.message)
  }
  for (const member of members)
    if (!Object.hasOwn(stated, member)) findings.add('form', `the member ${member} is missing`)
  conclusions.end({
    ...(stated as { coverage: unknown; insufficient_evidence_count: unknown }),
    attested_only_controls: alone,
  })
  checkHead(chain, stated, findings)
  decisions.end()
  const signature = readSignature(stated.signature, digest.end(), findings)
  const { note, key } = checkNote(chain, stated, findings)
  if (key !== null) checkSignature('signature', signature, key, findings)
  return {
    ...{ chain, stated, note, signature, rules },
    decisions: decisions.listed,
    unproved: decisions.unproved(),
    counts: conclusions.counts(),
  }
}

function checkHead(chain: Chain, stated: Fields, findings: Findings): void {
  const right: Fields = { chain_size: chain.size(), chain_head_hash: chain.head(), chain_root_hash: chain.root() }
  for (const [name, value] of Object.entries(right))
    if (stated[name] !== value)
      findings.add('head', `${name} is ${shown(stated[name])}, but the events give ${shown(value)}`)
}

/** @returns the checkpoint and the key in the bundle, if they can be read */
function checkNote(chain: Chain, stated: Fields, findings: Findings): { note: ReadNote | null; key: NoteKey | null } {
  const { note: text, verifier_key } = isFields(stated.checkpoint) ? stated.checkpoint : {}
  let note: ReadNote
  try {
    note = readNote(shown(text))
  } catch (error) {
    if (!(error instanceof NoteFormError)) throw error
    findings.add('checkpoint', `the checkpoint ${error.message}`)
    return { note: null, key: null }
  }
  if (note.size !== chain.size())
    findings.add('checkpoint', `the checkpoint is of ${note.size} events, the bundle has ${chain.size()}`)
  else if (note.root_hash !== chain.root())
    findings.add('checkpoint', 'the checkpoint is of other events: its root is not that of the events in the bundle')
  try {
    const key = readKey(shown(verifier_key))
    if (key.name !== note.origin)
      findings.add('checkpoint', `the checkpoint is of the log ${note.origin}, the key in the bundle of ${key.name}`)
    const signed = signedBy(note, key)
    if (signed === 'no') findings.add('checkpoint', 'the key in the bundle did not sign the checkpoint')
    if (signed === 'wrong') findings.add('checkpoint', 'the signature of the checkpoint does not match its text')
    return { note, key }
  } catch (error) {
    if (!(error instanceof NoteFormError)) throw error
    findings.add('checkpoint', `the key in the bundle can't be read: ${error.message}`)
    return { note, key: null }
  }
}
