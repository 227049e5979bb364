/** The suite that checks a driver against the evidence port. Run it with any common test runner. */
import { isStorageError } from '../errors.ts'
import type { Evidence, EvidenceBatch, EvidenceRecord, WebhookKey } from '../evidence.ts'
import { noHash } from '../evidence-checks.ts'
import type { LedgerHead } from '../ledger.ts'
import { thrownBy } from './check.ts'
import type { TestRunner } from './runner.ts'

/** Distinct placeholders for hashes: the domain computes the chain, and a driver only stores it in order. */
const hashOf = (seq: number, salt: string): string =>
  `${seq.toString(16).padStart(8, '0')}${salt.repeat(56)}`.slice(0, 64)

/** One placeholder for each perfect subtree that covers `size` records. */
const frontierOf = (size: number): string[] =>
  [...size.toString(2)].flatMap((bit, index) => (bit === '1' ? [hashOf(index, 'f')] : []))

const batchOf = (head: LedgerHead, records: EvidenceRecord[]): EvidenceBatch => ({
  records,
  nodes: [],
  frontier: frontierOf(head.seq + records.length),
})

const following = (head: LedgerHead, count: number, salt = 'a'): EvidenceBatch =>
  batchOf(head, recordsAfter(head, count, salt))

const recordsAfter = (head: LedgerHead, count: number, salt = 'a'): EvidenceRecord[] =>
  Array.from({ length: count }, (_, index) => {
    const seq = head.seq + index + 1
    return {
      seq,
      ts: '2026-07-01T10:00:00+02:00',
      source: 'suite',
      event_type: 'pr_opened',
      evidence_class: 'observed',
      payload: `{"text":"Zoë \\u0000 ${seq}"}`,
      prev_hash: index === 0 ? head.hash : hashOf(seq - 1, salt),
      hash: hashOf(seq, salt),
    }
  })

/** Registers the suite. @param open opens an empty log @example evidenceConformance('mine', runner, openMine) */
export function evidenceConformance(
  name: string,
  { describe, test, expect }: TestRunner,
  open: () => Promise<Evidence>,
): void {
  describe(`evidence: ${name}`, () => {
    const onEmpty = (title: string, work: (log: Evidence) => Promise<void>) =>
      test(title, async () => {
        const log = await open()
        await work(log).finally(() => log.close())
      })

    onEmpty('an empty log ends at 0 with 64 zeros', async (log) => {
      expect(await log.head()).toEqual({ seq: 0, hash: noHash, frontier: [] })
      expect(await log.read(1, 10)).toEqual([])
      expect(await log.checkpoints()).toEqual([])
    })

    onEmpty('what was appended is read back as it was given', async (log) => {
      const batch = following(await log.head(), 5)
      const { records } = batch
      expect(await log.append(() => batch)).toEqual({ seq: 5, hash: records[4]!.hash, frontier: batch.frontier })
      expect(await log.read(1, 100)).toEqual(records)
      expect(await log.read(2, 2)).toEqual(records.slice(1, 3))
      expect(await log.read(6, 10)).toEqual([])
    })

    onEmpty('make sees the head that its records follow', async (log) => {
      await log.append((head) => following(head, 3))
      let seen: LedgerHead | null = null
      await log.append((head) => {
        seen = head
        return following(head, 1)
      })
      expect(seen).toEqual({ seq: 3, hash: hashOf(3, 'a'), frontier: frontierOf(3) })
    })

    onEmpty('nothing is appended if make throws or returns nothing', async (log) => {
      await log.append((head) => following(head, 2))
      const thrown = await thrownBy(
        log.append(() => {
          throw new Error('not this one')
        }),
      )
      expect((thrown as Error).message).toBe('not this one')
      const same = await log.append((head) => batchOf(head, []))
      expect(same).toEqual({ seq: 2, hash: hashOf(2, 'a'), frontier: frontierOf(2) })
      expect((await log.head()).seq).toBe(2)
    })

    onEmpty('a batch with one record out of place is refused whole', async (log) => {
      await log.append((head) => following(head, 2))
      const wrong: ((records: EvidenceRecord[]) => EvidenceRecord[])[] = [
        (records) => [records[0]!, { ...records[1]!, seq: 9 }],
        (records) => [records[0]!, { ...records[1]!, prev_hash: noHash }],
        (records) => [{ ...records[0]!, prev_hash: noHash }, records[1]!],
        (records) => [records[0]!, { ...records[1]!, hash: 'ABC' }],
      ]
      for (const spoil of wrong) {
        const error = await thrownBy(log.append((head) => batchOf(head, spoil(recordsAfter(head, 2, 'b')))))
        expect(isStorageError(error, 'invalid')).toBe(true)
      }
      expect((await log.read(1, 10)).length).toBe(2)
    })

    onEmpty('appends at once form one chain without a gap', async (log) => {
      await Promise.all(
        Array.from({ length: 40 }, (_, index) => log.append((head) => following(head, 1 + (index % 3)))),
      )
      const records = await log.read(1, 1_000)
      records.forEach((record, index) => {
        expect(record.seq).toBe(index + 1)
        expect(record.prev_hash).toBe(index === 0 ? noHash : records[index - 1]!.hash)
      })
      expect(records.length).toBe(Array.from({ length: 40 }, (_, index) => 1 + (index % 3)).reduce((a, b) => a + b))
    })

    /** Appends one record for each payload, in one batch. */
    const holding = (log: Evidence, payloads: (string | [source: string, payload: string])[]) =>
      log.append((head) =>
        batchOf(
          head,
          recordsAfter(head, payloads.length).map((record, index) => {
            const given = payloads[index]!
            const [source, payload] = typeof given === 'string' ? ['suite', given] : given
            return { ...record, source, payload }
          }),
        ),
      )
    const numbers = (records: readonly EvidenceRecord[]) => records.map(({ seq }) => seq)

    onEmpty('records of a pull request are found by its number, an integer, from any source', async (log) => {
      const others = ['{"pr_number":77}', '{"inner":{"pr_number":7}}', '{"pr_number":7,"title":"Zoë"}']
      await holding(log, ['{"pr_number":7}', ['webhook:suite', '{"n":1,"pr_number":7}'], ...others])
      const found = await log.ofPullRequest(7, 1, 10)
      expect(numbers(found)).toEqual([1, 2, 5])
      expect(found[2]).toEqual((await log.read(5, 1))[0]!)
      expect(numbers(await log.ofPullRequest(7, 2, 1))).toEqual([2])
      expect(numbers(await log.ofPullRequest(7, 3, 10))).toEqual([5])
      expect(await log.ofPullRequest(8, 1, 10)).toEqual([])
      const values = ['"1"', 'true', '1.5', '[1]', 'null', '1']
      await holding(
        log,
        values.map((value) => `{"pr_number":${value}}`),
      )
      expect(numbers(await log.ofPullRequest(1, 1, 10))).toEqual([11])
    })

    onEmpty(
      'a commit is found by its hash or how it begins, as head or as merge commit, each record once',
      async (log) => {
        const [one, two] = ['a'.repeat(40), 'b'.repeat(64)]
        const [long, loud] = ['x'.repeat(100_000), one.toUpperCase()]
        const both = [two, one].map((sha) => `{"merge_commit_sha":"${one}","sha":"${sha}"}`)
        const others = [`{"inner":{"sha":"${one}"}}`, `{"sha":["${one}"]}`, `{"sha":"${long}"}`, `{"sha":"${loud}"}`]
        const begun = [`aaaaaaa${'c'.repeat(33)}`, one + 'c'.repeat(24)].map((sha) => `{"sha":"${sha}"}`)
        await holding(log, [`{"sha":"${one}"}`, ['webhook:suite', both[0]!], both[1]!, ...others, ...begun])
        expect(numbers(await log.ofCommit(one, 1, 10))).toEqual([1, 2, 3])
        expect((await log.ofCommit(two, 1, 10))[0]).toEqual((await log.read(2, 1))[0]!)
        expect(numbers(await log.ofCommit(one, 2, 1))).toEqual([2])
        expect(await log.ofCommit('c'.repeat(40), 1, 10)).toEqual([])
        expect(numbers(await log.ofCommit('aaaaaaa', 2, 4))).toEqual([2, 3, 8, 9])
        expect(numbers(await log.ofCommit('aaaaaaac', 1, 10))).toEqual([8])
      },
    )

    onEmpty('make gets what webhooks have appended under its keys, up to the head that it follows', async (log) => {
      await holding(log, [
        ['webhook:suite', '{"delivery_id":"d1","pr_number":1,"sha":"aa"}'],
        ['suite', '{"delivery_id":"d1","pr_number":1,"sha":"aa"}'],
        ['webhook:suite', '{"body_sha256":"b2","delivery_id":"d2","pr_number":2}'],
        ['webhook:suite', '{"delivery_id":true,"merge_commit_sha":"cc","pr_number":true,"sha":"d1"}'],
      ])
      const known = async (...keys: WebhookKey[]) => {
        let seen: readonly EvidenceRecord[] = []
        await log.append((head, records) => {
          seen = records
          return batchOf(head, [])
        }, keys)
        return numbers(seen)
      }
      expect(await known()).toEqual([])
      expect(await known({ field: 'delivery_id', value: 'd1' })).toEqual([1])
      expect(await known({ field: 'pr_number', value: 1 })).toEqual([1])
      expect(await known({ field: 'body_sha256', value: 'b2' }, { field: 'sha', value: 'aa' })).toEqual([1, 3])
      expect(await known({ field: 'sha', value: 'aa' }, { field: 'pr_number', value: 1 })).toEqual([1])
      expect(await known({ field: 'merge_commit_sha', value: 'cc' })).toEqual([4])
      expect(await known({ field: 'sha', value: 'zz' })).toEqual([])
    })

    onEmpty('of appends at once under one key, each sees those before it', async (log) => {
      const once = () =>
        log.append(
          (head, known) =>
            batchOf(
              head,
              recordsAfter(head, known.length === 0 ? 1 : 0).map((record) => ({
                ...record,
                source: 'webhook:suite',
                payload: '{"delivery_id":"once"}',
              })),
            ),
          [{ field: 'delivery_id', value: 'once' }],
        )
      await Promise.all(Array.from({ length: 20 }, once))
      expect((await log.head()).seq).toBe(1)
    })

    onEmpty('what a caller does to its records later changes nothing', async (log) => {
      const records = recordsAfter(await log.head(), 1)
      await log.append((head) => batchOf(head, records))
      records[0]!.payload = '{}'
      expect((await log.read(1, 1))[0]!.payload).not.toBe('{}')
    })

    onEmpty('hashes are read from any record on', async (log) => {
      await log.append((head) => following(head, 5))
      const hashes = [1, 2, 3, 4, 5].map((seq) => hashOf(seq, 'a'))
      expect(await log.hashes(1, 100)).toEqual(hashes)
      expect(await log.hashes(3, 2)).toEqual(hashes.slice(2, 4))
      expect(await log.hashes(6, 10)).toEqual([])
    })

    onEmpty(
      'nodes are kept with the records that complete them, and read up to the first that is missing',
      async (log) => {
        const node = (level: number, index: number) => ({ level, index, hash: hashOf(index, 'd') })
        const nodes = [node(1, 0), node(1, 1), node(1, 3), node(2, 0)]
        await log.append((head) => ({ ...following(head, 8), nodes: nodes.slice(0, 3) }))
        expect(await log.nodes(1, 0, 10)).toEqual([hashOf(0, 'd'), hashOf(1, 'd')])
        expect(await log.nodes(1, 1, 1)).toEqual([hashOf(1, 'd')])
        expect(await log.nodes(1, 2, 10)).toEqual([])
        expect(await log.nodes(1, 3, 10)).toEqual([hashOf(3, 'd')])
        expect(await log.nodes(2, 0, 10)).toEqual([])
        await log.append((head) => ({ ...following(head, 8), nodes: [node(3, 1)] }))
        expect(await log.nodes(3, 1, 1)).toEqual([hashOf(1, 'd')])
      },
    )

    onEmpty('a tree that can’t be that of the records is refused whole', async (log) => {
      await log.append((head) => following(head, 3))
      const good = following(await log.head(), 2)
      const node = { level: 2, index: 0, hash: hashOf(0, 'd') }
      const wrong: EvidenceBatch[] = [
        { ...good, frontier: frontierOf(7) },
        { ...good, frontier: [hashOf(0, 'f'), 'x'] },
        { ...good, nodes: [{ ...node, index: 1 }] },
        { ...good, nodes: [{ ...node, level: 1 }] },
        { ...good, nodes: [{ ...node, hash: 'ABC' }] },
      ]
      for (const batch of wrong) expect(isStorageError(await thrownBy(log.append(() => batch)), 'invalid')).toBe(true)
      expect(await log.head()).toEqual({ seq: 3, hash: hashOf(3, 'a'), frontier: frontierOf(3) })
      expect(await log.nodes(2, 0, 10)).toEqual([])
      expect((await log.append(() => ({ ...good, nodes: [node] }))).seq).toBe(5)
      expect(await log.nodes(2, 0, 10)).toEqual([node.hash])
    })

    onEmpty('of appends at once one that throws fails alone', async (log) => {
      const results = await Promise.allSettled(
        Array.from({ length: 30 }, (_, index) =>
          log.append((head) => {
            if (index % 3 === 1) throw new Error('not this one')
            const batch = following(head, 2)
            return index % 3 === 2 ? { ...batch, frontier: [] } : batch
          }),
        ),
      )
      const appended = results.flatMap((one) => (one.status === 'fulfilled' ? [one.value.seq] : []))
      expect(appended.sort((a, b) => a - b)).toEqual(Array.from({ length: 10 }, (_, index) => 2 * (index + 1)))
      expect((await log.hashes(1, 1_000)).length).toBe(20)
    })

    onEmpty('reads that begin below the first record begin with it', async (log) => {
      await log.append((head) => following(head, 3))
      expect((await log.read(-5, 2)).map(({ seq }) => seq)).toEqual([1, 2])
      expect(await log.hashes(0, 1)).toEqual([hashOf(1, 'a')])
    })

    onEmpty('checkpoints stay in the order in which they were saved', async (log) => {
      const checkpoints = [3, 1, 2].map((size) => ({
        size,
        head_hash: hashOf(size, 'a'),
        note: `note ${size}\n`,
        created_at: '2026-07-01T10:00:00.000Z',
        exported: size > 1,
      }))
      for (const one of checkpoints) await log.saveCheckpoint(one)
      expect(await log.checkpoints()).toEqual(checkpoints)
      expect(await log.checkpoints(2)).toEqual(checkpoints.slice(1))
    })
  })
}
