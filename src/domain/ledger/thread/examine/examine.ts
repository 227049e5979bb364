/**
 * Examines the thread and what it is about: all acts against their commitments, these against the tree and the signed checkpoints, and
 * decisions, the audit trail, evidence, sessions, rules and attested keyed records against the acts. Reads in pages, and changes nothing.
 * @see `docs/design/ledger.md` for what each kind of tampering looks like, and what nothing here can see
 */

import { isStorageError } from '../../../../../sdk/storage/errors.ts'
import type { LedgerReader } from '../../../../../sdk/storage/ledger.ts'
import type { StoredAct, ThreadReads } from '../../../../../sdk/storage/thread.ts'
import { archivedPolicy, compileArchived } from '../../../policy/judge/archive.ts'
import { type PieceReader, walkLog } from '../../engine/walk.ts'
import { decisionFlaws, stateKinds, statesFlaws } from './decisions.ts'
import { actFlaw, flawAt, flawOf, saidBy, type ThreadFlaw, type ThreadSources } from './flaw.ts'
import { keyedFlaws, removedFlaws } from './keyed.ts'
import { trailCheck } from './trail.ts'

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
      if (!places.has(seq)) flaws.push(flawAt(seq - 1, `entry ${seq - 1} of the ledger is missing`))
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
      trail.act(act, said)
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
    flaws.push(
      ...(await removedFlaws(
        sources,
        whole.filter(({ act }) => act.kind === 'state'),
        now,
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
  yield* decisionFlaws(sources, yieldToEventLoop)
  yield* keyedFlaws(sources, yieldToEventLoop)
}

// Checks acts against others: redactions against erased acts, and acts of evidence against the evidence log.

type Fields = Record<string, unknown>

interface CountCheck {
  /** Called with each act, newest first. @param said null if the act was erased */
  act(act: StoredAct, said: Fields | null): void
  end(): ThreadFlaw[]
}

/** Each erased act must be named by a later redaction. */
function erasures(): CountCheck {
  const redacted = new Set<string>()
  const flaws: ThreadFlaw[] = []
  return {
    act(act, said) {
      if (act.kind === 'redaction' && Array.isArray(said?.record_ids))
        for (const record_id of said.record_ids) redacted.add(String(record_id))
      if (act.payload === null && act.salt === null && !redacted.has(act.record_id))
        flaws.push(flawOf(act, 'its payload and salt are gone, and no redaction names it'))
    },
    end: () => flaws,
  }
}

/** Records of the evidence log must be acts in their order, each once. */
function evidenceOrder(): CountCheck {
  let before: StoredAct | null = null
  let next = 0
  const flaws: ThreadFlaw[] = []
  return {
    act(act, said) {
      if (act.kind !== 'evidence' || said === null) return
      const seq = Number(said.seq)
      if (before !== null && seq !== next - 1)
        flaws.push(flawOf(act, `it is of record ${seq} of the evidence log, and the act after it of record ${next}`))
      before = act
      next = seq
    },
    end() {
      if (before !== null && next !== 1)
        flaws.push(flawOf(before, `it is of record ${next} of the evidence log, and none of the first`))
      return flaws
    },
  }
}

const countChecks = (): CountCheck[] => [erasures(), evidenceOrder()]

/** Checks acts of evidence records against the evidence log. */
async function evidenceFlaws(
  { evidence }: Pick<ThreadSources, 'evidence'>,
  evidenceActs: readonly { act: StoredAct; said: Fields }[],
): Promise<ThreadFlaw[]> {
  // Any other payload is a flaw of the act itself.
  const acts = evidenceActs.filter(({ said }) => Number.isSafeInteger(said.seq))
  if (acts.length === 0) return []
  if (evidence === null) return [flawAt(null, 'the ledger has records of an evidence log, which is not there')]
  const seqs = acts.map(({ said }) => Number(said.seq))
  const [from, to] = [Math.min(...seqs), Math.max(...seqs)]
  const hashes = await evidence.hashes(from, to - from + 1)
  return acts.flatMap(({ act, said }) => {
    const hash = hashes[Number(said.seq) - from]
    if (hash === said.hash) return []
    const what = hash === undefined ? 'is not there: the log was rolled back' : 'is another one'
    return [flawOf(act, `record ${said.seq} of the evidence log ${what}`)]
  })
}

// Checks stored rules and other keyed records against the acts about them.

/** Checks rules that came into force against their archive. */
async function policyFlaw(
  { keyed }: Pick<ThreadSources, 'keyed'>,
  act: StoredAct,
  { policy_hash }: Record<string, unknown>,
): Promise<ThreadFlaw | null> {
  const hash = String(policy_hash)
  const found = await archivedPolicy({ keyed }, hash)
  if (found === null) return flawOf(act, 'its rules are not in the archive')
  const set = compileArchived({ policy_hash: hash, guardrails: found.rules, circuit_breakers: found.breakers })
  return set === 'altered' ? flawOf(act, 'its rules in the archive were changed') : null
}

// Checks that the tree of the thread is that of its entries, and that it still contains each signed checkpoint.

/** The acts as entries of a walk: each is its commitment. Acts are compared with their commitments elsewhere. */
export const threadEntries = (thread: LedgerReader): PieceReader => ({
  isChained: false,
  nodes: (level, index, limit) => thread.nodes(level, index, limit),
  async page(seq, limit) {
    const hashes = await thread.hashes(seq, limit)
    const odd = hashes.findIndex((hash) => !/^[0-9a-f]{64}$/.test(hash))
    if (odd === -1) return { hashes, first_prev: null, flaw: null }
    const flaw = { seq: seq + odd, reason: `entry ${seq + odd - 1} is not a commitment` }
    return { hashes: hashes.slice(0, odd), first_prev: null, flaw }
  },
})

/** Walks all entries. @returns the first flaw; null if there is none */
async function treeFlaw(thread: LedgerReader, yieldToEventLoop: () => Promise<void>): Promise<ThreadFlaw | null> {
  try {
    const { flaw } = await walkLog({ log: thread, reader: threadEntries(thread), yieldToEventLoop })
    return flaw && flawAt(flaw.seq === null ? null : flaw.seq - 1, `the ledger: ${flaw.reason}`)
  } catch (error) {
    if (!isStorageError(error, 'corrupt')) throw error
    return flawAt(null, `the ledger: ${error.message}`)
  }
}
