/** Evidence that a rule requires: observed records of the action's project and its pull request or commit, never a field of the action. */
import type { EvidenceRequirement } from '../../../../sdk/schema/guardrail.ts'
import type { Evidence, EvidenceRecord } from '../../../../sdk/storage/evidence.ts'
import { durationMs } from '../../../core/time.ts'
import { standing } from '../../record/decision/overruled.ts'
import { type Action, compileField, projectOf } from '../rules/action.ts'
import type { EvidenceFound } from '../rules/history.ts'
import { isInsider, latestReviews, loginOf, source as webhook } from './reviews.ts'

/** An observed record with its payload, or an inferred one that stands. */
export interface Observed extends Pick<EvidenceRecord, 'seq' | 'ts' | 'source' | 'event_type' | 'evidence_class'> {
  payload: Readonly<Record<string, unknown>>
}

export type EvidenceReader = Pick<Evidence, 'ofPullRequest' | 'ofCommit'>

/** A pull request by its number, or a commit by its hash. */
type Target = { pr: number } | { commit: string }

/** Fields that name the pull request or the commit if the requirement does not say which. */
const prFields = ['pr', 'context.pr'].map(compileField)
const ownFields = [...prFields, ...['context.pr_number', 'context.commit', 'context.sha'].map(compileField)]
const named = new WeakMap<EvidenceRequirement, typeof ownFields>()

function fieldsOf(requirement: EvidenceRequirement): typeof ownFields {
  if (requirement.for === undefined) return ownFields
  // The action has its own field for the pull request, which is used if the context has none.
  const isPr = requirement.for === 'pr' || requirement.for === 'context.pr'
  const known = named.get(requirement) ?? [compileField(requirement.for), ...(isPr ? prFields : [])]
  named.set(requirement, known)
  return known
}

function targetOf(value: unknown): Target | null {
  const text = String(value)
  if (typeof value === 'number' || typeof value === 'string') {
    if (/^#?[1-9]\d{0,14}$/.test(text)) return { pr: Number(text.replace('#', '')) }
    if (/^[0-9a-f]{40}(?:[0-9a-f]{24})?$/i.test(text)) return { commit: text.toLowerCase() }
  }
  return null
}

const pageSize = 500
/** Most records of one pull request or commit that are read; real ones have fewer. */
const maxRecords = 5_000

type Page = (seq: number) => Promise<EvidenceRecord[]>

async function observed(page: Page, project: string): Promise<Observed[]> {
  const read: EvidenceRecord[] = []
  for (let seq = 1; ; ) {
    const records = await page(seq)
    read.push(...records)
    if (records.length < pageSize) break
    if (read.length >= maxRecords) throw new Error(`more than ${maxRecords} records of evidence`)
    seq = records.at(-1)!.seq + 1
  }
  return standing(read)
    .map(({ payload, ...record }) => ({ ...record, payload: JSON.parse(payload) as Observed['payload'] }))
    .filter(({ payload }) => loginOf(payload.repo) === project)
}

/** What the evidence chain knows about a pull request or commit of a project. */
export interface Known {
  records: Observed[]
  /** The head and the merge commit: evidence of other commits is outdated. Empty if no record names them. */
  heads: ReadonlySet<unknown>
  /** Author of the pull request, in lower case. */
  author: string | null
}

/** Events whose `sha` is the head of the pull request at that time. */
const stateEvents = ['pr_opened', 'pr_commit', 'pr_closed', 'pr_merged']

function headsOf(records: readonly Observed[], commit: string | null): Set<unknown> {
  if (commit !== null) {
    const merged = records.filter(({ payload }) => payload.merge_commit_sha === commit)
    return new Set([commit, ...merged.flatMap(({ payload }) => (payload.sha === undefined ? [] : [payload.sha]))])
  }
  const states = records.filter(({ event_type, payload }) => stateEvents.includes(event_type) && payload.sha)
  const last = (list: readonly Observed[]) =>
    list.reduce<Observed | null>((best, one) => (best && Date.parse(best.ts) > Date.parse(one.ts) ? best : one), null)
  const head = last(states.filter(({ event_type }) => event_type === 'pr_merged')) ?? last(states)
  if (head === null) return new Set()
  const { sha, merge_commit_sha } = head.payload
  return new Set(merge_commit_sha === undefined ? [sha] : [sha, merge_commit_sha])
}

/** @param project in lower case */
export async function knownOf(evidence: EvidenceReader, project: string, target: Target): Promise<Known> {
  const ofPull = (number: number) => observed((seq) => evidence.ofPullRequest(number, seq, pageSize), project)
  let records: Observed[]
  if ('pr' in target) records = await ofPull(target.pr)
  else {
    const own = await observed((seq) => evidence.ofCommit(target.commit, seq, pageSize), project)
    const numbers = new Set(
      own.flatMap(({ payload }) => (Number.isSafeInteger(payload.pr_number) ? [payload.pr_number as number] : [])),
    )
    const all = [own, ...(await Promise.all([...numbers].map(ofPull)))].flat()
    records = [...new Map(all.map((record) => [record.seq, record])).values()].sort((a, b) => a.seq - b.seq)
  }
  const author = records.map(({ payload }) => loginOf(payload.author)).findLast((one) => one !== null) ?? null
  return { records, heads: headsOf(records, 'commit' in target ? target.commit : null), author }
}

/** How far clocks of other systems may be ahead. */
const aheadMs = 600_000

/** A record that could satisfy the requirement, and why it does not; null if it does. */
interface Candidate {
  seq: number
  why: string | null
}

/** The reasons that apply to any kind of record. */
function whyNot(
  { by, not_by, within }: EvidenceRequirement,
  { author }: Known,
  now_ms: number,
  { ts, human, actor }: { ts: string; human: unknown; actor: string | null },
): string | null {
  if (by === 'human' && human !== true) return 'no person is known to have caused it'
  if (by === 'bot' && human !== false) return 'no program is known to have caused it'
  if (not_by === 'author') {
    if (author === null || actor === null) return 'it is not known to be by somebody else than the author'
    if (author === actor) return 'it is by the author'
  }
  if (within === undefined) return null
  const age_ms = now_ms - Date.parse(ts)
  return age_ms <= durationMs(within) && age_ms >= -aheadMs ? null : `it is not of the last ${within}`
}

/** Approvals in force: neither dismissed nor followed by another opinion of the same reviewer. */
function approvalsOf(requirement: EvidenceRequirement, known: Known, now_ms: number): Candidate[] {
  const { records, heads, author } = known
  const bySeq = new Map(records.map((record) => [record.seq, record]))
  const why = (seq: number): string | null => {
    const { payload, source, ts } = bySeq.get(seq)!
    const { author_association: association, sha: head, reviewer, actor_is_human: human } = payload
    const isGitHub = source === webhook
    // A connector that does not say which commit was reviewed, or who the reviewer is, vouches for both.
    const sha = payload.reviewed_sha ?? (isGitHub ? null : head)
    const isCurrent = heads.size === 0 ? head === undefined || sha === head : heads.has(sha)
    if (sha !== undefined && !isCurrent) return 'it is of another commit than the head'
    if ((association !== undefined || isGitHub) && !isInsider(association))
      return 'it is not by an owner, member or collaborator'
    return whyNot(requirement, known, now_ms, { ts, human, actor: loginOf(reviewer) })
  }
  const reviews = records.map(({ event_type, payload, ...record }) => {
    const stated = { state: 'approved', review_id: record.seq, ...payload }
    return { ...record, event_type, payload: event_type === 'pr_review_approved' ? stated : payload }
  })
  return latestReviews(reviews, { author }).map(({ seq }) => ({ seq, why: why(seq) }))
}

/** Identifies a check: only the latest result of each check counts. */
const checkOf = ({ source, payload: { check, name, app } }: Observed): string =>
  JSON.stringify([source, check, name, app])
/** Conclusions that contradict no other conclusion. */
export const neutral: readonly unknown[] = ['neutral', 'skipped']

function recordsOf(requirement: EvidenceRequirement, known: Known, now_ms: number): Candidate[] {
  const { evidence, conclusion, check, app } = requirement
  // What was inferred satisfies nothing; that a merge was reverted counts even so.
  let records = known.records.filter(
    ({ event_type, evidence_class }) => event_type === evidence && evidence_class === 'observed',
  )
  if (!stateEvents.includes(evidence) && known.heads.size > 0)
    records = records.filter(({ payload: { sha } }) => sha === undefined || known.heads.has(sha))
  if (conclusion !== undefined) {
    const latest = new Map<string, Observed>()
    for (const record of records) {
      const before = latest.get(checkOf(record))
      if (!before || Date.parse(before.ts) <= Date.parse(record.ts)) latest.set(checkOf(record), record)
    }
    records = [...latest.values()]
  }
  const against = records.find(
    ({ payload }) =>
      conclusion !== undefined && payload.conclusion !== conclusion && !neutral.includes(payload.conclusion),
  )
  if (against) return [{ seq: against.seq, why: `its conclusion is ${String(against.payload.conclusion)}` }]
  const reverted = evidence === 'pr_merged' && known.records.some(({ event_type }) => event_type === 'pr_reverted')
  return (
    records
      .filter(({ payload }) => conclusion === undefined || payload.conclusion === conclusion)
      // Anybody who may report checks can report a green one: the rule says whose counts.
      .filter(({ payload }) => check === undefined || payload.name === check)
      .filter(({ payload }) => app === undefined || payload.app === app)
      .map((record) => {
        const { reviewer, sender, actor_is_human: human } = record.payload
        const by = { ts: record.ts, human, actor: loginOf(reviewer ?? sender) }
        return { seq: record.seq, why: reverted ? 'it was reverted' : whyNot(requirement, known, now_ms, by) }
      })
  )
}

const described = ({ evidence, by, not_by, within, conclusion, check, app }: EvidenceRequirement): string =>
  [
    conclusion === undefined ? evidence : `${evidence} with conclusion ${conclusion}`,
    ...(check === undefined ? [] : [`of the check ${check}`]),
    ...(app === undefined ? [] : [`of the app ${app}`]),
    ...(by === undefined ? [] : [by === 'human' ? 'by a person' : 'by a program']),
    ...(not_by === undefined ? [] : ['not by the author']),
    ...(within === undefined ? [] : [`within ${within}`]),
  ].join(', ')

/** Most records that a verdict names. */
const maxNamed = 20

/**
 * Finds the evidence that a requirement asks for.
 * @param load returns what the chain knows about a target; several requirements of one evaluation may share a target
 */
export async function findEvidence(
  requirement: EvidenceRequirement,
  action: Action,
  now_ms: number,
  load: (project: string, target: Target) => Promise<Known>,
): Promise<EvidenceFound> {
  const wanted = described(requirement)
  const project = projectOf(action)
  if (project === null) return { missing: `${wanted} (the action names no project)` }
  const value = fieldsOf(requirement)
    .map((field) => field.value(action))
    .find((one) => one !== undefined)
  const target = value === undefined ? null : targetOf(value)
  if (target === null) {
    const field = requirement.for ?? 'context.pr or context.commit'
    return { missing: `${wanted} (${field} names no pull request or commit)` }
  }
  const known = await load(project.toLowerCase(), target)
  const isApproval = requirement.evidence === 'pr_review_approved'
  const candidates = (isApproval ? approvalsOf : recordsOf)(requirement, known, now_ms)
  const seqs = candidates.filter(({ why }) => why === null).map(({ seq }) => seq)
  if (seqs.length > 0) return { seqs: seqs.sort((a, b) => a - b).slice(0, maxNamed) }
  const place = 'pr' in target ? `${project}#${target.pr}` : `${project}@${target.commit.slice(0, 12)}`
  const last = candidates.at(-1)
  return { missing: `${wanted}, of ${place} (${last ? `record ${last.seq}: ${last.why}` : 'none was observed'})` }
}
