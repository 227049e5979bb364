/** Checks at start: whether the thread still has its signed entries, its last acts, and the evidence that it names. */
import { isStorageError } from '../../../../../sdk/storage/errors.ts'
import { evidenceCursor } from '../../../record/act-ids.ts'
import { type Checkpoint, parseCheckpoint } from '../../engine/checkpoints.ts'
import { parseNote } from '../../engine/note.ts'
import { logTree } from '../../engine/proof.ts'
import { rootOf } from '../../engine/tree.ts'
import type { ThreadSources } from './flaw.ts'
import { actFlaw, saidBy } from './flaw.ts'

/** Number of acts that are hashed. */
const lastActs = 64

/** A contradiction, and which of the two logs lacks something. */
export interface StartFlaw {
  log: 'thread' | 'evidence'
  what: string
}

type StartSources = Pick<ThreadSources, 'thread' | 'keyed'> & { evidence: NonNullable<ThreadSources['evidence']> }

async function threadFlaw({ thread }: StartSources, mark: Checkpoint | null): Promise<string | null> {
  // Read before the head: another process may append and sign in the meantime.
  const [last] = await thread.checkpoints(1)
  const head = await thread.head()
  const signed = [mark, last ? parseCheckpoint(parseNote(last.note).text) : null].filter((one) => one !== null)
  const longest = Math.max(0, ...signed.map(({ size }) => size))
  if (longest > head.seq)
    return `the ledger has ${head.seq} entries, and had ${longest}: it was deleted, or is an older copy`
  const tree = logTree(thread)
  if ((await tree.root(head.seq)) !== rootOf(head.frontier)) return 'the tree of the ledger is not that of its entries'
  for (const { size, root_hash } of signed)
    if ((await tree.root(size)) !== root_hash)
      return `the first ${size} entries of the ledger are not those that it had`
  for (const act of await thread.read({ from: Math.max(1, head.seq - lastActs + 1), limit: lastActs })) {
    const flaw = actFlaw(act, saidBy(act))
    if (flaw) return flaw.what
  }
  return null
}

/** Checks the last record of the evidence log that the thread has an act of. */
async function evidenceFlaw({ thread, keyed, evidence }: StartSources): Promise<string | null> {
  const [found] = await keyed.get(evidenceCursor.collection, [evidenceCursor.key])
  const known = Number(found?.value ?? 0)
  if (known === 0) return null
  const { seq } = await evidence.head()
  if (seq < known)
    return `the evidence log has ${seq} records, and the ledger knows ${known}: it was deleted, or is an older copy`
  const [[hash], [act]] = await Promise.all([
    evidence.hashes(known, 1),
    thread.read({ record_ids: [`evidence/${known}`] }),
  ])
  return act && hash === saidBy(act)?.hash
    ? null
    : `record ${known} of the evidence log is not the one that the ledger has`
}

/** @param mark the latest checkpoint of the thread that is stored outside of it, read before this call; null if there is none */
export async function startFlaw(sources: StartSources, mark: Checkpoint | null): Promise<StartFlaw | null> {
  try {
    const thread = await threadFlaw(sources, mark)
    if (thread) return { log: 'thread', what: thread }
  } catch (error) {
    if (!isStorageError(error, 'corrupt')) throw error
    return { log: 'thread', what: error.message }
  }
  const evidence = await evidenceFlaw(sources)
  return evidence === null ? null : { log: 'evidence', what: evidence }
}
