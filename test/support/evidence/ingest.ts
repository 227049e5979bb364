/** Events as a caller sends them, and sending them, for tests of the evidence methods. */
import type { TestProgram } from '../program.ts'

export const ts = '2026-07-01T10:00:00Z'
export const event = (payload: object = { pr_number: 42 }, more: object = {}) => ({
  event_type: 'pr_opened',
  ts,
  payload,
  ...more,
})
export const ingest = ({ call }: TestProgram, ...events: object[]) =>
  call('ingestEvidence', { source: 'github', events }, 'root')
