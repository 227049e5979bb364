/** cstp.eraseDecision: erases a decision permanently, with every copy that the service holds. */
import * as v from 'valibot'
import { filledText } from '../../sdk/schema/decision.ts'
import { DecisionId } from '../../sdk/schema/params.ts'
import { defineMethod } from '../calls/method.ts'
import { audit } from '../core/audit.ts'
import { resolveId } from '../domain/decision/lookup.ts'
import { erase, erasedBefore, look } from '../domain/erasure/erase.ts'
import { countsOf } from '../domain/erasure/take.ts'

const d = v.description

const Copies = v.object({
  decisions: v.pipe(v.number(), d('Other decisions that named it: its title and what was said of the link went.')),
  audit_lines: v.pipe(v.number(), d('Lines of the audit trail that keep their place without its text.')),
  keyed_records: v.pipe(v.number(), d('Earlier values, results of repeatable calls, sessions, approvals and notices.')),
  acts: v.pipe(v.number(), d('Acts of the thread whose content and salt went. Their proofs hold as before.')),
})

export const eraseDecision = defineMethod({
  summary:
    'Erases a decision with every copy of its text that the service holds, and leaves its id as a tombstone. A decision with `preserve: true` is under a legal hold, and one that a retention rule keeps is not over: both are refused.',
  params: v.object({
    id: DecisionId,
    basis: v.pipe(filledText(200), d('On what ground, such as `GDPR Art. 17`. The tombstone shows it.')),
    reason: v.pipe(
      filledText(1_000),
      d('Why. Only the audit trail has it, which administrators read; it should not repeat what is erased.'),
    ),
    dry_run: v.pipe(v.optional(v.boolean(), false), d('Nothing goes: the answer counts what would.')),
  }),
  result: v.object({
    erased: v.pipe(v.boolean(), d('True if it is gone from every answer; also if it was erased before.')),
    id: v.string(),
    redaction_record_id: v.pipe(v.nullable(v.string()), d('The act of the erasure in the thread; null for a dry run.')),
    copies: v.pipe(v.nullable(Copies), d('What went beside the decision itself; null if it was erased before.')),
    pending: v.pipe(
      v.array(v.string()),
      d(
        'What still holds traces on a disk, in words. It is tried again every minute; `cstp doctor` shows what is left.',
      ),
    ),
  }),
  scope: 'admin',
  effect: 'write',
  failure: 'internal_error',
  async handle(call, { id: given, basis, reason, dry_run }) {
    const id = await resolveId(call.store.decisions, given, 'id')
    const before = await erasedBefore(call, id)
    if (before !== null)
      return { erased: true, id, redaction_record_id: before.redaction_record_id, copies: null, pending: [] }
    if (dry_run) {
      const { copies } = await look(call, [id], { basis })
      await call.store.transaction((tx) => audit(call, tx, [id], { dry_run, basis, reason }))
      return { erased: false, id, redaction_record_id: null, copies: countsOf(copies), pending: [] }
    }
    return { erased: true, id, ...(await erase(call, [id], { basis, reason })) }
  },
})
