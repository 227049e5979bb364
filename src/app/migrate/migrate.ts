/** Migrates everything from one place to another: resumable, and verified by counts and hashes of both sides. */

import { countDecisions } from '../../../sdk/storage/groups.ts'
import { sha256Hex } from '../../core/digest.ts'
import { copyAudit, copyDecisions, copyEvidence, copyStates, copyVectors, type Digest, digestOf } from './copy.ts'
import { type Copying, openSide, type Side } from './sides.ts'
import { copyThread } from './thread.ts'

/** Keyed record in the target that identifies its source. */
const marker = { collection: 'migration', key: 'source' }
interface Marker {
  digest: string
  done: boolean
}

/** Marks an empty target with its source. @throws Error if the target has other content */
async function claim({ from, to }: Copying): Promise<void> {
  const digest = sha256Hex(from.name)
  const [stored] = await to.store.keyed.get(marker.collection, [marker.key])
  const kept = stored?.value as Marker | undefined
  if (kept?.digest === digest && !kept.done) return
  const used =
    (await countDecisions(to.store.decisions, {})) +
    (await to.evidence.head()).seq +
    (await to.store.audit.list({ limit: 1 })).length
  if (used > 0) throw new Error(`${to.name} is not empty, and has no interrupted migration of ${from.name}`)
  await mark(to, digest, false)
}

const mark = (to: Side, digest: string, done: boolean): Promise<void> =>
  to.store.transaction(({ keyed }) => keyed.put(marker.collection, marker.key, { digest, done } satisfies Marker))

export interface MigrateOptions {
  /** Data directory, or `postgres://…`. */
  from: string
  to: string
  now_ms: number
  signal: AbortSignal
  progress: Copying['progress']
}

/** @throws Error that names the obstacle, or the kinds that differ */
export async function migrate({ from: source, to: target, ...rest }: MigrateOptions): Promise<Digest> {
  const from = await openSide(source, true)
  try {
    const to = await openSide(target, false)
    try {
      if (from.name === to.name && source === target) throw new Error('--from and --to are the same place')
      const copying: Copying = { from, to, ...rest }
      await claim(copying)
      for (const copy of [copyDecisions, copyVectors, copyStates, copyAudit, copyEvidence, copyThread]) {
        rest.signal.throwIfAborted()
        await copy(copying)
      }
      const [one, other] = [await digestOf(from), await digestOf(to)]
      const differ = (Object.keys(one) as (keyof Digest)[]).filter((kind) => one[kind] !== other[kind])
      if (differ.length > 0)
        throw new Error(
          `the two sides differ in ${differ.join(', ')}: stop the servers of both, then run the same command again`,
        )
      await mark(to, sha256Hex(from.name), true)
      return other
    } finally {
      await to.close()
    }
  } finally {
    await from.close()
  }
}
