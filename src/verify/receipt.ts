/** Verifies receipts offline: that acts are entries of a trusted log, and what witnesses saw of it. */
import { dataFormat } from '../core/format.ts'
import { commitmentOf } from '../domain/ledger/thread/commitment.ts'
import { NoteFormError } from './note.ts'
import { type Cosigned, checkSignatures, type Policy } from './policy.ts'
import { leadsToRoot, readProof, type TlogProof } from './proof.ts'
import { canonicalText, NotCanonical, parseStrict, stableText } from './read.ts'
import { type Fields, isFields, isHash, listIn, openFindings, type Report, shown } from './report.ts'

/** Every check with its question, in the order of the report. */
const checks = {
  form: 'The file contains receipts, and each is complete',
  content: 'Payload and salt give the entry of the log',
  inclusion: 'The proof leads from the entry to the root of the checkpoint',
  log: 'A log that you trust signed the checkpoint',
  witnesses: 'Enough of the witnesses that you trust cosigned the checkpoint',
} as const
export type ReceiptCheck = keyof typeof checks

export interface VerifiedReceipt {
  record_id: string
  kind: string
  index: number | null
  /** By the clock of the service; null if the payload was erased. */
  at: string | null
  origin: string | null
  /** Number of entries in the checkpoint's log. */
  size: number | null
  cosigned_by: Cosigned[]
}

export interface ReceiptReport extends Report<ReceiptCheck> {
  receipts: VerifiedReceipt[]
}

const maxReceipts = 10_000

/** Members of an answer of getReceipt, and of a receipt in it. */
const answerMembers = ['receipt_format', 'receipts', 'pending', 'withheld', 'shortened']
const receiptMembers = [
  'record_id',
  'kind',
  'index',
  'payload',
  'payload_json',
  'salt',
  'commitment',
  'proof',
  'statement',
]

const unknownIn = (given: Fields, known: readonly string[]): string | undefined =>
  Object.keys(given).find((name) => !known.includes(name))

/** The receipts of a file: a result of getReceipt, or a single receipt. @returns a text that says why there are none */
function receiptsIn(text: string): { receipts: Fields[]; pending: boolean; format: unknown } | string {
  let file: unknown
  try {
    file = parseStrict(text)
  } catch (error) {
    if (!(error instanceof NotCanonical)) throw error
    return `the file ${error.message}`
  }
  if (!isFields(file)) return noReceipts
  const isAnswer = Array.isArray(file.receipts)
  const list = isAnswer ? (file.receipts as unknown[]) : [file]
  if (list.length === 0 || list.length > maxReceipts || !list.every(isFields)) return noReceipts
  const other = isAnswer ? unknownIn(file, answerMembers) : undefined
  if (other !== undefined) return `the file has the unknown member ${shown(other)}`
  return { receipts: list, pending: file.pending === true, format: file.receipt_format }
}
const noReceipts = 'this is not a file with receipts'

/** Why the form of a receipt is invalid; null if it is valid. */
function formFault(receipt: Fields): string | null {
  const { record_id, kind, index, payload, salt, proof, commitment } = receipt
  const other = unknownIn(receipt, receiptMembers)
  if (other !== undefined) return `it has the unknown member ${shown(other)}`
  if (typeof record_id !== 'string' || typeof kind !== 'string') return 'it has no record_id and kind'
  if (!Number.isSafeInteger(index) || (index as number) < 0) return 'its index is not a whole number from 0'
  if (typeof proof !== 'string') return 'it has no proof'
  if (payload === null && salt === null) return isHash(commitment) ? null : 'it has neither payload nor commitment'
  if (!isFields(payload)) return 'its payload is not an object'
  if (!isHash(salt)) return 'its salt is not 64 hexadecimal digits'
  if (payload.record_id !== record_id || payload.kind !== kind)
    return `its payload is that of ${shown(payload.kind)} ${shown(payload.record_id)}`
  return null
}

/** The entry computed from payload and salt; the stated one if both were erased. @throws NotCanonical */
const entryOf = ({ payload, salt, commitment }: Fields): string =>
  payload === null ? String(commitment) : commitmentOf(String(salt), canonicalText(payload))

/** What redactions say of the acts that they erased, by entry of the log. */
function erasedIn(receipts: readonly Fields[]): Map<string, string> {
  const erased = new Map<string, string>()
  for (const { kind, payload } of receipts) {
    if (kind !== 'redaction' || !isFields(payload)) continue
    for (const one of listIn(payload.erased)) erased.set(shown(one.commitment), stableText([one.record_id, one.kind]))
  }
  return erased
}

/**
 * Checks that each act is an entry of a trusted log. Of an act that was erased, the redaction beside it says which one it was.
 * @returns the receipts that could be read, and the number of acts whose payload was erased
 */
export function checkReceipts(
  receipts: readonly Fields[],
  policy: Policy,
  fail: (check: ReceiptCheck, message: string, about: { record_id: string }) => void,
): { verified: VerifiedReceipt[]; erased: number } {
  const verified: VerifiedReceipt[] = []
  let erased = 0
  const redacted = erasedIn(receipts)
  for (const receipt of receipts) {
    const { record_id, kind, index, payload, payload_json, commitment, proof: proofText } = receipt
    const failed = (check: ReceiptCheck, message: string) =>
      fail(check, `${shown(record_id)}: ${message}`, { record_id: shown(record_id) })
    const fault = formFault(receipt)
    if (fault !== null) {
      failed('form', fault)
      continue
    }
    let proof: TlogProof
    let entry: string
    try {
      proof = readProof(String(proofText))
      entry = entryOf(receipt)
    } catch (error) {
      if (!(error instanceof NoteFormError || error instanceof NotCanonical)) throw error
      failed('form', `the ${error instanceof NoteFormError ? 'proof' : 'payload'} ${error.message}`)
      continue
    }
    if (payload === null) {
      erased++
      if (redacted.get(entry) !== stableText([record_id, kind]))
        failed('content', 'it was erased, and no redaction in the file names it: it may be any other act')
    } else if (commitment !== undefined && commitment !== entry)
      failed('content', 'payload and salt do not give the commitment: the payload was changed')
    if (payload_json !== undefined && payload_json !== (payload === null ? null : canonicalText(payload)))
      failed('content', 'payload_json is not the canonical JSON of the payload')
    const { note } = proof
    if (proof.index !== index) failed('inclusion', `its index is ${index}, that of the proof ${proof.index}`)
    if (!leadsToRoot(proof, entry))
      failed('inclusion', 'the proof does not lead to the root of the checkpoint: payload, salt or proof was changed')
    verified.push({
      ...{ record_id: String(record_id), kind: String(kind), index: proof.index },
      at: isFields(payload) && typeof payload.at === 'string' ? payload.at : null,
      ...{ origin: note.origin, size: note.size },
      cosigned_by: checkSignatures(note, policy, failed),
    })
  }
  return { verified, erased }
}

const unique = (texts: (string | null)[]): string => [...new Set(texts)].join(', ')

/** @param text the file @param policy with at least one log */
export function verifyReceipts(text: string, policy: Policy): ReceiptReport {
  const findings = openFindings(checks)
  const read = receiptsIn(text)
  if (typeof read === 'string') findings.fail('form', read)
  else if (
    !findings.refuseNewer('form', 'the format of the receipts', read.format) &&
    ![undefined, dataFormat].includes(read.format as 1)
  )
    findings.fail('form', `receipt_format: expected ${dataFormat}`)
  const { verified, erased } = checkReceipts(typeof read === 'string' ? [] : read.receipts, policy, findings.fail)
  const names = verified.flatMap(({ cosigned_by }) => cosigned_by.map(({ name, at }) => `${name} at ${at}`))
  const report = findings.end(
    {
      form: `${verified.length} receipts`,
      content: erased > 0 ? `erased in ${erased}` : '',
      log: unique(verified.map(({ origin }) => origin)),
      witnesses: unique(names),
    },
    { witnesses: policy.quorum === 'none' && 'unasked', content: erased > 0 && 'unproved' },
  )
  const sentences =
    report.verified && typeof read !== 'string'
      ? meaning(verified, policy, erased, read)
      : { proved: [], open: ['The verification failed: do not rely on anything in this file.'] }
  return { ...report, receipts: verified, ...sentences }
}

function meaning(
  verified: readonly VerifiedReceipt[],
  { quorum }: Policy,
  erased: number,
  { receipts, pending }: Exclude<ReturnType<typeof receiptsIn>, string>,
): Pick<ReceiptReport, 'proved' | 'open'> {
  const origins = unique(verified.map(({ origin }) => origin))
  const proved = [
    `The log ${origins} contains each of these acts with exactly this payload, and can't remove one without contradicting the checkpoint that it signed.`,
  ]
  const open = [
    'Whether what a payload says is true, and the time in it: the service says so, by its own clock.',
    'Whether these are all acts that concern the decision: receipts prove what is there, not what is missing.',
  ]
  if (quorum === 'none')
    open.push('Whether the log shows others a different history: give a policy with a quorum of witnesses.')
  else {
    const times = verified.flatMap(({ cosigned_by }) => cosigned_by.map(({ at }) => at)).sort()
    proved.push(
      `The witnesses that the policy requires saw this state of the log and no contradiction to it, from ${times[0]} on.`,
    )
  }
  if (erased > 0) open.push(`What ${erased} of the acts said: their payload and salt were erased.`)
  if (receipts.some(({ statement }) => statement !== undefined))
    open.push('Statements in the file: verify them as DSSE envelopes, with the key of the evidence log.')
  if (pending) open.push('Acts that had no place in the log yet when the file was made.')
  return { proved, open }
}
