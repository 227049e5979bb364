/** Blocks by the same rule, and how each of them ended: allowed later, waiting for an answer, or not tried again. */

import { Agent } from '../../agent.tsx'
import { Show, useCall } from '../../call.tsx'
import { none } from '../../figures.ts'
import { To, useView, type View } from '../../route.tsx'
import { service } from '../../service.ts'
import { texts } from '../../texts.ts'
import { type AuditEntry, actionIn, evaluated, stoppedBy } from '../../trail.ts'
import { Badge, Panel, Table, When } from '../../ui.tsx'

const t = texts.block
const most = 5
const looked = 200

type End = 'allowed' | 'not_tried_again' | 'dry_run' | 'pending' | 'approved' | 'denied' | 'expired' | 'consumed'

/** How a block ended, by the later evaluations of its agent; null for a reader that does not see what was allowed. */
async function endOf(entry: AuditEntry, trail: View['trail'], signal: AbortSignal): Promise<End | null> {
  const { approval_id, dry_run } = evaluated(entry.detail)
  if (dry_run) return 'dry_run'
  if (approval_id) return (await service.getApproval({ id: approval_id }, { signal })).state
  if (trail.allowed === false) return null
  const { entries } = await service.listAudit(
    { agent: entry.agent, since: entry.at, allowed: true, limit: looked },
    { signal },
  )
  const same = entries.some(({ seq, detail }) => seq > entry.seq && actionIn(detail) === actionIn(entry.detail))
  return same ? 'allowed' : 'not_tried_again'
}

export function Similar({ of }: { of: AuditEntry }) {
  const [rule] = stoppedBy(of)
  const { trail } = useView()
  const loaded = useCall(`similar ${of.seq} ${rule}`, async (signal) => {
    if (rule === undefined) return []
    const { entries } = await service.listAudit({ rule, allowed: false, limit: most + 1, ...trail }, { signal })
    const others = entries.filter(({ seq }) => seq !== of.seq).slice(0, most)
    const ends = await Promise.all(others.map((entry) => endOf(entry, trail, signal)))
    return others.map((entry, at) => ({ entry, end: ends[at]! }))
  })
  return (
    <Panel title={t.similar} lead={rule && t.similarLead(rule)}>
      <Show of={loaded}>
        {(rows) => (
          <>
            <Table
              caption={t.similar}
              empty={t.noSimilar}
              heads={t.similarHeads}
              rows={rows.map(({ entry, end }) => [
                <To path={`/blocks/${entry.seq}`}>{actionIn(entry.detail) || entry.method}</To>,
                <Agent of={entry.agent} />,
                <When at={entry.at} />,
                end ? <Badge of={end} /> : none,
              ])}
            />
            {rows.length > 0 && (
              <To path="/policy" query={{ rule, allowed: 'no' }} class="screen">
                {t.allSimilar}
              </To>
            )}
          </>
        )}
      </Show>
    </Panel>
  )
}
