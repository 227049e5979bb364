/** Verifies the dossier of a decision offline: a record with its receipts under one signature, optionally against a key and a witness. */
import { dataFormat } from '../core/format.ts'
import {
  checkActs,
  checkDecision,
  checkEvents,
  checkScore,
  checkStatement,
  checkVerdict,
  digestOf,
} from './dossier-parts.ts'
import { checkSigner, type NoteKey, reading, readKey, readSigned } from './note.ts'
import { policyOf } from './policy.ts'
import { NotCanonical, parseStrict } from './read.ts'
import { checkReceipts } from './receipt.ts'
import { type Fields, type Findings, isFields, listIn, openFindings, type Report, shown } from './report.ts'

/** Every check with its question, in the order of the report. */
const checks = {
  form: 'The file is a dossier in the format of the service',
  signature: 'The key in the dossier signed the whole dossier',
  key: 'The given key signed the dossier',
  witness: 'The given witness cosigned the checkpoints of the receipts',
  decision: 'The record and its earlier values match their digests',
  verdict: 'The audit trail and the rules confirm the verdict',
  events: 'Every event is in the ledger, unchanged',
  statement: 'The statement is signed by the same key and agrees with the dossier',
  thread: 'Every act is in the ledger and matches the record and the audit trail',
  score: 'The score follows from confidence and outcome',
} as const
type CheckName = keyof typeof checks
type DossierFindings = Findings<CheckName>

export interface DossierReport extends Report<CheckName> {
  dossier: { decision_id: string; generated_at: string; service_version: string; log: string | null; events: number }
}

export interface DossierWanted {
  /** The log's key, from somewhere other than the dossier. */
  key: NoteKey | null
  witness: NoteKey | null
}

const members = [
  ...['approvals', 'claims', 'content_sha256', 'decision', 'decision_sha256', 'dossier_format', 'evidence'],
  ...['evidence_total', 'generated_at', 'links', 'policy', 'receipts', 'revisions', 'score', 'service_version'],
  ...['signature', 'statement', 'thread_key', 'trail', 'verifier_key', 'withheld'],
]

/** The dossier as a value. A duplicate member is refused, since other readers could use the first one. */
function readDossier(text: string, { fail, refuseNewer }: DossierFindings): Fields | null {
  let value: unknown
  try {
    value = parseStrict(text)
  } catch (error) {
    if (!(error instanceof NotCanonical)) throw error
    fail('form', `this ${error.message}`)
    return null
  }
  if (isFields(value) && refuseNewer('form', 'the format of the dossier', value.dossier_format)) return null
  if (!isFields(value) || value.dossier_format !== dataFormat)
    fail('form', `this is not a dossier of format ${dataFormat}`)
  else if (Object.keys(value).sort().join() !== members.join())
    fail('form', `a dossier has exactly the members ${members.join(', ')}`)
  else if (Object.keys(value)[0] !== 'dossier_format')
    fail('form', 'its members were sorted: give the file as the service wrote it')
  else return value
  return null
}

/** Checks the signature of the whole. @returns the key in the dossier, and who signed for each check */
function checkSignature(dossier: Fields, wanted: DossierWanted, { fail }: DossierFindings) {
  const { signature, ...rest } = dossier
  const key = reading(
    () => readKey(shown(rest.verifier_key)),
    (why) => fail('signature', `the key in the dossier: ${why}`),
  )
  const signed = reading(
    () => readSigned(shown(signature)),
    (why) => fail('signature', `the signature ${why}`),
  )
  if (signed !== null && signed.text !== `cstp dossier\nsha256:${digestOf(rest)}\n`)
    fail('signature', 'the dossier was changed after it was signed: its digest is not the one that is signed')
  const signer = (check: 'signature' | 'key', by: NoteKey | null): string =>
    signed && by ? checkSigner(signed, by, (why) => fail(check, `the dossier: ${why}`)) : ''
  return { key, details: { signature: signer('signature', key), key: signer('key', wanted.key) } }
}

/** Whether each receipt is that of an act in the ledger of the same service, and the witness cosigned it. @returns the cosignature */
function checkLedger(dossier: Fields, log: NoteKey, { witness }: DossierWanted, { fail }: DossierFindings): string {
  const key = reading(
    () => readKey(shown(dossier.thread_key)),
    (why) => fail('thread', `its key: ${why}`),
  )
  if (key === null) return ''
  if (key.name !== `${log.name}/thread`) fail('thread', `its key is that of ${key.name}, expected ${log.name}/thread`)
  const receipts = listIn(dossier.receipts)
  if (witness !== null && receipts.length === 0) fail('witness', 'there is no checkpoint that it could have cosigned')
  const { verified } = checkReceipts(receipts, policyOf(key, witness), (check, message, about) =>
    fail(check === 'witnesses' ? 'witness' : 'thread', message, about),
  )
  const seen = verified[0]?.cosigned_by[0]
  return seen ? `${seen.name} at ${seen.at}, ${verified.length} receipts` : ''
}

/** @param text the file */
export function verifyDossier(text: string, wanted: DossierWanted): DossierReport {
  const findings = openFindings(checks)
  const dossier = readDossier(text, findings)
  const proofs = { decided: true, traced: true }
  let details: Partial<Record<CheckName, string>> = {}
  let log: string | null = null
  if (dossier !== null) {
    const signed = checkSignature(dossier, wanted, findings)
    details = signed.details
    const of = (check: CheckName) => (message: string, about?: { seq: number }) => findings.fail(check, message, about)
    checkDecision(dossier, of('decision'))
    proofs.decided = checkVerdict(dossier, of('verdict'))
    checkEvents(dossier, of('events'))
    if (signed.key !== null) {
      log = signed.key.name
      checkStatement(dossier, signed.key, of('statement'))
      details.witness = checkLedger(dossier, signed.key, wanted, findings)
    }
    proofs.traced = checkActs(dossier, of('thread'))
    checkScore(dossier, of('score'))
  }
  const { decision, generated_at = null, service_version = null, evidence } = dossier ?? {}
  const events = listIn(evidence).length
  const report = findings.end(
    { ...details, events: `${events} events` },
    {
      key: wanted.key === null && 'unasked',
      witness: wanted.witness === null && 'unasked',
      verdict: !proofs.decided && 'unproved',
      thread: !proofs.traced && 'unproved',
    },
  )
  return {
    ...report,
    dossier: {
      decision_id: shown(isFields(decision) ? decision.id : null),
      ...{ generated_at: shown(generated_at), service_version: shown(service_version), log, events },
    },
    ...(dossier !== null && report.verified
      ? meaning(dossier, wanted, proofs)
      : { proved: [], open: ['The verification failed: do not rely on anything in this file.'] }),
  }
}

function meaning(
  dossier: Fields,
  { key, witness }: DossierWanted,
  { decided, traced }: Record<'decided' | 'traced', boolean>,
): Pick<Report, 'proved' | 'open'> {
  const proved = [
    key === null
      ? 'The dossier is consistent: the holder of the key in it signed exactly this.'
      : 'The holder of the key that you gave signed exactly this dossier: nothing in it was changed since.',
    'Each act in it, and each event, is in the ledger of the same service.',
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
