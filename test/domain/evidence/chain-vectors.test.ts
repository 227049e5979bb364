/** The chain and the tree reproduce the vectors of the contract to the digit. */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import type { EvidenceRecord } from '../../../sdk/storage/evidence.ts'
import { noHash } from '../../../sdk/storage/evidence-checks.ts'
import { canonical } from '../../../src/domain/evidence/canonical.ts'
import { follow } from '../../../src/domain/evidence/chain.ts'
import { chainFormat, preimage, recordHash } from '../../../src/domain/evidence/hash.ts'
import { grow, rootOf } from '../../../src/domain/evidence/tree.ts'
import { sharedText } from '../../support/shared.ts'

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

test('whatever the texts of a record are, its preimage is its canonical JSON', () => {
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
