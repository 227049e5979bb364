/** cstp.mapControls: the controls that the evidence supports, and where it is insufficient, on every store. */
import { expect, test } from 'bun:test'
import { createDispatch } from '../../src/calls/dispatch.ts'
import type { Method } from '../../src/calls/method.ts'
import type { JsonText } from '../../src/calls/page.ts'
import { maxAnswerBytes } from '../../src/calls/page.ts'
import { mapControls } from '../../src/methods/mapControls.ts'
import { chainOf, event as observed } from '../support/evidence/events.ts'
import { callers, memoryProgram, type Result } from '../support/program.ts'

test('an answer is at most 32 MiB: the lists end early, and the next page goes on', async () => {
  const program = await memoryProgram()
  const evidence = await chainOf(Array.from({ length: 60_000 }, () => observed('pr_merged', { pr_number: 7 })))
  const methods = createDispatch(
    new Map([['cstp.mapControls', mapControls as unknown as Method]]),
    { ...program.services, evidence },
    () => {},
  )
  const page = async (seq_from: number) => {
    const request = { method: 'cstp.mapControls', params: { seq_from }, caller: callers.reader, request_id: 'r' }
    const answer = await methods({ ...request, signal: new AbortController().signal, prints: true })
    const text = (answer as JsonText).text()
    return { bytes: Buffer.byteLength(text), ...(JSON.parse(text) as Result<'mapControls'>) }
  }
  const first = await page(1)
  expect(first.bytes).toBeLessThan(maxAnswerBytes)
  expect(first.bytes).toBeGreaterThan(maxAnswerBytes - 200_000)
  expect(first).toMatchObject({ shortened: true, coverage: { observed: { total_events: 60_000 } } })
  const second = await page(first.next_seq!)
  expect(second.unmapped[0]?.seq).toBe(first.unmapped.at(-1)!.seq + 1)
  expect([second.next_seq, second.shortened]).toEqual([null, undefined])
  expect(first.insufficient_evidence.length + second.insufficient_evidence.length).toBe(
    first.insufficient_evidence_count,
  )
})
