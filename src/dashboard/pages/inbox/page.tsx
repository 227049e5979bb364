/** The inbox: everything that waits for a person, by type, newest first, each item with a way to settle it. */
import type { ReadyParams, ReadyResult } from '../../../../sdk/client.ts'
import { Agent } from '../../agent.tsx'
import { Show, useCall } from '../../call.tsx'
import { allRows, Csv } from '../../csv.tsx'
import { whole } from '../../figures.ts'
import { FilterBar, keptOf, Pager, PlaceChoice, pageIn } from '../../form.tsx'
import { To, useArrival, useView } from '../../route.tsx'
import { service } from '../../service.ts'
import { texts } from '../../texts.ts'
import { Badge, Empty, Panel, Table, When } from '../../ui.tsx'
import { Suggestions } from '../decisions/filters.tsx'
import { known } from '../decisions/search.ts'
import { noApprovals, pendingApprovals } from './approvals.ts'
import { Items } from './items.tsx'

const t = texts.inbox
type Type = ReadyResult['actions'][number]['type']
const types = Object.keys(t.types) as Type[]
const pageSize = 50
const mostItems = 200

const fields = ['type', 'priority', 'date', 'decision_id', 'category', 'title', 'reason', 'suggestion'] as const

/** Every item that passes the filters, not only the page that is shown. */
const csvRows = (asked: ReadyParams) =>
  allRows(async (from) => {
    const { actions } = await service.ready({ ...asked, offset: from, limit: mostItems })
    return { rows: actions, next: actions.length === mostItems ? from + mostItems : null }
  })

export function Inbox() {
  const { place, edits } = useView()
  const { type, category, agent, project, order } = keptOf(place, ['type', 'category', 'agent', 'project', 'order'])
  const page = pageIn(place)
  const chosen = types.find((one) => one === type)
  const urgent = order === 'urgent'
  const asked: ReadyParams = {
    order: urgent ? 'urgent' : 'newest',
    ...(chosen && { action_types: [chosen] }),
    ...(category && { category }),
    ...(agent && { agent }),
    ...(project && { project }),
  }
  const loaded = useCall(place.query.toString(), async (signal) => {
    const [ready, approvals] = await Promise.all([
      service.ready({ ...asked, offset: (page - 1) * pageSize, limit: pageSize }, { signal }),
      // Filters by category, agent or project concern decisions only.
      category || agent || project ? noApprovals : pendingApprovals(signal),
    ])
    return { ready, approvals }
  })
  const status = useArrival<HTMLParagraphElement>(page)
  const counts = loaded.data?.ready.by_type ?? {}
  const approvals = loaded.data?.approvals
  const of = (name: string, count: number | undefined): string => (loaded.data ? t.of(name, whole(count ?? 0)) : name)
  return (
    <>
      <Suggestions stats={useCall('known', known).data} />
      <div class="bar">
        <PlaceChoice
          label={t.type}
          name="type"
          value={type}
          options={[
            ['', of(t.allTypes, loaded.data ? loaded.data.ready.total + approvals!.total : 0)],
            ['approval', of(t.approvals, approvals?.total)],
            ...types.map((one) => [one, of(t.types[one], counts[one])] as const),
          ]}
        />
        <FilterBar
          fields={[
            { name: 'category', label: t.category, list: 'known-category' },
            { name: 'agent', label: t.agent, list: 'known-agent' },
            { name: 'project', label: t.project, list: 'known-project' },
          ]}
          choice={{
            name: 'order',
            label: t.order,
            options: [
              ['', t.newest],
              ['urgent', t.urgent],
            ],
          }}
          cursor="page"
        />
      </div>
      <Show of={loaded}>
        {({ ready, approvals: waitingApprovals }) => {
          const showApprovals = (type === '' || type === 'approval') && page === 1
          const total = type === 'approval' ? 0 : chosen ? (ready.by_type[chosen] ?? 0) : ready.total
          const last = Math.max(1, Math.ceil(total / pageSize))
          return (
            <>
              <p role="status" tabIndex={-1} ref={status}>
                {t.headline(total + (type === '' || type === 'approval' ? waitingApprovals.total : 0))}
              </p>
              {ready.warnings.map((one) => (
                <p class="notice warn" key={one}>
                  {one}
                </p>
              ))}
              {showApprovals && waitingApprovals.total > 0 && (
                <Panel title={t.approvals}>
                  <Table
                    caption={t.approvals}
                    heads={t.approvalHeads}
                    rows={waitingApprovals.approvals.map((one) => [
                      <To path={`/approvals/${one.id}`}>{one.action.description}</To>,
                      <Agent of={one.requester} />,
                      <Badge of={one.action.stakes ?? 'medium'} />,
                      <When at={one.expires_at} />,
                    ])}
                  />
                </Panel>
              )}
              {type !== 'approval' &&
                (total > 0 && ready.actions.length === 0 ? (
                  <Empty>{t.beyond}</Empty>
                ) : total === 0 ? (
                  waitingApprovals.total === 0 && (
                    <Empty>{chosen || category || agent || project ? t.noMatch : t.nothing}</Empty>
                  )
                ) : (
                  <Panel title={t.items} lead={edits ? t.keys : t.keysRead}>
                    <Items actions={ready.actions} />
                    <Csv name="inbox" fields={fields} rows={() => csvRows(asked)} />
                  </Panel>
                ))}
              {type !== 'approval' && <Pager name={t.pages} page={page} last={last} />}
            </>
          )
        }}
      </Show>
    </>
  )
}
