/** Ids of acts: they sort in the order of their times, and no two are alike. */
import { expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { timestamp } from '../../../src/core/time.ts'
import { newActId } from '../../../src/domain/record/act-ids.ts'
import * as fc from '../../support/property.ts'

const tools = { randomHex: (bytes: number) => randomBytes(bytes).toString('hex') }
const idAt = (ms: number) => newActId('evaluation', timestamp(ms), tools)
const time = fc.integer({ min: 0, max: Date.UTC(9999, 0) })

test('an id of a later millisecond sorts behind one of an earlier', () => {
  fc.assert(
    fc.property(time, fc.integer({ min: 1, max: 200_000_000 }), (ms, after) => {
      expect(idAt(ms) < idAt(ms + after)).toBe(true)
    }),
  )
})

test('ids of one moment differ', () => {
  const ids = Array.from({ length: 1_000 }, () => idAt(Date.UTC(2026, 0, 1, 23, 59, 59, 999)))
  expect(new Set(ids).size).toBe(1_000)
  expect(ids[0]).toMatch(/^2026-01-01-evaluation-5265bff[0-9a-f]{12}$/)
})
