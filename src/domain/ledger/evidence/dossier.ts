/** The dossier of one decision: the record with its receipts, gathered from the stores, and signed as a whole. */

import type { Approval } from '../../../../sdk/schema/approval.ts'
import type { DecisionRecord } from '../../../../sdk/schema/decision.ts'
import type { Dossier } from '../../../../sdk/schema/dossier.ts'
import { dataFormat } from '../../../../sdk/schema/format.ts'
import { parseRecord } from '../../../../sdk/storage/decisions.ts'
import type { Evidence, EvidenceRecord } from '../../../../sdk/storage/evidence.ts'
import { outcomeValue, scoredValue, settlerOf } from '../../../../sdk/storage/fields.ts'
import type { KeyedReader, Store, StoredAuditEntry } from '../../../../sdk/storage/store.ts'
import type { StoredAct } from '../../../../sdk/storage/thread.ts'
import { jsonSha256 } from '../../../core/digest.ts'
import { archivedPolicy } from '../../policy/judge/archive.ts'
import { approvalStepId, evidenceId, useId } from '../../record/act-ids.ts'
import { revisionsOf } from '../../record/decision/revisions.ts'
import type { Signer } from '../engine/note.ts'
import { type Audit, linesNear } from './audit-lines.ts'
import { contentDigest, type LinkDetail, linkMethod, recordDigest } from './content.ts'
import { checkLines, linksOf } from './dossier-checks.ts'
import { claims, signStatement } from './statement.ts'

/** Most events of a dossier; a decision usually has a handful. */
const maxEvents = 200
const pageSize = 500

export interface DossierSources {
  store: Pick<Store, 'keyed' | 'edges' | 'decisions' | 'thread'> & { audit: Audit }
  evidence: Pick<Evidence, 'read' | 'ofPullRequest'>
  signer: Signer
  /** Milliseconds since 1970. */
  now: number
  service_version: string
  /** Whether the caller may read an audit entry. */
  seesLine(line: StoredAuditEntry): boolean
  /** Verifier key of the ledger. */
  thread_key: string
  /** Times of acts on the decision, as in the audit trail: of all calls, such as links of evidence, and of the newest other acts. */
  actedAt(decision_id: string): Promise<string[]>
  /** Acts of the thread that concern the decision, have one of these ids or one of these times, and whether some were left out. */
  acts(
    decision_id: string,
    record_ids: readonly string[],
    lines: readonly StoredAuditEntry[],
  ): Promise<{ acts: StoredAct[]; isCut: boolean }>
  /** Whether the caller may see an act. */
  seesAct(act: StoredAct): boolean
  receipts(acts: readonly StoredAct[]): Promise<Dossier['receipts']>
  /** The approval with this id as methods show it; null if there is none, `withheld` if the caller may not read it. */
  approval(id: string): Promise<Approval | 'withheld' | null>
}

type Relation = Dossier['evidence'][number]['relation']

/** Events linked to the decision, the records of these links, and events of the pull request that it names. */
async function eventsOf(
  { evidence }: Pick<DossierSources, 'evidence'>,
  { project }: DecisionRecord,
  links: readonly StoredAuditEntry[],
): Promise<{ record: EvidenceRecord; relation: Relation }[]> {
  const relations = new Map<number, Relation>()
  const known = new Map<number, EvidenceRecord>()
  if (project?.pr && project.name)
    for (const record of await evidence.ofPullRequest(project.pr, 1, pageSize)) {
      const { repo } = JSON.parse(record.payload) as { repo?: unknown }
      if (String(repo).toLowerCase() !== project.name.toLowerCase()) continue
      relations.set(record.seq, 'pull_request')
      known.set(record.seq, record)
    }
  for (const { detail } of links) {
    const { attested_seq, event_seqs = [] } = (detail ?? {}) as Partial<LinkDetail>
    for (const seq of event_seqs) relations.set(seq, 'linked')
    if (attested_seq !== undefined) relations.set(attested_seq, 'link')
  }
  const found: { record: EvidenceRecord; relation: Relation }[] = []
  for (const [seq, relation] of [...relations].sort(([a], [b]) => a - b)) {
    const record = known.get(seq) ?? (await evidence.read(seq, 1))[0]
    if (record?.seq === seq) found.push({ record, relation })
  }
  return found
}

/** How the outcome counts in calibration; null if it counts in no score. */
function scoreOf(record: DecisionRecord): Dossier['score'] {
  const { confidence_at_record: confidence, outcome } = record
  const settled_by = settlerOf(record)
  const value = scoredValue({ confidence, outcome, settled_by })
  if (value === null || confidence === null || outcome === null || settled_by === null) return null
  return { confidence, outcome, settled_by, value: outcomeValue[outcome]!, brier: (confidence - value) ** 2 }
}

type Named = { record_id?: unknown; approval?: unknown; approval_id?: unknown; used_by?: unknown }
const isText = (value: unknown): value is string => typeof value === 'string'
const namesIn = ({ detail }: StoredAuditEntry): Named => (detail ?? {}) as Named
const approvalIn = (line: StoredAuditEntry): unknown => namesIn(line).approval ?? namesIn(line).approval_id

/** Audit entries that name the decision or its evaluation, and those about approvals in the same requests. */
async function linesOf(audit: Audit, record: DecisionRecord, acted: readonly string[]) {
  const { id, verdict, created_at, links, review_history } = record
  const instants = [
    ...[created_at, ...acted],
    ...review_history.map(({ reviewed_at }) => reviewed_at),
    ...links.map((one) => one.created_at),
  ].map(Date.parse)
  const isOwn = (line: StoredAuditEntry) =>
    line.ids.includes(id) || (verdict !== null && namesIn(line).record_id === verdict.record_id)
  const near = await linesNear(audit, instants, (line) => isOwn(line) || approvalIn(line) !== undefined)
  const requests = new Set(near.filter(isOwn).map(({ agent, request_id }) => `${agent} ${request_id}`))
  return near.filter((line) => isOwn(line) || requests.has(`${line.agent} ${line.request_id}`))
}

/** Audit entries of the requests and answers of these approvals. */
const approvalLines = (audit: Audit, approvals: readonly Approval[]) =>
  linesNear(
    audit,
    approvals
      .flatMap(({ requested_at, decided_at }) => (decided_at === null ? [requested_at] : [requested_at, decided_at]))
      .map(Date.parse),
    (line) => approvals.some(({ id }) => id === approvalIn(line)),
  )

async function policyOf(keyed: KeyedReader, policy_hash: string): Promise<Dossier['policy']> {
  const found = await archivedPolicy({ keyed }, policy_hash)
  if (!found) return null
  const guardrails = found.rules.map((rule) => ({ ...rule }))
  return {
    policy_hash,
    periods: found.periods,
    guardrails,
    circuit_breakers: found.breakers.map((one) => ({ ...one })),
  }
}

/** The signed text, which can't be mistaken for a checkpoint. */
const dossierNote = (sha256: string): string => `cstp dossier\nsha256:${sha256}\n`

/** @param written the record as it was written, which its acts and digests name @throws StorageError `corrupt` if an act can't be proved */
export async function dossierOf(sources: DossierSources, written: DecisionRecord): Promise<Dossier> {
  const record = parseRecord({ json: JSON.stringify(written) })
  const { store, signer } = sources
  const revisions = await revisionsOf(store.keyed, record.id)
  const acted = [...(await sources.actedAt(record.id)), ...revisions.map(({ updated_at }) => updated_at)]
  const own = await linesOf(store.audit, record, acted)
  const links = own.filter(({ method, ids }) => method === linkMethod && ids.includes(record.id))
  const named = [...new Set(own.map(approvalIn))].filter(isText)
  const found = await Promise.all(named.map((id) => sources.approval(id)))
  const approvals = found.filter((one) => one !== null && one !== 'withheld')
  const steps = await approvalLines(store.audit, approvals)
  const lines = [...new Map([...own, ...steps].map((line) => [line.seq, line])).values()]
  const trail = lines.filter(sources.seesLine).sort((a, b) => a.seq - b.seq)
  const events = await eventsOf(sources, record, links)
  const listed = events.slice(0, maxEvents)
  const evaluations = [...lines.map((line) => namesIn(line).record_id), record.verdict?.record_id].filter(isText)
  const users = [...evaluations, ...lines.map((line) => namesIn(line).used_by)]
  const asked = named.flatMap((id) => [
    ...[approvalStepId(id, 'requested'), approvalStepId(id, 'decided')],
    ...users.map((user) => useId(id, String(user))),
  ])
  const proofs = listed.map(({ record: { seq } }) => evidenceId(seq))
  const asking = [...new Set([...evaluations, ...asked, ...proofs])]
  const { acts: every, isCut } = await sources.acts(record.id, asking, lines)
  if (!isCut) checkLines(lines, every)
  const seen = every.filter((act) => act.seq !== null && sources.seesAct(act))
  const inLedger = new Set(seen.map(({ record_id }) => record_id))
  const evidence = listed
    .filter(({ record: { seq } }) => inLedger.has(evidenceId(seq)))
    .map(({ record: event, relation }) => ({ ...event, payload: JSON.parse(event.payload), relation }))
  const unsigned: Omit<Dossier, 'signature'> = {
    dossier_format: dataFormat,
    generated_at: new Date(sources.now).toISOString(),
    service_version: sources.service_version,
    decision: written,
    decision_sha256: recordDigest(written),
    content_sha256: contentDigest(written),
    revisions,
    trail,
    approvals,
    policy: record.verdict && (await policyOf(store.keyed, record.verdict.policy_hash)),
    evidence,
    evidence_total: events.length,
    receipts: await sources.receipts(seen),
    verifier_key: signer.verifier_key,
    thread_key: sources.thread_key,
    links: await linksOf(sources, written),
    score: scoreOf(record),
    statement: { ...signStatement(signer, { record, approvals, evidence }) },
    withheld: [
      ...(trail.length < lines.length ? (['trail'] as const) : []),
      ...(found.includes('withheld') ? (['approvals'] as const) : []),
      ...(isCut || every.some((act) => act.seq !== null && !sources.seesAct(act)) ? (['receipts'] as const) : []),
    ],
    claims: [...claims],
  }
  // Absent optional members are left out, as in the answer.
  const plain = JSON.parse(JSON.stringify(unsigned)) as Omit<Dossier, 'signature'>
  const sha256 = jsonSha256(plain)
  return { ...plain, signature: signer.sign(dossierNote(sha256)) }
}
