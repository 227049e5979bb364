/** Compares attested keyed records with the newest acts about them. */
import { keyedPages } from '../../../../../sdk/storage/keyed.ts'
import type { StoredAct, ThreadReads } from '../../../../../sdk/storage/thread.ts'
import { attestedCollections, difference, mustExist, nameOf, subjectOf } from '../attested.ts'
import { isUnattested } from '../threaded.ts'
import { flawAt, flawOf, type Said, type ThreadFlaw, type ThreadSources } from './flaw.ts'

/** Checks each attested keyed record against the newest act about it. */
export async function* keyedFlaws(
  { keyed, thread }: Pick<ThreadSources, 'keyed' | 'thread'>,
  yieldToEventLoop: () => Promise<void>,
): AsyncGenerator<ThreadFlaw> {
  if (await isUnattested({ keyed, thread })) return
  for (const collection of attestedCollections)
    for await (const page of keyedPages(keyed, collection)) {
      const acts = await newestActs(
        thread,
        page.map(({ key }) => subjectOf(collection, key)),
      )
      for (const record of page) {
        const act = acts.get(subjectOf(collection, record.key))
        const what = difference({ ...record, collection }, act)
        if (what === null) continue
        const flaw = `${nameOf(collection, record.key)} ${what}`
        yield act === undefined ? flawAt(null, flaw) : flawOf(act, flaw)
      }
      await yieldToEventLoop()
    }
}

const newestActs = async (thread: ThreadReads, subjects: readonly string[]): Promise<Map<string | null, StoredAct>> =>
  new Map((await thread.newest([...new Set(subjects)])).map((act) => [act.decision_id, act]))

/** Finds attested keyed records that are gone although the newest act about them says that they are there. */
export async function removedFlaws(
  { keyed, thread }: Pick<ThreadSources, 'keyed' | 'thread'>,
  states: readonly Said[],
  now: number,
): Promise<ThreadFlaw[]> {
  if (states.length === 0) return []
  const newest = await newestActs(
    thread,
    states.map(({ act }) => String(act.decision_id)),
  )
  const flaws: ThreadFlaw[] = []
  for (const { act, said } of states) {
    if (newest.get(act.decision_id)?.record_id !== act.record_id || !mustExist(act, now)) continue
    const [collection, key] = [String(said.collection), String(said.key)]
    if ((await keyed.get(collection, [key])).length === 0)
      flaws.push(flawOf(act, `${nameOf(collection, key)} is not there: it was removed without the service`))
  }
  return flaws
}
