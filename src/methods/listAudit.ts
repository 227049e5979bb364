/** cstp.listAudit: the audit trail, newest first. */
import * as v from 'valibot'
import { nonEmptyText } from '../../sdk/schema/decision.ts'
import { boundMs, DateBound, shortened, whole } from '../../sdk/schema/params.ts'
import { defineMethod } from '../calls/method.ts'
import { seesStops } from '../core/caller.ts'
import { given } from '../domain/record/decision/lookup.ts'

const d = v.description

export const listAudit = defineMethod({
  summary: 'Lists the audit trail, newest first: every write and every guardrail evaluation.',
  params: v.object({
    since: v.optional(v.pipe(DateBound, d('On or after this day or time.'))),
    agent: v.optional(
      v.pipe(nonEmptyText(256), d('Agent that called. With its own name, an agent needs only the scope read.')),
    ),
    method: v.optional(v.pipe(nonEmptyText(256), d('Method that was called.'))),
    rule: v.optional(v.pipe(nonEmptyText(256), d('Id of a rule that fired.'))),
    allowed: v.optional(v.pipe(v.boolean(), d('Verdict of an evaluation. With false, the scope approve is enough.'))),
    without: v.optional(
      v.pipe(v.array(nonEmptyText(256)), v.maxLength(20, 'at most 20 entries'), d('Methods to leave out.')),
    ),
    cursor: v.optional(v.pipe(whole(1, Number.MAX_SAFE_INTEGER), d('`next_cursor` of the previous page.'))),
    limit: v.optional(whole(1, 500), 50),
  }),
  result: v.object({
    entries: v.pipe(
      v.array(
        v.object({
          seq: v.pipe(v.number(), d('Ascending, in commit order.')),
          at: v.pipe(v.string(), d('RFC 3339, UTC.')),
          agent: v.string(),
          method: v.pipe(v.string(), d('Method that was called.')),
          request_id: v.pipe(v.string(), d('Id of the request; the server log contains it too.')),
          ids: v.pipe(v.array(v.string()), d('Decisions concerned.')),
          allowed: v.pipe(v.nullable(v.boolean()), d('Null if nothing was evaluated.')),
          rules: v.pipe(v.array(v.string()), d('Rules and breakers that fired.')),
          detail: v.pipe(
            v.unknown(),
            d('For an evaluation: digest and redacted copy of the input, verdict, policy hash, duration.'),
          ),
        }),
      ),
      d('The audit entries, newest first.'),
    ),
    next_cursor: v.pipe(v.nullable(v.number()), d('Null on the last page.')),
    shortened,
  }),
  scope: 'admin',
  // Readers see what was said of their own calls, and who approves sees what stopped others.
  also: (caller, params) => {
    if (!caller.scopes.has('read') || params === null || typeof params !== 'object') return false
    const isOwn = 'agent' in params && params.agent === caller.agent
    return isOwn || ('allowed' in params && params.allowed === false && seesStops(caller))
  },
  page: { list: 'entries', after: ({ seq: next_cursor }: { seq: number }) => ({ next_cursor }) },
  effect: 'read',
  async handle({ store }, { since, limit, ...rest }) {
    const since_ms = since === undefined ? undefined : (boundMs(since, false) ?? undefined)
    const entries = await store.audit.list({ ...given({ ...rest, since_ms }), limit })
    return { entries, next_cursor: entries.length === limit ? (entries.at(-1)?.seq ?? null) : null }
  },
})
