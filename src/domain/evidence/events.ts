/** Given events to events that can be appended: canonical, within the limits, from a source that may be named. */
import { invalidParams } from '../../../sdk/errors.ts'
import type { EvidenceEvent } from '../../../sdk/schema/evidence.ts'
import { canonical, NotInteroperable } from './canonical.ts'
import type { NewEvent } from './chain.ts'

/** Most events of a batch. */
export const mostEvents = 10_000
/** Most bytes of a batch as it is kept, in UTF-8. */
export const mostBytes = 16 * 1_048_576

/** What only this program itself may write. */
const reservedPrefixes = ['cstp:', 'webhook:']

function checkSource(source: string): void {
  const plain = source.trim().toLowerCase()
  const prefix = reservedPrefixes.find((one) => plain.startsWith(one))
  if (prefix === undefined) return
  throw invalidParams({
    path: 'source',
    message: `the prefix ${prefix} is reserved for what the service itself writes`,
    expected: 'another source',
    received: source,
  })
}

/** The payload as canonical JSON. @throws CstpError `invalid_params` naming the culprit by its path */
function canonicalPayload({ payload }: EvidenceEvent, index: number): string {
  try {
    return canonical(payload)
  } catch (error) {
    if (!(error instanceof NotInteroperable)) throw error
    const path = ['events', index, 'payload', ...error.path].join('.')
    const shown = path.length > 200 ? `${path.slice(0, 200).toWellFormed()}…` : path.toWellFormed()
    throw invalidParams({
      path: shown,
      message: error.message,
      expected: error.expected,
      received: 'what JSON can’t carry between systems',
    })
  }
}

/** Observed events of one batch. @throws CstpError `invalid_params` */
export function observedEvents(source: string, events: readonly EvidenceEvent[]): NewEvent[] {
  checkSource(source)
  let bytes = 0
  return events.map((event, index) => {
    const payload = canonicalPayload(event, index)
    const { ts, event_type } = event
    for (const text of [ts, source, event_type, payload]) bytes += Buffer.byteLength(text)
    if (bytes > mostBytes) {
      const expected = `at most ${mostBytes} bytes in all`
      throw invalidParams({ path: 'events', message: `expected ${expected}`, expected, received: 'more' })
    }
    return { ts, source, event_type, evidence_class: 'observed', payload }
  })
}
