/** Checks each decision against the last act about it. */
import { completeRecord } from '../../../../../sdk/schema/complete.ts'
import { decisionPages, readDecisions } from '../../../../../sdk/storage/decisions.ts'
import type { ActKind, StoredAct } from '../../../../../sdk/storage/thread.ts'
import { textOf } from '../../../../core/canonical.ts'
import { stateId } from '../../../record/act-ids.ts'
import { flawAt, flawOf, type ThreadFlaw, type ThreadSources } from './flaw.ts'

export const stateKinds: ReadonlySet<ActKind> = new Set(['decision', 'revision', 'review', 'link'])

interface Said {
  act: StoredAct
  said: Record<string, unknown>
}

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

/** Decisions whose state is in no act: their files or rows were edited by hand. */
export async function* untoldDecisions(
  { decisions, thread }: Pick<ThreadSources, 'decisions' | 'thread'>,
  yieldToEventLoop: () => Promise<void>,
): AsyncGenerator<ThreadFlaw> {
  for await (const page of decisionPages(decisions, {}, 500)) {
    const stored = await readDecisions(
      decisions,
      page.map(({ id }) => id),
    )
    const acts = await thread.read({ record_ids: stored.map(({ record, revision }) => stateId(record.id, revision)) })
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
  }
}
