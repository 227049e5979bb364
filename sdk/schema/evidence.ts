/** Evidence on the wire: events as submitted, records as stored. */
import * as v from 'valibot'
import { nonEmptyText } from './decision.ts'

const d = v.description

const timestampForm =
  /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.\d+)?(?:[Zz]|([+-])([01]\d|2[0-3]):([0-5]\d))$/

/**
 * Whether a text is an instant of RFC 3339: a calendar day, a time of day, and an offset. Second 60 is valid only where a leap second can
 * occur: at the end of a month in UTC.
 * @see RFC 3339 sections 5.6 and 5.7
 */
export function isTimestamp(text: string): boolean {
  const match = timestampForm.exec(text)
  if (!match) return false
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  if (hour > 23 || minute > 59 || second > 60) return false
  const offset = match[7] === undefined ? 0 : (match[7] === '-' ? -1 : 1) * (60 * Number(match[8]) + Number(match[9]))
  const at = new Date(0)
  // Date.UTC would take the year 50 for 1950.
  at.setUTCFullYear(year, month - 1, day)
  if (at.getUTCMonth() !== month - 1 || at.getUTCDate() !== day) return false
  if (second < 60) return true
  at.setUTCHours(hour, minute - offset + 1)
  return at.getUTCDate() === 1 && at.getUTCHours() === 0 && at.getUTCMinutes() === 0
}

/** Who vouches for a record: another system (`observed`), the service that drew it from those (`inferred`), an agent (`attested`). */
export const EvidenceClass = v.picklist(['observed', 'inferred', 'attested'])
/** Who vouches for a record: another system (`observed`), the service that drew it from those (`inferred`), an agent (`attested`). */
export type EvidenceClass = v.InferOutput<typeof EvidenceClass>

/** 64 lowercase hexadecimal digits. */
export const Hash = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/, '64 lower-case hexadecimal digits'))

/** A record schema would accept a list, and drop keys such as `constructor`. The hash must cover what was sent. */
const Payload = v.pipe(
  v.unknown(),
  d('Any I-JSON object; stored in its canonical form (RFC 8785).'),
  v.check((value) => value !== null && typeof value === 'object' && !Array.isArray(value), 'an object'),
  v.transform((value) => value as Record<string, unknown>),
)

/** An event of a system that the agent does not control. */
export const EvidenceEvent = v.object({
  event_type: v.pipe(
    nonEmptyText(128),
    d('Type of event: `pr_opened`, `pr_commit`, `pr_review_approved`, `pr_merged`, `ci_completed` …'),
  ),
  ts: v.pipe(
    v.string(),
    v.maxLength(64, 'at most 64 characters'),
    v.check(isTimestamp, 'an RFC 3339 instant with its offset, such as 2026-07-01T10:00:00Z'),
    d('When it happened, RFC 3339; stored as given.'),
  ),
  payload: Payload,
})
export type EvidenceEvent = v.InferOutput<typeof EvidenceEvent>

/** A record of the chain. */
export const EvidenceEntry = v.object({
  seq: v.pipe(v.number(), d('Sequence number, from 1 without gaps.')),
  ts: v.pipe(v.string(), d('When it happened, RFC 3339, as given.')),
  source: v.pipe(v.string(), d('Source; `cstp:<agent>` for links.')),
  event_type: v.pipe(v.string(), d('What happened.')),
  evidence_class: v.pipe(
    EvidenceClass,
    d(
      '`observed` for events of other systems, `inferred` for what the service drew from them, `attested` for statements of agents.',
    ),
  ),
  payload: v.pipe(v.record(v.string(), v.unknown()), d('Content of the event.')),
  prev_hash: v.pipe(v.string(), d('Hash of the previous record; 64 zeros for the first.')),
  hash: v.pipe(v.string(), d('SHA-256 of the canonical JSON of the other seven fields, lowercase hex.')),
})

/** Events of one class of evidence, and how many of them support a control. */
export const ClassCoverage = v.object({
  total_events: v.pipe(v.number(), d('Events of the class.')),
  mapped_events: v.pipe(v.number(), d('Events that support at least one control.')),
  unmapped_events: v.pipe(v.number(), d('Events that support no control.')),
  coverage_pct: v.pipe(
    v.number(),
    d(
      'Percentage of the events of the class that are mapped, 0 to 100 with two decimals; exactly 0 or 100 only for none or all.',
    ),
  ),
  by_source: v.pipe(
    v.array(
      v.object({
        source: v.pipe(v.string(), d('Source of the events.')),
        events: v.pipe(v.number(), d('Number of events.')),
      }),
    ),
    d('Events by source, ascending by name.'),
  ),
})

/** Events of one class of evidence, and how many of them support a control. */
export type ClassCoverage = v.InferOutput<typeof ClassCoverage>

/** Coverage by class of evidence. */
export const Coverage = v.pipe(
  v.object({
    observed: v.pipe(ClassCoverage, d('Events reported by third parties.')),
    attested: v.pipe(ClassCoverage, d('Records of agents about themselves.')),
  }),
  d('Coverage by class of evidence; the two classes are never added up.'),
)
