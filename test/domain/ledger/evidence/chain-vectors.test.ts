/** The chain and the tree reproduce the vectors of the contract to the digit. */
import { expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import type { EvidenceRecord } from '../../../../sdk/storage/evidence.ts'
import { noHash } from '../../../../sdk/storage/evidence-checks.ts'
import type { LedgerHead } from '../../../../sdk/storage/ledger.ts'
import { canonical } from '../../../../src/core/canonical.ts'
import { grow, rootOf } from '../../../../src/domain/ledger/engine/tree.ts'
import { follow } from '../../../../src/domain/ledger/evidence/chain.ts'
import { chainFormat, preimage, recordHash } from '../../../../src/domain/ledger/evidence/hash.ts'
import { naiveTree } from '../../../support/evidence/naive-tree.ts'
import * as fc from '../../../support/property.ts'
import { sharedText } from '../../../support/shared.ts'

type Vector = Omit<EvidenceRecord, 'payload'> & { payload: unknown; preimage: string }

const text = sharedText('spec/vectors.json')

test.skipIf(text === null)('records, hashes, preimages and roots', () => {
  const { records, merkle_roots, chain_format } = JSON.parse(text!).evidence_chain as {
    records: Vector[]
    merkle_roots: string[]
    chain_format: number
  }
  expect(chainFormat).toBe(chain_format as 3)
  const events = records.map(({ payload, ...rest }) => ({ ...rest, payload: canonical(payload) }))
  for (const [index, record] of events.entries()) {
    expect(preimage(record)).toBe(records[index]!.preimage)
    expect(canonical({ ...JSON.parse(records[index]!.preimage) })).toBe(records[index]!.preimage)
    expect(recordHash(record)).toBe(record.hash)
  }
  const made = follow({ seq: 0, hash: noHash, frontier: [] }, events)
  expect(made.records.map(({ hash }) => hash)).toEqual(records.map(({ hash }) => hash))
  for (const [size, root] of merkle_roots.entries())
    expect(
      rootOf(
        grow(
          [],
          0,
          records.slice(0, size).map(({ hash }) => hash),
        ).frontier,
      ),
    ).toBe(root)
})

test('the preimage of any record is its canonical JSON', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.constantFrom('a', ' ', '~', '"', '\\', '\n', '\0', '\x7f', '\u2028', 'é', '😀') }),
  )
  fc.assert(
    fc.property(text, text, text, (ts, source, event_type) => {
      const record = { seq: 1, ts, source, event_type, evidence_class: 'observed' as const, prev_hash: noHash }
      expect(preimage({ ...record, payload: '{"a":1}' })).toBe(canonical({ ...record, payload: { a: 1 } }))
    }),
    { numRuns: 300 },
  )
})

test('the hash of any record is that of its preimage', () => {
  const plain = fc.string({ unit: fc.constantFrom('a', ' ', '~', ':', '{') })
  const any = fc.string({ unit: fc.constantFrom('a', '"', '\\', '\x1f', '\x7f', 'é', '😀') })
  // Some are too long for what plain ones are written to.
  const long = fc.constantFrom(1_000, 1_024, 1_025, 16_384, 16_385, 70_000).map((length) => 'é'.repeat(length))
  const text = fc.oneof(
    { weight: 4, arbitrary: plain },
    { weight: 2, arbitrary: any },
    long,
    plain.map((one) => one.padEnd(30_000)),
  )
  const bytes = fc.uint8Array({ maxLength: 3 }).map((one) => one as unknown as string)
  const column = fc.oneof({ weight: 9, arbitrary: text }, bytes)
  const record = fc.record({
    ...{ seq: fc.maxSafeNat(), ts: column, source: column, event_type: column, payload: column, prev_hash: column },
    evidence_class: fc.constantFrom('observed' as const, 'attested' as const),
  })
  fc.assert(
    fc.property(record, (one) => {
      expect(recordHash(one)).toBe(createHash('sha256').update(preimage(one)).digest('hex'))
    }),
    { numRuns: 500 },
  )
})

test('after any batches each record names the one before it, and the tree covers all records', () => {
  const text = fc.string({ unit: fc.constantFrom('a', ' ', '"', '\\', 'é', '😀') })
  const event = fc.record({
    ...{ ts: text, source: text, event_type: text, payload: text.map((one) => JSON.stringify(one)) },
    evidence_class: fc.constantFrom('observed' as const, 'attested' as const),
  })
  const other = { ts: '', source: '', event_type: '', evidence_class: 'observed' as const, payload: '{}' }
  const batches = fc.array(fc.array(event, { maxLength: 20 }), { maxLength: 5 })
  fc.assert(
    fc.property(batches, (all) => {
      let head: LedgerHead = { seq: 0, hash: noHash, frontier: [] }
      const hashes: string[] = []
      for (const events of all) {
        const { records, frontier } = follow(head, events)
        expect(records.length).toBe(events.length)
        for (const [at, { hash, ...record }] of records.entries()) {
          const prev_hash = hashes.at(-1) ?? noHash
          expect(record).toEqual({ ...events[at]!, seq: hashes.length + 1, prev_hash })
          expect(hash).toBe(createHash('sha256').update(preimage(record)).digest('hex'))
          hashes.push(hash)
        }
        head = { seq: hashes.length, hash: hashes.at(-1) ?? noHash, frontier }
        // A record of another chain is hashed in between.
        recordHash({ ...other, seq: 9, prev_hash: 'b'.repeat(64) })
      }
      expect(rootOf(head.frontier)).toBe(naiveTree(hashes).root(hashes.length))
    }),
    { numRuns: 100 },
  )
})
