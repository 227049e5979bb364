/** What a dossier takes from the stores is compared with the acts about it before it is signed: who edits the stores has no part in that. */

import type { DecisionRecord } from '../../../../sdk/schema/decision.ts'
import { readDecisions } from '../../../../sdk/storage/decisions.ts'
import { edgeOrder, edgesOf } from '../../../../sdk/storage/edges.ts'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import type { Edge, Store, StoredAuditEntry } from '../../../../sdk/storage/store.ts'
import type { StoredAct } from '../../../../sdk/storage/thread.ts'
import { auditDigest, textOf } from '../../../core/canonical.ts'
import { stateId } from '../../record/act-ids.ts'
import { commitmentOf } from '../thread/commitment.ts'

const altered = (what: string) =>
  new StorageError(
    'corrupt',
    `${what} was changed without the service. It is not signed: cstp doctor lists all such records`,
  )

/** The payload of an act as the log has it; null once erased, or if it was changed. */
function payloadOf({ payload, salt, commitment }: StoredAct): Record<string, unknown> | null {
  const isWhole = payload !== null && salt !== null && commitmentOf(salt, payload) === commitment
  return isWhole ? JSON.parse(payload) : null
}

/**
 * @param acts all about these lines
 * @throws StorageError `corrupt` naming a line that no act names. Lines that an erasure redacted have none, and which one an erased act named
 * is not known: such lines stay unproved
 */
export function checkLines(lines: readonly StoredAuditEntry[], acts: readonly StoredAct[]): void {
  const named = new Set(acts.map((act) => payloadOf(act)?.audit_sha256))
  const erased = acts.filter(({ payload }) => payload === null)
  for (const line of lines) {
    const isRedacted = (line.detail as { redacted_by?: unknown } | null)?.redacted_by !== undefined
    const isOfErased = erased.some(({ at, decision_id }) => at === line.at && line.ids.includes(decision_id ?? ''))
    if (!isRedacted && !isOfErased && !named.has(auditDigest(line)))
      throw altered(`Line ${line.seq} of the audit trail`)
  }
}

const maxEdges = 500

/**
 * Edges from and to a decision, as the records have them.
 * @throws StorageError `corrupt` naming an edge to the decision that differs; those of a record that was edited by hand, which has no act, are left out
 */
export async function linksOf(
  { store }: { store: Pick<Store, 'edges' | 'decisions' | 'thread'> },
  decision: DecisionRecord,
): Promise<Edge[]> {
  const found = await store.edges.of([decision.id], { direction: 'incoming', limit: maxEdges })
  const incoming = found.filter(({ source_id }) => source_id !== decision.id)
  const sources = await readDecisions(store.decisions, [...new Set(incoming.map(({ source_id }) => source_id))])
  const states = await store.thread.read({
    record_ids: sources.map(({ record, revision }) => stateId(record.id, revision)),
  })
  const records = states.flatMap((act) => (payloadOf(act)?.record as DecisionRecord | undefined) ?? [])
  const said = new Set(records.flatMap(edgesOf).map((edge) => textOf({ ...edge })))
  const known = incoming.filter(({ source_id }) => records.some(({ id }) => id === source_id))
  for (const edge of known)
    if (!said.has(textOf({ ...edge })))
      throw altered(`The edge ${edge.edge_type} from ${edge.source_id} to ${decision.id}`)
  return [...edgesOf(decision), ...known].sort(edgeOrder).slice(0, maxEdges)
}
