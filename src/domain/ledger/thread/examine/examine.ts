/**
 * Examines the thread and what it is about: all acts against their commitments, these against the tree and the signed checkpoints, and
 * decisions, the audit trail, evidence, sessions, rules and approvals against the acts. Reads in pages, and changes nothing.
 * @see `docs/design/ledger.md` for what each kind of tampering looks like, and what nothing here can see
 */
import type { StoredAct, ThreadReads } from '../../../../../sdk/storage/thread.ts'
import { actFlaw, saidBy } from './act.ts'
import { countChecks, evidenceFlaws } from './counts.ts'
import { stateKinds, statesFlaws, untoldDecisions } from './decisions.ts'
import { flawAt, type ThreadFlaw, type ThreadSources } from './flaw.ts'
import { approvalFlaws, policyFlaw } from './kept.ts'
import { trailCheck } from './trail.ts'
import { treeFlaw } from './tree.ts'

export type { ThreadFlaw, ThreadSources } from './flaw.ts'

const page = 500
/** Most waiting acts that are read. There are few, unless a server died under load. */
const maxWaiting = 100_000

/** All acts, newest first. Missing entries are added to `flaws`. */
async function* actsBackwards(thread: ThreadReads, flaws: ThreadFlaw[]): AsyncGenerator<StoredAct[]> {
  const waiting = await thread.read({ from: null, limit: maxWaiting })
  const seen = new Set(waiting.map(({ record_id }) => record_id))
  yield waiting.toReversed()
  const { seq: end } = await thread.head().catch(() => ({ seq: 0 }))
  for (let to = end; to > 0; to -= page) {
    const from = Math.max(1, to - page + 1)
    const found = (await thread.read({ from: from, limit: to - from + 1 })).filter(({ seq }) => seq! <= to)
    const places = new Set(found.map(({ seq }) => seq))
    for (let seq = from; seq <= to; seq++)
      if (!places.has(seq)) flaws.push(flawAt(seq - 1, `entry ${seq - 1} of the thread is missing`))
    // Acts that waited at first may have their places by now.
    yield found.filter(({ record_id }) => !seen.has(record_id)).toReversed()
  }
}

/** @param now milliseconds since 1970 */
export async function* examineThread(
  sources: ThreadSources,
  { yieldToEventLoop, now }: { yieldToEventLoop(): Promise<void>; now: number },
): AsyncGenerator<ThreadFlaw> {
  const { thread } = sources
  const flaws: ThreadFlaw[] = []
  const trail = await trailCheck(sources.audit, now)
  const counts = countChecks()
  for await (const acts of actsBackwards(thread, flaws)) {
    const read = acts.map((act) => ({ act, said: saidBy(act) }))
    for (const { act, said } of read) {
      const flaw = actFlaw(act, said)
      if (flaw) flaws.push(flaw)
      for (const check of counts) check.act(act, said)
      if (said) trail.act(act, said)
      if (said && act.kind === 'policy') {
        const changed = await policyFlaw(sources, act, said)
        if (changed) flaws.push(changed)
      }
    }
    const whole = read.flatMap(({ act, said }) => (said ? [{ act, said }] : []))
    flaws.push(
      ...(await statesFlaws(
        sources,
        whole.filter(({ act }) => stateKinds.has(act.kind)),
      )),
    )
    flaws.push(
      ...(await evidenceFlaws(
        sources,
        whole.filter(({ act }) => act.kind === 'evidence'),
      )),
    )
    yield* flaws.splice(0)
    await trail.follow()
    await yieldToEventLoop()
  }
  for (const check of counts) yield* check.end()
  yield* await trail.end()
  const tree = await treeFlaw(thread, yieldToEventLoop)
  if (tree) yield tree
  yield* untoldDecisions(sources, yieldToEventLoop)
  yield* approvalFlaws(sources, yieldToEventLoop)
}
