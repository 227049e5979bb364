/** Store suite: acts are stored together with what they describe, and get their places in one order. */
import { readDecision } from '../../decisions.ts'
import { noHash } from '../../evidence-checks.ts'
import type { LedgerHead, TreeGrowth } from '../../ledger.ts'
import type { Store } from '../../store.ts'
import { keptCheckpoints, type NewAct, type StoredAct } from '../../thread.ts'
import type { Kit } from './kit.ts'
import { createAll, idOf, recordOf } from './records.ts'

/** Distinct placeholders for hashes: the domain computes the tree, and a driver only stores it. */
const hashOf = (number: number, kind: string): string =>
  `${number.toString(16).padStart(8, '0')}${kind.repeat(56)}`.slice(0, 64)

function actOf(number: number, changes: Partial<NewAct> = {}): NewAct {
  return {
    record_id: `2026-01-01-act-${number}\0`,
    kind: number % 2 === 0 ? 'decision' : 'verdict',
    decision_id: number % 2 === 0 ? idOf(number % 4) : null,
    at: '2026-01-01T00:00:00.000Z',
    payload: `{"text":"nul\\u0000 漢 ${number}"}`,
    salt: hashOf(number, '5'),
    commitment: hashOf(number, 'c'),
    ...changes,
  }
}
const actsOf = (from: number, to: number): NewAct[] => Array.from({ length: to - from }, (_, at) => actOf(from + at))

/** Grows like a tree: every eighth place completes a node. */
function grow({ seq }: LedgerHead, commitments: readonly string[]): TreeGrowth {
  const end = seq + commitments.length
  const nodes = Array.from({ length: Math.floor(end / 8) - Math.floor(seq / 8) }, (_, at) => {
    const index = Math.floor(seq / 8) + at
    return { level: 3, index, hash: hashOf(index, 'b') }
  })
  const frontier = [...end.toString(2)].flatMap((bit, at) => (bit === '1' ? [hashOf(at, 'f')] : []))
  return { nodes, frontier }
}

const append = (store: Store, acts: readonly NewAct[]) => store.transaction((tx) => tx.append({ acts }))
const waiting = (act: NewAct): StoredAct => ({ ...act, seq: null })
const placed = (acts: readonly NewAct[], from = 1): StoredAct[] => acts.map((act, at) => ({ ...act, seq: from + at }))

export function testThread({ onEmpty, expect, refused, shared }: Kit): void {
  onEmpty('a thread begins empty', async ({ thread }) => {
    expect(await thread.head()).toEqual({ seq: 0, hash: noHash, frontier: [] })
    expect(await thread.sequence(grow, 9)).toBe(0)
    expect([
      await thread.read({ from: 1, limit: 9 }),
      await thread.hashes(1, 9),
      await thread.read({ record_ids: [] }),
    ]).toEqual([[], [], []])
    expect([await thread.nodes(3, 0, 9), await thread.checkpoints()]).toEqual([[], []])
  })

  onEmpty('an act waits, then has the place after the one before it, and is read as it was given', async (store) => {
    const acts = actsOf(0, 20)
    await append(store, acts.slice(0, 3))
    await append(store, acts.slice(3))
    const { thread } = store
    expect(await thread.read({ record_ids: [acts[7]!.record_id, 'none', acts[2]!.record_id] })).toEqual(
      [acts[7]!, acts[2]!].map(waiting),
    )
    expect(await thread.read({ from: 1, limit: 99 })).toEqual([])
    expect(await thread.read({ from: null, limit: 2 })).toEqual(acts.slice(0, 2).map(waiting))
    expect(await thread.sequence(grow, 9)).toBe(9)
    expect(await thread.read({ from: 1, limit: 99 })).toEqual(placed(acts.slice(0, 9)))
    const ofTwo = acts.filter(({ decision_id }) => decision_id === idOf(2))
    const seqs = (await thread.ofDecision(idOf(2), 99)).map(({ seq }) => seq)
    expect(seqs).toEqual([3, 7, null, null, null])
    expect(await thread.ofDecision(idOf(2), 2)).toEqual(
      [3, 7].map((seq, place) => {
        const { record_id, kind, at, payload } = ofTwo[place]!
        return { record_id, kind, at, seq, bytes: new TextEncoder().encode(payload).length }
      }),
    )
    expect(await thread.read({ from: null, limit: 99 })).toEqual(acts.slice(9).map(waiting))
    expect(await thread.sequence(grow, 99)).toBe(11)
    expect(await thread.read({ from: null, limit: 99 })).toEqual([])
    expect(await thread.sequence(grow, 99)).toBe(0)
    const { frontier } = grow({ seq: 0, hash: noHash, frontier: [] }, Array(20).fill(''))
    expect(await thread.head()).toEqual({ seq: 20, hash: acts[19]!.commitment, frontier })
    expect(await thread.read({ from: 1, limit: 99 })).toEqual(placed(acts))
    expect(await thread.read({ from: 4, limit: 2 })).toEqual(placed(acts.slice(3, 5), 4))
    expect(await thread.hashes(19, 9)).toEqual(acts.slice(18).map(({ commitment }) => commitment))
    expect(await thread.nodes(3, 0, 9)).toEqual([hashOf(0, 'b'), hashOf(1, 'b')])
    expect([await thread.nodes(3, 1, 9), await thread.nodes(3, 0, 1)]).toEqual([[hashOf(1, 'b')], [hashOf(0, 'b')]])
    expect([await thread.nodes(3, 2, 9), await thread.nodes(2, 0, 9)]).toEqual([[], []])
  })

  onEmpty('the newest act about something is read in its transaction, waiting, and placed', async (store) => {
    const acts = actsOf(0, 9)
    const about = [idOf(2), 'none', idOf(0)]
    await append(store, acts.slice(0, 4))
    expect(await store.thread.newest(about)).toEqual([acts[2]!, acts[0]!].map(waiting))
    expect(await store.thread.newest([])).toEqual([])
    await store.transaction(async (tx) => {
      expect((await tx.thread.newest(about)).map(({ record_id }) => record_id)).toEqual(
        [acts[2]!, acts[0]!].map(({ record_id }) => record_id),
      )
      await tx.append({ acts: acts.slice(4) })
      expect((await tx.thread.newest(about)).map(({ record_id }) => record_id)).toEqual(
        [acts[6]!, acts[8]!].map(({ record_id }) => record_id),
      )
    })
    await store.thread.sequence(grow, 7)
    expect(await store.thread.newest(about)).toEqual([{ ...acts[6]!, seq: 7 }, waiting(acts[8]!)])
  })

  onEmpty('a group grows from where the one before it ended', async ({ thread, transaction }) => {
    const acts = actsOf(0, 150)
    await transaction((tx) => tx.append({ acts }))
    const seen: [LedgerHead, readonly string[]][] = []
    const noted = (head: LedgerHead, commitments: readonly string[]) => {
      seen.push([head, commitments])
      return grow(head, commitments)
    }
    while ((await thread.sequence(noted, 64)) > 0) {}
    expect(seen.map(([{ seq }, { length }]) => [seq, length])).toEqual([
      [0, 64],
      [64, 64],
      [128, 22],
    ])
    expect(seen.flatMap(([, commitments]) => commitments)).toEqual(acts.map(({ commitment }) => commitment))
    expect(seen[1]![0].hash).toBe(acts[63]!.commitment)
    expect(seen[1]![0].frontier).toEqual(grow(seen[0]![0], seen[0]![1]).frontier)
  })

  onEmpty('an act is kept with what its transaction wrote, or neither is', async (store) => {
    const both = (number: number, fails: boolean) =>
      store.transaction(async (tx) => {
        await tx.append({ acts: [actOf(number)] })
        await tx.decisions.put(recordOf(number), 0)
        if (fails) throw new Error('changed its mind')
      })
    const settled = await Promise.allSettled([both(0, false), both(1, true), both(2, false), both(3, true)])
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected'])
    const found = await store.thread.read({ record_ids: actsOf(0, 4).map(({ record_id }) => record_id) })
    expect(found).toEqual([actOf(0), actOf(2)].map(waiting))
    expect(await readDecision(store.decisions, idOf(1))).toBe(null)
    await store.thread.sequence(grow, 99)
    expect((await store.thread.read({ from: 1, limit: 9 })).map(({ record_id }) => record_id).sort()).toEqual(
      [actOf(0), actOf(2)].map(({ record_id }) => record_id),
    )
  })

  onEmpty('the id of an act is taken once', async (store) => {
    await append(store, [actOf(1)])
    const again = store.transaction(async (tx) => {
      await tx.decisions.put(recordOf(1), 0)
      await tx.append({ acts: [actOf(2), actOf(1, { payload: '{}' })] })
    })
    expect(await again.then(String, () => 'refused')).toBe('refused')
    expect(await store.thread.read({ record_ids: [actOf(1), actOf(2)].map(({ record_id }) => record_id) })).toEqual([
      waiting(actOf(1)),
    ])
    expect(await readDecision(store.decisions, idOf(1))).toBe(null)
  })

  onEmpty('an erased act keeps only its commitment, and can be added to another store in that form', async (store) => {
    const acts = actsOf(0, 4)
    await append(store, acts)
    await store.thread.sequence(grow, 2)
    const erased = [acts[1]!, acts[3]!].map((act) => ({ ...act, payload: null, salt: null }))
    await store.transaction((tx) => tx.erase({ acts: [...erased.map(({ record_id }) => record_id), 'none'] }))
    expect(await store.thread.read({ record_ids: erased.map(({ record_id }) => record_id) })).toEqual([
      { ...erased[0]!, seq: 2 },
      { ...erased[1]!, seq: null },
    ])
    const more = { ...actOf(9), payload: null, salt: null }
    await store.transaction((tx) => tx.append({ acts: [more] }))
    await store.thread.sequence(grow, 99)
    const kept = [acts[0]!, erased[0]!, acts[2]!, erased[1]!, more]
    expect(await store.thread.read({ from: 1, limit: 9 })).toEqual(kept.map((act, at) => ({ ...act, seq: at + 1 })))
    expect(await store.thread.hashes(1, 9)).toEqual(kept.map(({ commitment }) => commitment))
  })

  onEmpty('a tree that cannot have grown this way places no act', async (store) => {
    await append(store, actsOf(0, 9))
    const { thread } = store
    const wrong: [string, (grown: TreeGrowth) => TreeGrowth][] = [
      ['a frontier too short', ({ nodes }) => ({ nodes, frontier: [hashOf(0, 'f')] })],
      ['a frontier of no hashes', ({ nodes }) => ({ nodes, frontier: ['x', 'y'] })],
      ['a node that is not complete', ({ frontier }) => ({ nodes: [{ level: 3, index: 1, hash: noHash }], frontier })],
    ]
    for (const [, spoilt] of wrong)
      await refused(
        thread.sequence((head, commitments) => spoilt(grow(head, commitments)), 9),
        'invalid',
      )
    const thrown = thread.sequence(() => {
      throw new Error('no tree')
    }, 9)
    expect(await thrown.then(String, () => 'thrown')).toBe('thrown')
    expect([(await thread.head()).seq, await thread.read({ from: 1, limit: 9 })]).toEqual([0, []])
    expect(await thread.sequence(grow, 99)).toBe(9)
    expect((await thread.read({ from: 1, limit: 99 })).length).toBe(9)
  })

  onEmpty('checkpoints are kept in the order in which they were saved', async ({ thread }) => {
    const checkpoint = (size: number, exported: boolean) => ({
      size,
      head_hash: hashOf(size, 'c'),
      note: `origin\n${size}\nroot=\n\n— key sig\n`,
      created_at: '2026-01-01T00:00:00.000Z',
      exported,
    })
    const all = [checkpoint(7, false), checkpoint(3, true), checkpoint(7, true)]
    for (const one of all) await thread.saveCheckpoint(one)
    expect(await thread.checkpoints()).toEqual(all)
    expect(await thread.checkpoints(2)).toEqual(all.slice(1))
    expect([await thread.checkpoints(0), await thread.checkpoints(9)]).toEqual([[], all])
    // The limit applies to each sort separately: others do not displace exported checkpoints.
    const more = Array.from({ length: keptCheckpoints + 2 }, (_, at) => checkpoint(8 + at, false))
    for (const one of more) await thread.saveCheckpoint(one)
    expect(await thread.checkpoints()).toEqual([...all.slice(1), ...more.slice(2)])
  })

  onEmpty('each act gets one place, however many write and give places at once', async (store, again) => {
    const stores = shared ? [store, await again()] : [store]
    const acts = actsOf(0, 120)
    await Promise.all(
      Array.from({ length: 40 }, async (_, number) => {
        const one = stores[number % stores.length]!
        await append(one, acts.slice(3 * number, 3 * number + 3))
        await one.thread.sequence(grow, 7)
      }),
    )
    while ((await store.thread.sequence(grow, 50)) > 0) {}
    const read = await store.thread.read({ from: 1, limit: 999 })
    expect(read.map(({ seq }) => seq)).toEqual(acts.map((_, at) => at + 1))
    expect(read.map(({ record_id }) => record_id).sort()).toEqual(acts.map(({ record_id }) => record_id).sort())
    const place = new Map(read.map(({ record_id, seq }) => [record_id, seq!]))
    for (let first = 0; first < 120; first += 3) {
      const [a, b, c] = acts.slice(first, first + 3).map(({ record_id }) => place.get(record_id)!)
      expect([a! < b!, b! < c!]).toEqual([true, true])
    }
    expect((await store.thread.nodes(3, 0, 99)).length).toBe(15)
  })

  if (!shared) return
  onEmpty('the thread is there after a restart, waiting acts too', async (store, again) => {
    await createAll(store, [recordOf(0)])
    const acts = actsOf(0, 20)
    await append(store, acts)
    await store.thread.sequence(grow, 17)
    const head = await store.thread.head()
    await store.close()
    const next = await again()
    expect(await next.thread.head()).toEqual(head)
    expect(await next.thread.read({ record_ids: [acts[18]!.record_id] })).toEqual([waiting(acts[18]!)])
    expect(await next.thread.sequence(grow, 99)).toBe(3)
    expect(await next.thread.read({ from: 1, limit: 99 })).toEqual(placed(acts))
  })
}
