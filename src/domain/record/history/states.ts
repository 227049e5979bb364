/** States of decisions at an earlier time, read from their acts: the thread keeps every state of a decision in full. */
import { completeRecord } from '../../../../sdk/schema/complete.ts'
import type { DecisionRecord } from '../../../../sdk/schema/decision.ts'
import type { StoredDecision } from '../../../../sdk/storage/store.ts'
import type { StoredAct, ThreadReads } from '../../../../sdk/storage/thread.ts'
import { stateId } from '../act-ids.ts'

/** A decision at an earlier time. */
export interface PastState {
  stored: StoredDecision
  /** False if the state was erased or is in no act: `stored` is then the next one that is kept. */
  isKnown: boolean
}

/** The search for the last state up to a time, between one that is not later and one that is. */
interface Search {
  now: StoredDecision
  /** Revision of a state up to the time; 0 if none is found yet. */
  low: number
  /** The act of that state. */
  act: StoredAct | null
  /** Revision of a later state. */
  high: number
  step: number
}

function acting(act: StoredAct): DecisionRecord | null {
  if (act.payload === null) return null
  const { record } = JSON.parse(act.payload) as { record: DecisionRecord }
  completeRecord(record)
  return record
}

/** The keys of a payload are sorted; a record has those of today in today's order. */
function ordered(record: DecisionRecord, now: DecisionRecord): DecisionRecord {
  const keys = [...Object.keys(now), ...Object.keys(record)].filter((key) => Object.hasOwn(record, key))
  return Object.fromEntries(keys.map((key) => [key, record[key as keyof DecisionRecord]])) as DecisionRecord
}

/** The next revision to look at. Most decisions changed once since, so the search starts at the newest. */
const probe = ({ low, high, step }: Search): number => (low > 0 ? (low + high) >> 1 : Math.max(1, high - step))

/**
 * The states of decisions that changed after a time, in the same order.
 * @param decisions recorded by then, as they are now
 */
export async function statesAsOf(
  thread: Pick<ThreadReads, 'read'>,
  decisions: readonly StoredDecision[],
  at_ms: number,
): Promise<PastState[]> {
  const searches = decisions.map((now): Search => ({ now, low: 0, act: null, high: now.revision, step: 1 }))
  const isOpen = ({ low, high }: Search) => high - low > 1
  for (let open = searches.filter(isOpen); open.length > 0; open = open.filter(isOpen)) {
    const acts = await actsOf(
      thread,
      open.map((one) => stateId(one.now.record.id, probe(one))),
    )
    for (const one of open) {
      const revision = probe(one)
      const act = acts.get(stateId(one.now.record.id, revision)) ?? null
      if (act !== null && Date.parse(acting(act)?.updated_at ?? act.at) <= at_ms) {
        one.low = revision
        one.act = act
      } else one.high = revision
      one.step *= 2
    }
  }
  return Promise.all(searches.map((one) => found(thread, one)))
}

async function actsOf(
  thread: Pick<ThreadReads, 'read'>,
  record_ids: readonly string[],
): Promise<Map<string, StoredAct>> {
  return new Map((await thread.read({ record_ids })).map((act) => [act.record_id, act]))
}

async function found(thread: Pick<ThreadReads, 'read'>, { now, low, act }: Search): Promise<PastState> {
  const record = act && acting(act)
  if (record) return { stored: { ...now, revision: low, record: ordered(record, now.record) }, isKnown: true }
  for (let revision = low + 1; revision < now.revision; revision++) {
    const [next] = await thread.read({ record_ids: [stateId(now.record.id, revision)] })
    const kept = next && acting(next)
    if (kept) return { stored: { ...now, revision, record: ordered(kept, now.record) }, isKnown: false }
  }
  return { stored: now, isKnown: false }
}
