/** Finds what a store holds of decisions apart from the decisions themselves: audit entries, keyed records, links and titles in other decisions, acts. */

import type { DecisionRecord } from '../../../sdk/schema/decision.ts'
import { decisionPages, storedOf } from '../../../sdk/storage/decisions.ts'
import { countDecisions } from '../../../sdk/storage/groups.ts'
import { keyedPages } from '../../../sdk/storage/keyed.ts'
import type { Store, StoredAuditEntry, StoredDecision } from '../../../sdk/storage/store.ts'
import type { StoredAct } from '../../../sdk/storage/thread.ts'
import { linkMethod } from '../ledger/evidence/content.ts'
import { subjectOf } from '../ledger/thread/attested.ts'
import { erasedText, type Found, holders, names, quotes, type Target } from './target.ts'

export interface KeyedChange {
  collection: string
  key: string
  version: number
  expires_ms: number | null
  /** The value that remains; undefined if the record is deleted. */
  left: unknown
}

/** What remains of an act: which one it was, and its entry in the log. */
export type ErasedAct = Pick<StoredAct, 'record_id' | 'kind' | 'commitment'>

/** What remains of a check that led to an erased decision: everything but its subject. */
export interface KeptCheck extends Pick<StoredAuditEntry, 'seq' | 'at' | 'rules'> {
  record_id: string
  allowed: boolean
  verdict: string
}

export interface Copies {
  /** The checks among the lines: an erasure takes what was asked, and leaves the verdict. */
  checks: KeptCheck[]
  /** Audit entries with the part of their detail that remains. */
  lines: { seq: number; detail: Record<string, unknown> }[]
  keyed: KeyedChange[]
  /** Other decisions that hold titles or texts taken from these. */
  others: StoredDecision[]
  /** Acts of the thread that contain any of it. */
  acts: ErasedAct[]
}

export interface Scan {
  store: Store
  targets: readonly Target[]
  /** Limits the search to what was written since: milliseconds since 1970, and the newest change in the feed. */
  since?: { ms: number; seq: number }
  /** Resolves once other calls have had a turn. */
  yieldToEventLoop(): Promise<void>
}

const page = 500
/** Most acts of one decision that are checked. */
const mostActs = 10_000
const actsAtOnce = 50

/**
 * Calls whose audit entries stay as they are, and so do the acts that name them: links of evidence are digests, and an erasure says on
 * which ground and why.
 */
const keptMethods: ReadonlySet<unknown> = new Set([linkMethod, 'cstp.eraseDecision', 'retention'])

/** Members of an audit entry's detail that remain: verdicts, names of rules, states and counts. */
const kept = [
  ...['record_id', 'verdict', 'verdict_digest', 'policy_hash', 'duration_ms', 'violations', 'warnings', 'would_block'],
  ...['approved_rules', 'approval_id', 'approval', 'state', 'dry_run', 'shadow', 'outcome', 'edge_type', 'removed'],
  ...['fields', 'preserve', 'erased', 'redaction_record_id', 'redacted_by'],
]

const detailOf = ({ detail }: StoredAuditEntry): Record<string, unknown> => (detail ?? {}) as Record<string, unknown>
const leftOf = (line: StoredAuditEntry): Record<string, unknown> => {
  const left = Object.fromEntries(Object.entries(detailOf(line)).filter(([name]) => kept.includes(name)))
  return isCheck(line) ? { ...left, subject: erasedText } : left
}

const isCheck = (line: StoredAuditEntry): boolean => line.allowed !== null && evaluationOf(line).length > 0

const checkOf = ({ seq, at, allowed, rules, detail }: StoredAuditEntry): KeptCheck => {
  const { record_id, verdict } = detail as { record_id: string; verdict?: string }
  return { seq, at, record_id, allowed: allowed === true, verdict: verdict ?? (allowed ? 'allow' : 'deny'), rules }
}

/** Whether an audit entry is a check that led to the decision: by its agent, shortly before it was recorded, quoting its text. */
function ledTo({ stored, from_ms, to_ms, ...rest }: Target, line: StoredAuditEntry, at_ms: number): boolean {
  if (stored === null || line.agent !== stored.record.recorded_by || line.ids.length > 0) return false
  const target = { stored, from_ms, to_ms, ...rest }
  return at_ms >= from_ms && at_ms <= to_ms && quotes(target, detailOf(line).input)
}

async function findLines({ store, targets, since, yieldToEventLoop }: Scan): Promise<{
  own: StoredAuditEntry[]
  approvals: StoredAuditEntry[]
}> {
  const own: StoredAuditEntry[] = []
  const approvals: StoredAuditEntry[] = []
  const ids = new Set(targets.map(({ id }) => id))
  const from_ms = since?.ms ?? Math.min(...targets.map((target) => target.from_ms))
  for (let cursor: number | undefined; ; ) {
    const lines = await store.audit.list({
      since_ms: from_ms,
      limit: page,
      ...(cursor !== undefined && { cursor }),
    })
    for (const line of lines) {
      if (keptMethods.has(line.method) || 'redacted_by' in detailOf(line)) continue
      const at_ms = Date.parse(line.at)
      if (line.ids.some((id) => ids.has(id)) || targets.some((target) => ledTo(target, line, at_ms))) own.push(line)
      else if (line.method.startsWith('approval.')) approvals.push(line)
    }
    if (lines.length < page) return { own, approvals }
    cursor = lines.at(-1)!.seq
    await yieldToEventLoop()
  }
}

/** A decision without what it took from these: titles of related ones, and the reasons of links to them. */
export function withoutMentions(record: DecisionRecord, targets: readonly Target[]): DecisionRecord {
  const ids = new Set(targets.map(({ id }) => id))
  return {
    ...record,
    links: record.links.map((link) =>
      ids.has(link.target_id)
        ? { ...link, context: null, ...(link.dismissed && { dismissed: { ...link.dismissed, reason: null } }) }
        : link,
    ),
    related_to: record.related_to.map((one) => (ids.has(one.id) ? { ...one, summary: erasedText } : one)),
  }
}

/** Ids of all decisions, or of those that changed since, a page at a time. */
async function* idsOf({ store, since }: Scan): AsyncGenerator<string[]> {
  if (since === undefined)
    // An import may be older than a decision that it mentions, so all are checked.
    for await (const fields of decisionPages(store.decisions, {}, page)) yield fields.map(({ id }) => id)
  else
    for (let after = since.seq; ; ) {
      const changes = await store.feed.since(after, 0, page)
      yield changes.map(({ id }) => id)
      if (changes.length < page) return
      after = changes.at(-1)!.seq
    }
}

async function findOthers(scan: Scan): Promise<StoredDecision[]> {
  const { store, targets, yieldToEventLoop } = scan
  const found: StoredDecision[] = []
  const own = new Set(targets.map(({ id }) => id))
  for await (const ids of idsOf(scan)) {
    const texts = await store.decisions.get(ids.filter((id) => !own.has(id)))
    found.push(...texts.filter(({ json }) => names({ targets }, json)).map(storedOf))
    await yieldToEventLoop()
  }
  return found.filter(({ record }) => JSON.stringify(withoutMentions(record, targets)) !== JSON.stringify(record))
}

async function findKeyed({ store, yieldToEventLoop }: Scan, found: Found): Promise<KeyedChange[]> {
  const changes: KeyedChange[] = []
  for (const [collection, left] of holders)
    for await (const records of keyedPages(store.keyed, collection)) {
      for (const record of records) {
        const value = left(record, found)
        const { key, version, expires_ms } = record
        if (value !== record.value) changes.push({ collection, key, version, expires_ms, left: value })
      }
      await yieldToEventLoop()
    }
  return changes
}

/** Categories that contain nothing else. */
async function ownCategories({ store, targets }: Scan): Promise<Set<string>> {
  const mine = Map.groupBy(targets, ({ stored }) => stored?.record.category ?? null)
  const found = new Set<string>()
  for (const [category, some] of mine)
    if (category !== null && (await countDecisions(store.decisions, { category })) <= some.length) found.add(category)
  return found
}

const evaluationOf = (line: StoredAuditEntry): string[] => {
  const { record_id } = detailOf(line)
  return typeof record_id === 'string' ? [record_id] : []
}

/** Whether an act names an audit entry that stays, and contains nothing else. */
function staysWithLine(payload: string): boolean {
  const { method, record } = JSON.parse(payload) as { method?: unknown; record?: unknown }
  return record === undefined && keptMethods.has(method)
}

/** Reads these acts, a few at a time, since each may be as long as a record. */
async function* read({ thread }: Pick<Store, 'thread'>, record_ids: readonly string[]): AsyncGenerator<StoredAct> {
  for (let at = 0; at < record_ids.length; at += actsAtOnce)
    yield* await thread.read({ record_ids: record_ids.slice(at, at + actsAtOnce) })
}

/** Finds everything but the decisions themselves. */
export async function findCopies(scan: Scan): Promise<Copies> {
  const { store, targets } = scan
  const { own, approvals } = await findLines(scan)
  const evaluations = new Set([
    ...own.flatMap(evaluationOf),
    ...targets.flatMap(({ stored }) => stored?.record.verdict?.record_id ?? []),
  ])
  const found: Found = { targets, approvals: new Set(), evaluations, categories: await ownCategories(scan) }
  const keyed = await findKeyed(scan, found)
  const others = await findOthers(scan)
  const lines = [...own, ...approvals.filter((line) => found.approvals.has(String(detailOf(line).approval)))]
  const acts = new Set([...evaluations, ...[...found.approvals].flatMap((id) => [`${id}/requested`, `${id}/decided`])])
  // The digests of what keyed records held.
  for (const { collection, key } of keyed)
    for (const { record_id } of await store.thread.ofDecision(subjectOf(collection, key), mostActs)) acts.add(record_id)
  for (const { id } of targets)
    for (const { record_id } of await store.thread.ofDecision(id, mostActs)) acts.add(record_id)
  // Acts of other decisions may name these; they are stored under the other decision's id.
  const beside = new Set([...others.map(({ record }) => record.id), ...own.flatMap(({ ids }) => ids)])
  for (const id of beside)
    for await (const { record_id, payload } of read(
      store,
      (await store.thread.ofDecision(id, mostActs)).map((one) => one.record_id),
    ))
      if (payload !== null && names(found, payload)) acts.add(record_id)
  const known: ErasedAct[] = []
  for await (const { record_id, kind, commitment, payload } of read(store, [...acts]))
    if (payload !== null && !staysWithLine(payload)) known.push({ record_id, kind, commitment })
  return {
    checks: lines.filter(isCheck).map(checkOf),
    lines: lines.map((line) => ({ seq: line.seq, detail: leftOf(line) })),
    keyed,
    others,
    acts: known,
  }
}
