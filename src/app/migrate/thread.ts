/** Copies the thread: acts as stored and in order, so that their tree is the same. */
import { createHash } from 'node:crypto'
import type { LedgerHead } from '../../../sdk/storage/ledger.ts'
import { grow, rootOf } from '../../domain/ledger/engine/tree.ts'
import type { Copying, Side } from './sides.ts'

const page = 500
const growth = ({ seq, frontier }: LedgerHead, commitments: readonly string[]) => grow(frontier, seq, commitments)

/** Sequences all acts of a side. @returns the size of its thread */
async function settle({ store }: Side): Promise<number> {
  while ((await store.thread.sequence(growth, page)) > 0) {}
  return (await store.thread.head()).seq
}

/** @throws Error if the target has another thread */
export async function copyThread({ from, to, signal, progress }: Copying): Promise<void> {
  await settle(from)
  const there = await settle(to)
  const [given, own] = [await from.store.thread.hashes(there, 1), await to.store.thread.hashes(there, 1)]
  if (there > 0 && given[0] !== own[0]) throw new Error(`${to.name} has another ledger than ${from.name}`)
  for (let next = 1; ; ) {
    signal.throwIfAborted()
    const acts = await from.store.thread.read({ from: next, limit: page })
    if (acts.length === 0) break
    const erased = acts.filter(({ seq, payload }) => seq! <= there && payload === null)
    await to.store.transaction(async (tx) => {
      // Also erases what the source has erased since an earlier run.
      await tx.erase({ acts: erased.map(({ record_id }) => record_id) })
      await tx.append({ acts: acts.filter(({ seq }) => seq! > there).map(({ seq: _, ...act }) => act) })
    })
    next += acts.length
    progress('acts', next - 1)
  }
  await settle(to)
  const [kept, known] = [await from.store.thread.checkpoints(), await to.store.thread.checkpoints()]
  for (const checkpoint of kept.slice(known.length)) await to.store.thread.saveCheckpoint(checkpoint)
}

/** Counts and hashes of a side's thread. */
export async function threadDigest({ store: { thread } }: Side) {
  const { seq, frontier } = await thread.head()
  const acts = createHash('sha256')
  for (let next = 1; next <= seq; ) {
    const read = await thread.read({ from: next, limit: page })
    if (read.length === 0) break
    for (const act of read) acts.update(`${JSON.stringify(Object.entries(act).sort())}\n`)
    next += read.length
  }
  return {
    acts: seq,
    thread_root: rootOf(frontier),
    acts_sha256: acts.digest('hex'),
    thread_checkpoints_sha256: createHash('sha256')
      .update(JSON.stringify(await thread.checkpoints()))
      .digest('hex'),
  }
}
