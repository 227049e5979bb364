/** Checks decisions: each against the last act about it, and what lists, filters, figures and graphs read of it against its record. */
import { completeRecord } from '../../../../../sdk/schema/complete.ts'
import { type DecisionFields, readDecisions, type StoredDecision } from '../../../../../sdk/storage/decisions.ts'
import { edgeOrder, edgesOf } from '../../../../../sdk/storage/edges.ts'
import { filterFields } from '../../../../../sdk/storage/fields.ts'
import type { Edge } from '../../../../../sdk/storage/store.ts'
import type { ActKind } from '../../../../../sdk/storage/thread.ts'
import { textOf } from '../../../../core/canonical.ts'
import { stateId } from '../../../record/act-ids.ts'
import { flawAt, flawOf, type Said, type ThreadFlaw, type ThreadSources } from './flaw.ts'

export const stateKinds: ReadonlySet<ActKind> = new Set(['decision', 'revision', 'review', 'link'])

/** Checks states of decisions in acts against the stored decisions. */
export async function statesFlaws(
  { decisions }: Pick<ThreadSources, 'decisions'>,
  states: readonly Said[],
): Promise<ThreadFlaw[]> {
  const ids = [...new Set(states.flatMap(({ act }) => act.decision_id ?? []))]
  const known = new Map((await readDecisions(decisions, ids)).map((one) => [one.record.id, one]))
  return states.flatMap(({ act, said }) => {
    // Any other payload is a flaw of the act itself.
    if (typeof said.record !== 'object' || said.record === null) return []
    const revision = Number(said.revision)
    const stored = known.get(String(act.decision_id))
    if (stored === undefined)
      return revision === 1 ? [flawOf(act, 'its decision is not there, and nothing says that it was erased')] : []
    if (stored.revision < revision)
      return [flawOf(act, `its decision is at revision ${stored.revision} only: it was set back`)]
    completeRecord(said.record)
    if (stored.revision > revision || textOf(stored.record) === textOf(said.record)) return []
    return [flawOf(act, 'its decision says something else: it was changed without an act')]
  })
}

const pageSize = 500
/** More edges than a page of decisions can have. */
const maxEdges = 1_000_000
/** A service that runs may write between two reads. */
const maxReads = 4

/** A page of decisions as their records say, and how lists, filters, figures and graphs have them otherwise, by id. */
async function readPage(
  { decisions, edges }: Pick<ThreadSources, 'decisions' | 'edges'>,
  after: DecisionFields | null,
) {
  const rows = await decisions.walk({}, after, pageSize)
  const ids = rows.map(({ id }) => id)
  const stored = await readDecisions(decisions, ids)
  const found = Map.groupBy(
    ids.length === 0 ? [] : await edges.of(ids, { direction: 'outgoing', limit: maxEdges }),
    ({ source_id }) => source_id,
  )
  const records = new Map(stored.map((one) => [one.record.id, one]))
  const different = rows.flatMap((row) => {
    const one = records.get(row.id)
    const names = one === undefined ? ['id'] : differing(row, found.get(row.id) ?? [], one)
    return names.length === 0 ? [] : [`${row.id}: ${names.join(', ')}`]
  })
  return { rows, stored, different }
}

const isSame = (one: unknown, other: unknown): boolean => textOf({ one }) === textOf({ one: other })

function differing(row: DecisionFields, found: readonly Edge[], { record, indexed }: StoredDecision): string[] {
  const own = filterFields(record, indexed)
  const names =
    textOf(row) === textOf(own)
      ? []
      : (Object.keys(own) as (keyof DecisionFields)[]).filter((name) => !isSame(row[name], own[name]))
  const linked = isSame(found.toSorted(edgeOrder), edgesOf(record).toSorted(edgeOrder))
  return linked ? names : [...names, 'links']
}

/** Decisions whose state is in no act, since their files or rows were edited by hand, or that are found by other values than their records have. */
export async function* decisionFlaws(
  sources: Pick<ThreadSources, 'decisions' | 'edges' | 'thread'>,
  yieldToEventLoop: () => Promise<void>,
): AsyncGenerator<ThreadFlaw> {
  for (let after: DecisionFields | null = null; ; ) {
    const { rows, stored, different: first } = await readPage(sources, after)
    let different = first
    for (let reads = 1; different.length > 0 && reads < maxReads; reads++) {
      const again = new Set((await readPage(sources, after)).different)
      different = different.filter((one) => again.has(one))
    }
    for (const one of different)
      yield flawAt(null, `lists, filters, figures or graphs have other values than the record of ${one}`)
    const acts = await sources.thread.read({
      record_ids: stored.map(({ record, revision }) => stateId(record.id, revision)),
    })
    const inActs = new Set(acts.map(({ record_id }) => record_id))
    for (const { record, revision } of stored)
      if (!inActs.has(stateId(record.id, revision)))
        yield {
          ...flawAt(
            null,
            `no act says that the decision ${record.id} is as it is: it was edited or added past the service`,
          ),
          untold: record.id,
        }
    await yieldToEventLoop()
    if (rows.length < pageSize) return
    after = rows.at(-1)!
  }
}
