/** The dossier of one decision: everything that is stored about it, signed as a whole. */
import * as v from 'valibot'
import { Approval } from './approval.ts'
import { DecisionRecord, Outcome, Revision, settlers } from './decision.ts'
import { EvidenceEntry, Hash } from './evidence.ts'
import { dataFormat } from './format.ts'
import { GraphEdge } from './graph.ts'
import { Receipt } from './receipt.ts'

const d = v.description

/** How an event came to be in a dossier. */
const Relation = v.pipe(
  v.picklist(['linked', 'link', 'pull_request']),
  d(
    '`linked`: linked to the decision; `link`: the record of such a link; `pull_request`: an event of the pull request of the decision.',
  ),
)

/** An audit entry. */
export const TrailLine = v.object({
  seq: v.pipe(v.number(), d('Ascending, in commit order.')),
  at: v.pipe(v.string(), d('RFC 3339, UTC.')),
  agent: v.pipe(v.string(), d('The agent that called.')),
  method: v.pipe(v.string(), d('Method that was called, or the step of an approval.')),
  request_id: v.pipe(v.string(), d('Id of the request; the server log contains it too.')),
  ids: v.pipe(v.array(v.string()), d('Decisions concerned.')),
  allowed: v.pipe(v.nullable(v.boolean()), d('Null if nothing was evaluated.')),
  rules: v.pipe(v.array(v.string()), d('Rules and breakers that fired.')),
  detail: v.pipe(v.unknown(), d('For an evaluation: digest and redacted copy of the input, verdict, policy hash.')),
})

/** A rule set as it was in force. */
const ArchivedRules = v.object({
  policy_hash: Hash,
  periods: v.pipe(
    v.array(
      v.object({
        from: v.pipe(v.string(), d('RFC 3339.')),
        until: v.pipe(v.nullable(v.string()), d('RFC 3339; null while it is in force.')),
      }),
    ),
    d('Periods in which the rules were in force, oldest first.'),
  ),
  guardrails: v.pipe(v.array(v.record(v.string(), v.unknown())), d('The rules, in the order of the files.')),
  circuit_breakers: v.pipe(v.array(v.record(v.string(), v.unknown())), d('The circuit breakers.')),
})

/** The dossier of one decision. */
export const Dossier = v.object({
  dossier_format: v.pipe(v.literal(dataFormat), d('Version of the format.')),
  generated_at: v.pipe(v.string(), d('RFC 3339, UTC.')),
  service_version: v.pipe(v.string(), d('Version of the service that created it.')),
  decision: v.pipe(DecisionRecord, d('The record as stored.')),
  decision_sha256: v.pipe(Hash, d('SHA-256 of the record as canonical JSON.')),
  content_sha256: v.pipe(
    Hash,
    d('SHA-256 of the decision itself (what, by whom, why); not changed by reviews and edges.'),
  ),
  revisions: v.pipe(v.array(Revision), d('Every update with the previous values, oldest first.')),
  trail: v.pipe(v.array(TrailLine), d('Audit entries that refer to the decision or its evaluation, oldest first.')),
  approvals: v.pipe(v.array(Approval), d('Approval requests that its evaluation depended on.')),
  policy: v.pipe(v.nullable(ArchivedRules), d('The rules behind its verdict; null if it has no verdict.')),
  evidence: v.pipe(
    v.array(
      v.object({
        ...EvidenceEntry.entries,
        relation: Relation,
      }),
    ),
    d('Events that concern the decision; the receipt `evidence/<seq>` proves each.'),
  ),
  evidence_total: v.pipe(v.number(), d('Number of events that concern the decision; only the first ones are listed.')),
  receipts: v.pipe(
    v.array(Receipt),
    d('Acts that concern the decision, in the order of the ledger: states, verdict, approvals, events, score.'),
  ),
  verifier_key: v.pipe(v.string(), d('C2SP verifier key of the service, which signs the dossier.')),
  thread_key: v.pipe(v.string(), d('C2SP verifier key of the ledger, whose checkpoints the receipts carry.')),
  links: v.pipe(v.array(GraphEdge), d('Edges from and to the decision.')),
  score: v.pipe(
    v.nullable(
      v.object({
        confidence: v.pipe(v.number(), d('Confidence at recording.')),
        outcome: Outcome,
        settled_by: v.pipe(v.picklist(settlers), d('Who determined the outcome.')),
        value: v.pipe(v.number(), d('Value of the outcome: 1, 0.5 or 0.')),
        brier: v.pipe(v.number(), d('(confidence − value)².')),
      }),
    ),
    d('Its contribution to calibration; null if it is not scored.'),
  ),
  statement: v.pipe(
    v.record(v.string(), v.unknown()),
    d('The decision as an in-toto statement in DSSE: a Sigstore bundle v0.3.'),
  ),
  withheld: v.pipe(
    v.array(v.picklist(['trail', 'approvals', 'receipts'])),
    d(
      'Parts that are incomplete because the caller may not read some entries, or because they are too long (the oldest receipts are then left out).',
    ),
  ),
  claims: v.pipe(v.array(v.string()), d('What the dossier is based on, and what it does not claim.')),
  signature: v.pipe(
    v.string(),
    d('C2SP signed note by the key of the log over the SHA-256 of the other members as canonical JSON.'),
  ),
})
/** The dossier of one decision. */
export type Dossier = v.InferOutput<typeof Dossier>
