/** The wire format of models: what is written is read, and what is cut is refused. */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { block, fieldsOf, float, number } from '../../../src/drivers/embedder/local/protobuf.ts'

const field = fc.integer({ min: 1, max: 1_000 })
const written = fc.oneof(
  fc.tuple(field, fc.maxSafeNat()).map(([at, value]) => ({ at, whole: number(at, value), content: null })),
  fc.tuple(field, fc.float()).map(([at, value]) => ({ at, whole: float(at, value), content: null })),
  fc.tuple(field, fc.uint8Array()).map(([at, content]) => ({ at, whole: block(at, content), content })),
)
const wholes = (fields: { whole: Uint8Array }[]) => fields.map(({ whole }) => Buffer.from(whole).toString('hex'))

test('a message is read as the fields that it was written of', () => {
  fc.assert(
    fc.property(fc.array(written), (fields) => {
      const read = [...fieldsOf(Buffer.concat(fields.map(({ whole }) => whole)))]
      expect(read.map(({ number }) => number)).toEqual(fields.map(({ at }) => at))
      expect(wholes(read)).toEqual(wholes(fields))
      for (const [at, { content }] of fields.entries())
        if (content) expect(Buffer.from(read[at]!.content).equals(content)).toBe(true)
    }),
  )
})

test('a message that ends within a field is refused', () => {
  fc.assert(
    fc.property(written, fc.nat(), ({ whole }, seed) => {
      const cut = whole.subarray(0, 1 + (seed % (whole.length - 1)))
      expect(() => [...fieldsOf(cut)]).toThrow('ends within a field')
    }),
  )
  expect(() => [...fieldsOf(Uint8Array.of(0x0b))]).toThrow('wire type 3')
})
