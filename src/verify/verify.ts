/** Verifies any file that the service gives out as a proof: a bundle, a dossier, receipts, or an exported log. */
import { type BundleReport, type BundleWanted, verifyBundle } from './bundle.ts'
import { type DossierReport, verifyDossier } from './dossier.ts'
import { type LogReport, type ReadLogFile, verifyLog } from './log.ts'
import type { Policy } from './policy.ts'
import { type ReceiptReport, verifyReceipts } from './receipt.ts'

export type ProofKind = 'bundle' | 'dossier' | 'receipts' | 'log'

/** What to check against. Receipts and logs are checked against a policy, bundles and dossiers against keys. */
export interface Trust extends BundleWanted {
  policy: Policy
}

/** The file of a proof, or the folder of an exported log. */
export type ProofFile =
  | { kind: 'bundle'; chunks: AsyncIterable<Uint8Array> }
  | { kind: 'dossier' | 'receipts'; text: string }
  | { kind: 'log'; read: ReadLogFile }

export type AnyReport = BundleReport | DossierReport | ReceiptReport | LogReport

/** Possible names of the first member of a file, whatever the order of its members. */
const firstMembers = {
  dossier: ['dossier_format', 'approvals'],
  receipts: [
    'receipt_format',
    'receipts',
    'pending',
    'record_id',
    'kind',
    'index',
    'payload',
    'salt',
    'proof',
    'commitment',
  ].concat(['statement', 'decision_id', 'payload_json']),
} as const

/** The kind of a file by its beginning. */
export function kindOf(beginning: string): Exclude<ProofKind, 'log'> {
  const [, member = ''] = /^\s*\{\s*"([a-z_]+)"/.exec(beginning) ?? []
  const kinds = ['dossier', 'receipts'] as const
  return kinds.find((kind) => (firstMembers[kind] as readonly string[]).includes(member)) ?? 'bundle'
}

/** @throws errors of reading the file; problems of its content are in the report */
export async function verifyProof(file: ProofFile, trust: Trust): Promise<AnyReport> {
  if (file.kind === 'bundle') return verifyBundle(file.chunks, trust)
  if (file.kind === 'log') return verifyLog(file.read, trust.policy)
  return file.kind === 'dossier' ? verifyDossier(file.text, trust) : verifyReceipts(file.text, trust.policy)
}
