/** cstp.eraseDecision: erases a decision permanently, with every copy that the service holds. */
import * as v from 'valibot'
import { nonEmptyText } from '../../sdk/schema/decision.ts'
import { DecisionId } from '../../sdk/schema/params.ts'
import { defineMethod } from '../calls/method.ts'
import { audit } from '../core/audit.ts'
import { erase, erasedBefore, look } from '../domain/erasure/erase.ts'
import { countsOf } from '../domain/erasure/take.ts'
import { resolveId } from '../domain/record/decision/lookup.ts'

const d = v.description

const Copies = v.object({
  decisions: v.pipe(
    v.number(),
    d('Other decisions that referred to it; its title and the texts of the links were erased.'),
  ),
  audit_lines: v.pipe(v.number(), d('Audit entries whose text was erased; the entries remain.')),
  keyed_records: v.pipe(
    v.number(),
    d('Earlier values, results of repeatable calls, sessions, approvals and notices that were erased.'),
  ),
  acts: v.pipe(v.number(), d('Acts of the ledger whose content and salt were erased. Their proofs remain valid.')),
})

const KeptCheck = v.object({
  seq: v.pipe(v.number(), d('Number of the audit entry.')),
  at: v.pipe(v.string(), d('RFC 3339.')),
  record_id: v.pipe(v.string(), d('Id of the evaluation.')),
  allowed: v.boolean(),
  verdict: v.pipe(v.string(), d('`allow`, `deny`, `step_up`, `defer` or `modify`.')),
  rules: v.pipe(v.array(v.string()), d('Rules that fired.')),
})

export const eraseDecision = defineMethod({
  summary:
    'Erases a decision and every copy of its text in the service; its id remains as a tombstone. Refused for a decision with `preserve: true` (legal hold), and while a retention rule keeps it.',
  params: v.object({
    id: DecisionId,
    basis: v.pipe(nonEmptyText(200), d('Legal basis, such as `GDPR Art. 17`. The tombstone shows it.')),
    reason: v.pipe(
      nonEmptyText(1_000),
      d(
        'Reason. It is stored only in the audit trail, which administrators read; it should not repeat the erased text.',
      ),
    ),
    dry_run: v.pipe(v.optional(v.boolean(), false), d('Dry run: erases nothing and counts what would be erased.')),
  }),
  result: v.object({
    erased: v.pipe(v.boolean(), d('True if no answer contains the decision; also true if it was erased before.')),
    id: v.string(),
    redaction_record_id: v.pipe(v.nullable(v.string()), d('Id of the erasure in the ledger; null for a dry run.')),
    copies: v.pipe(v.nullable(Copies), d('What was erased in addition to the decision; null if it was erased before.')),
    checks: v.pipe(
      v.array(KeptCheck),
      d('Checks that led to the decision and quote it. Their subject is erased; their verdict stays.'),
    ),
    pending: v.pipe(
      v.array(v.string()),
      d(
        'Places on disk that still contain traces. The erasure is retried every minute; `cstp doctor` shows what is left.',
      ),
    ),
  }),
  scope: 'admin',
  effect: 'write',
  keeps_texts: true,
  cost: 16,
  async handle(call, { id: given, basis, reason, dry_run }) {
    const id = await resolveId(call.store.decisions, given, 'id')
    const before = await erasedBefore(call, id)
    if (before !== null)
      return {
        erased: true,
        id,
        redaction_record_id: before.redaction_record_id,
        copies: null,
        checks: [],
        pending: [],
      }
    if (dry_run) {
      const { copies } = await look(call, [id], { basis })
      await call.store.transaction((tx) => audit(call, tx, [id], { dry_run, basis, reason }))
      return {
        erased: false,
        id,
        redaction_record_id: null,
        copies: countsOf(copies),
        checks: copies.checks,
        pending: [],
      }
    }
    return { erased: true, id, ...(await erase(call, [id], { basis, reason })) }
  },
})
