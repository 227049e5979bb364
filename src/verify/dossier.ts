/** Verifies the dossier of a decision offline, optionally against a key and a witness. */
import { checkDecision, checkEvents, checkScore, checkStatement, checkVerdict, digestOf } from './dossier-parts.ts'
import { checkThread } from './dossier-thread.ts'
import { type Fields, isFields } from './findings.ts'
import { NoteFormError, type NoteKey, type ReadNote, readKey, readNote, readSigned, signedBy } from './note.ts'
import { shown } from './read.ts'
import { verifyReceipts } from './receipt.ts'

/** Every check with its question, in the order of the report. */
const checks = {
  form: 'The file is a dossier in the format of the service',
  signature: 'The key in the dossier signed the whole dossier',
  key: 'The given key signed the dossier and the checkpoint',
  witness: 'The given witness cosigned the checkpoint of the log or those of the receipts',
  decision: 'The record and its earlier values match their digests',
  verdict: 'The audit trail and the rules confirm the verdict',
  events: 'Every event is in the log of the checkpoint, unchanged',
  statement: 'The statement is signed by the same key and agrees with the dossier',
  thread: 'Every act is in the thread and matches the record and the audit trail',
  score: 'The score follows from confidence and outcome',
} as const
type CheckName = keyof typeof checks

export interface DossierReport {
  verified: boolean
  checks: { check: CheckName; question: string; result: 'passed' | 'failed' | 'unasked' | 'unproved'; detail: string }[]
  findings: { check: CheckName; seq: number | null; message: string }[]
  dossier: { decision_id: string; generated_at: string; service_version: string; log: string | null; events: number }
  proved: string[]
  open: string[]
}

export interface DossierWanted {
  /** The log's key, from somewhere other than the dossier. */
  key: NoteKey | null
  witness: NoteKey | null
}

const members = [
  ...['approvals', 'checkpoint', 'claims', 'content_sha256', 'decision', 'decision_sha256', 'dossier_format'],
  ...['evidence', 'evidence_total', 'generated_at', 'links', 'policy', 'receipts', 'revisions', 'score'],
  ...['service_version', 'signature', 'statement', 'thread_key', 'trail', 'withheld'],
]

type Fail = (check: CheckName, message: string, seq?: number) => void

/** The dossier as a value. A duplicate member is refused, since other readers could use the first one. */
function readDossier(text: string, fail: Fail): Fields | null {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    fail('form', 'this is not JSON')
    return null
  }
  const bare = text.replace(/"(?:[^"\\]|\\.)*"|\s+/g, (part) =>
    part.startsWith('"') ? JSON.stringify(JSON.parse(part)) : '',
  )
  if (!isFields(value) || value.dossier_format !== 1) fail('form', 'this is not a dossier of format 1')
  else if (Object.keys(value).sort().join() !== members.join())
    fail('form', `a dossier has exactly the members ${members.join(', ')}`)
  else if (Object.keys(value)[0] !== 'dossier_format')
    fail('form', 'its members were sorted: give the file as the service wrote it')
  else if (bare !== JSON.stringify(value))
    fail('form', 'it is not written as the service writes it: a duplicate member, or a number in another form')
  else return value
  return null
}

const reading = <T>(read: () => T, failed: (message: string) => void): T | null => {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof NoteFormError)) throw error
    failed(error.message)
    return null
  }
}

/** Whether a key signed a note; the name of the key, with the time for a witness. */
function signedNote(note: Parameters<typeof signedBy>[0], key: NoteKey, failed: (why: string) => void): string {
  const signed = signedBy(note, key)
  if (signed === 'no') failed(`${key.name} with the key ${key.id} did not sign it`)
  else if (signed === 'wrong') failed(`the signature of ${key.name} does not match it`)
  else if (signed.at !== null) return `${key.name} at ${new Date(signed.at * 1_000).toISOString()}`
  return `${key.name}+${key.id}`
}

/** A witness cosigns the checkpoint of the log or, if the service sends its checkpoints to witnesses, those of the receipts. */
function checkWitness({ receipts }: Fields, note: ReadNote | null, witness: NoteKey, fail: Fail): string {
  const failed = (why: string) => fail('witness', `the checkpoint: ${why}`)
  const others = Array.isArray(receipts) ? receipts : []
  if (note !== null && (others.length === 0 || signedBy(note, witness) !== 'no'))
    return signedNote(note, witness, failed)
  const { name } = witness
  const policy = { logs: [], witnesses: [{ name, key: witness, url: null }], quorum: name }
  const report = verifyReceipts(JSON.stringify({ receipts: others }), {
    ...policy,
    isQuorum: (cosigned) => cosigned.has(name),
  })
  const missing = report.findings.filter(({ check }) => check === 'witnesses')
  for (const { message } of missing) fail('witness', message)
  if (report.receipts.length === 0) fail('witness', 'there is no checkpoint that it could have cosigned')
  const seen = report.receipts[0]?.cosigned_by[0]
  return seen ? `${seen.name} at ${seen.at}, ${report.receipts.length} receipts` : ''
}

/** Checks the signatures. @returns the checkpoint, and the key in the dossier */
function checkSignatures(
  dossier: Fields,
  wanted: DossierWanted,
  fail: Fail,
  details: Partial<Record<CheckName, string>>,
) {
  const { checkpoint, signature, ...rest } = dossier
  const { note: text, verifier_key } = isFields(checkpoint) ? checkpoint : {}
  const note: ReadNote | null = reading(
    () => readNote(shown(text)),
    (why) => fail('signature', `the checkpoint ${why}`),
  )
  const key = reading(
    () => readKey(shown(verifier_key)),
    (why) => fail('signature', `the key in the dossier: ${why}`),
  )
  const signed = reading(
    () => readSigned(shown(signature)),
    (why) => fail('signature', `the signature ${why}`),
  )
  const sha256 = digestOf({ ...rest, checkpoint })
  if (signed !== null && signed.text !== `cstp dossier\nsha256:${sha256}\n`)
    fail('signature', 'the dossier was changed after it was signed: its digest is not the one that is signed')
  const both = (check: 'signature' | 'key', by: NoteKey): string => {
    if (note !== null && note.origin !== by.name)
      fail(check, `the checkpoint is of the log ${note.origin}, the key of ${by.name}`)
    if (note !== null) signedNote(note, by, (why) => fail(check, `the checkpoint: ${why}`))
    return signed === null ? '' : signedNote(signed, by, (why) => fail(check, `the dossier: ${why}`))
  }
  if (key !== null) details.signature = both('signature', key)
  if (wanted.key !== null) details.key = both('key', wanted.key)
  if (wanted.witness !== null) details.witness = checkWitness(dossier, note, wanted.witness, fail)
  return { note, key }
}

/** @param text the file */
export function verifyDossier(text: string, wanted: DossierWanted): DossierReport {
  const findings: DossierReport['findings'] = []
  const fail: Fail = (check, message, seq) => void findings.push({ check, seq: seq ?? null, message })
  const details: Partial<Record<CheckName, string>> = {}
  const dossier = readDossier(text, fail)
  let decided = true
  let traced = true
  let note: ReadNote | null = null
  if (dossier !== null) {
    const read = checkSignatures(dossier, wanted, fail, details)
    note = read.note
    const of = (check: CheckName) => (message: string, seq?: number) => fail(check, message, seq)
    checkDecision(dossier, of('decision'))
    decided = checkVerdict(dossier, of('verdict'))
    checkEvents(dossier, note, of('events'))
    if (read.key !== null) {
      checkStatement(dossier, read.key, of('statement'))
      traced = checkThread(dossier, read.key.name, of('thread'))
    }
    checkScore(dossier, of('score'))
  }
  const { decision, generated_at, service_version, evidence } = dossier ?? {}
  const events = Array.isArray(evidence) ? evidence.length : 0
  if (note !== null) details.events = `${events} events, ${note.origin}, size ${note.size}`
  const unasked = (check: CheckName) => (check === 'key' || check === 'witness') && wanted[check] === null
  const results = (Object.keys(checks) as CheckName[]).map((check) => ({
    check,
    question: checks[check],
    result: findings.some((one) => one.check === check)
      ? ('failed' as const)
      : unasked(check)
        ? ('unasked' as const)
        : (check === 'verdict' && !decided) || (check === 'thread' && !traced)
          ? ('unproved' as const)
          : ('passed' as const),
    detail: details[check] ?? '',
  }))
  return {
    verified: findings.length === 0,
    checks: results,
    findings,
    dossier: {
      decision_id: shown(isFields(decision) ? decision.id : null),
      generated_at: shown(generated_at ?? null),
      service_version: shown(service_version ?? null),
      log: note?.origin ?? null,
      events,
    },
    ...(dossier !== null && findings.length === 0
      ? meaning(dossier, wanted, { decided, traced })
      : { proved: [], open: ['The verification failed: do not rely on anything in this file.'] }),
  }
}

function meaning(
  dossier: Fields,
  { key, witness }: DossierWanted,
  { decided, traced }: Record<'decided' | 'traced', boolean>,
) {
  const proved = [
    key === null
      ? 'The dossier is consistent: the holder of the key in it signed exactly this.'
      : 'The holder of the key that you gave signed exactly this dossier: nothing in it was changed since.',
    'Each event in it is in the log of the checkpoint, which the same key signed; each act is in the thread of the same service.',
  ]
  if (witness !== null) proved.push('The witness saw this state of the log, and no contradiction to it.')
  const open = [
    'Whether decision, outcome and the events reported to the service are true: the service and its sources say so, and the times are those of its clock.',
    'Whether the dossier has everything that concerns the decision: it shows what was kept, not what is missing.',
  ]
  if (key === null) open.unshift('Who made it: anyone can sign with a key of their own. Give the log’s key with --key.')
  if (witness === null) open.push('Whether the log shows others a different history: check with --witness.')
  if (!decided)
    open.push('Whether the verdict is that of the trail and of the rules: one of them is not in the dossier.')
  if (!traced)
    open.push(
      'Whether the record and the whole trail are what the acts say: some acts or lines are not in the dossier.',
    )
  if (Array.isArray(dossier.withheld) && dossier.withheld.length > 0)
    open.push(
      `What was left out, as its reader may not see it or as it is too long: ${dossier.withheld.map(shown).join(', ')}.`,
    )
  return { proved, open }
}
