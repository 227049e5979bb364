/** Checks acts against others: redactions against erased acts, and acts of evidence against the evidence log. */
import type { StoredAct } from '../../../../../sdk/storage/thread.ts'
import { flawAt, flawOf, type ThreadFlaw, type ThreadSources } from './flaw.ts'

type Said = Record<string, unknown>

export interface CountCheck {
  /** Called with each act, newest first. @param said null if the act was erased */
  act(act: StoredAct, said: Said | null): void
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

export const countChecks = (): CountCheck[] => [erasures(), evidenceOrder()]

/** Checks acts of evidence records against the evidence log. */
export async function evidenceFlaws(
  { evidence }: Pick<ThreadSources, 'evidence'>,
  evidenceActs: readonly { act: StoredAct; said: Said }[],
): Promise<ThreadFlaw[]> {
  // Any other payload is a flaw of the act itself.
  const acts = evidenceActs.filter(({ said }) => Number.isSafeInteger(said.seq))
  if (acts.length === 0) return []
  if (evidence === null) return [flawAt(null, 'the thread has records of an evidence log, which is not there')]
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
