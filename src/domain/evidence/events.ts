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

/** Without spaces, what is not seen, and other forms of the same characters: a reader must not take one source for another. */
const shown = (source: string): string =>
  source
    .normalize('NFKC')
    .replace(/[\p{White_Space}\p{Cc}\p{Default_Ignorable_Code_Point}]/gu, '')
    .toLowerCase()

function checkSource(source: string): void {
  const plain = shown(source)
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

/** Whether a batch is longer than may be kept, in UTF-8. */
function tooLong(events: readonly NewEvent[]): boolean {
  let units = 0
  for (const { ts, source, event_type, payload } of events)
    units += ts.length + source.length + event_type.length + payload.length
  // A unit of UTF-16 takes at most three bytes: most batches need no closer look.
  if (3 * units <= mostBytes) return false
  let bytes = 0
  for (const { ts, source, event_type, payload } of events)
    bytes += Buffer.byteLength(ts + source + event_type) + Buffer.byteLength(payload)
  return bytes > mostBytes
}

/** Observed events of one batch. @throws CstpError `invalid_params` */
export function observedEvents(source: string, events: readonly EvidenceEvent[]): NewEvent[] {
  checkSource(source)
  const made = events.map((event, index): NewEvent => {
    const { ts, event_type } = event
    return { ts, source, event_type, evidence_class: 'observed', payload: canonicalPayload(event, index) }
  })
  if (!tooLong(made)) return made
  const expected = `at most ${mostBytes} bytes in all`
  throw invalidParams({ path: 'events', message: `expected ${expected}`, expected, received: 'more' })
}
