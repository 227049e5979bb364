/** Today: what waits for the reader, what changed since the last look, what gets worse, and what was learnt. */
import { useState } from 'preact/hooks'
import type {
  GetBriefingResult,
  GetCalibrationResult,
  ListApprovalsResult,
  ReadyResult,
} from '../../../../sdk/client.ts'
import { Agent } from '../../agent.tsx'
import { Show, useCall } from '../../call.tsx'
import { local, type Period, startOf } from '../../figures.ts'
import { Choice, Field, Form, keptOf, usePeriod } from '../../form.tsx'
import { goWith, To, ToDecision, useView } from '../../route.tsx'
import { service } from '../../service.ts'
import { texts } from '../../texts.ts'
import { Badge, Empty, List, Panel, When } from '../../ui.tsx'
import { Suggestions } from '../decisions/filters.tsx'
import { known } from '../decisions/search.ts'
import { Items, isReview } from '../inbox/items.tsx'
import { Astray } from '../trust/astray.tsx'
import { Changes } from './changes.tsx'
import { Weeks } from './chart.tsx'
import { lookedBefore } from './looked.ts'
import { Start } from './start.tsx'

const t = texts.today
/** Reviews that are asked for, contradictions and approvals that are shown. */
const [sampleSize, mostContradictions, mostApprovals] = [12, 3, 12]
const noApprovals: ListApprovalsResult = { approvals: [], total: 0 }
const noCells: Pick<GetCalibrationResult, 'cells'> = { cells: [] }

/** Approvals that wait, and the records of the agents that ask. Who may not see approvals still reads the rest. */
async function loadApprovals(signal: AbortSignal) {
  const options = { signal }
  const approvals = await service.listApprovals({ state: 'pending', limit: 50 }, options).catch(() => noApprovals)
  const { cells } =
    approvals.total === 0 ? noCells : await service.getCalibration({ cells: 'agent_stakes', window: 'all' }, options)
  return { approvals, cells }
}

/** The records of the agent at the stakes of its request. */
function Record({ of, cells }: { of: ListApprovalsResult['approvals'][number]; cells: GetCalibrationResult['cells'] }) {
  const stakes = of.action.stakes ?? 'medium'
  const cell = cells.find((one) => one.agent === of.requester && one.stakes === stakes)
  if (!cell) return null
  return <span>{t.record(stakes, cell)}</span>
}

function Approvals({ of, cells }: { of: ListApprovalsResult; cells: GetCalibrationResult['cells'] }) {
  const soonest = [...of.approvals].sort((a, b) => (a.expires_at < b.expires_at ? -1 : 1))
  return (
    <List of={soonest.slice(0, mostApprovals)}>
      {(one) => (
        <>
          <To path={`/approvals/${one.id}`}>{one.action.description}</To> <Badge of={one.action.stakes ?? 'medium'} />
          <div class="quiet facts">
            <Agent of={one.requester} />
            <span>{t.expires(<When at={one.expires_at} />)}</span>
            <Record of={one} cells={cells} />
          </div>
        </>
      )}
    </List>
  )
}

/** What waits, beside approvals. @param approvals how many wait; null until that is known */
function Waits({
  ready,
  stops,
  approvals,
}: {
  ready: ReadyResult
  stops: GetBriefingResult['stops']
  approvals: number | null
}) {
  const reviews = ready.actions.filter(isReview)
  const contradictions = ready.actions.filter(({ type }) => type === 'contradiction')
  const current = ready.actions.filter((one) => !isReview(one) && one.type !== 'contradiction')
  const conditions = [...current, ...contradictions.slice(0, mostContradictions)]
  const more = contradictions.length - mostContradictions
  const total = (approvals ?? 0) + ready.total
  return (
    <>
      {total === 0 && approvals !== null && <Empty>{t.nothingWaits}</Empty>}
      {conditions.length > 0 && <Items actions={conditions} stops={stops} />}
      {more > 0 && (
        <p class="quiet">
          <To path="/inbox" query={{ type: 'contradiction' }}>
            {t.moreContradictions(more)}
          </To>
        </p>
      )}
      {reviews.length > 0 && (
        <>
          <h3>{t.reviews}</h3>
          {ready.sample && <p class="quiet">{t.sample(ready.sample.shown, ready.sample.of, ready.sample.share)}</p>}
          <Items actions={reviews} />
        </>
      )}
      {total > 0 && (
        <p>
          <To path="/inbox">{t.all(total)}</To>
        </p>
      )}
    </>
  )
}

/** Whose decisions are looked at: everyone's, the reader's own, those of another agent; and of which project. */
function Whose({ agent, project }: { agent: string; project: string }) {
  const { place, session } = useView()
  const stats = useCall('known', known).data
  const names = Object.keys(stats?.by_agent ?? {}).filter((name) => name !== session.agent)
  const options = [
    ['', t.everyone] as const,
    [session.agent, t.mine] as const,
    ...[...new Set([...names, ...(agent && agent !== session.agent ? [agent] : [])])].map(
      (name) => [name, name] as const,
    ),
  ]
  return (
    <>
      <Choice
        label={t.whose}
        name="agent"
        value={agent}
        options={options}
        onChange={(value) => goWith(place, { agent: value || null })}
      />
      <Form submit={(read) => goWith(place, { project: read('project').trim() || null })} aria-label={t.project}>
        <Field
          label={t.project}
          name="project"
          placeholder={t.projectHint}
          defaultValue={project}
          list="known-project"
        />
      </Form>
      <Suggestions stats={stats} />
    </>
  )
}

export function Today() {
  const { place } = useView()
  const [looked] = useState(lookedBefore)
  const [period, periodChoice] = usePeriod<Period | ''>('period', [
    ...(looked === null ? [] : [['', t.looked(local(looked))] as const]),
    ...texts.recent,
  ])
  const { agent, project } = keptOf(place, ['agent', 'project'])
  const of = { ...(agent && { agent }), ...(project && { project }) }
  const since = period === '' ? looked! : startOf(period)
  // Each part appears as soon as its own answer is there: over many decisions, some take a while.
  const approvals = useCall('approvals', loadApprovals)
  const ready = useCall(`${agent} ${project}`, (signal) =>
    service.ready({ ...of, sample: sampleSize, limit: 200 }, { signal }),
  )
  const briefing = useCall(`${period} ${agent} ${project}`, (signal) =>
    service.getBriefing({ ...of, since: since ?? '1970-01-01' }, { signal }),
  )
  const waiting = approvals.data?.approvals.total ?? null
  const isEmpty =
    waiting === 0 &&
    ready.data?.total === 0 &&
    briefing.data?.decisions === 0 &&
    briefing.data.weeks.every(({ scored }) => scored === 0)
  return (
    <>
      <div class="bar">
        {periodChoice}
        <Whose agent={agent} project={project} />
      </div>
      <Astray agent={agent || undefined} since={since} />
      {isEmpty && <Start />}
      <Panel title={t.waits}>
        <Show of={approvals}>{(data) => <Approvals of={data.approvals} cells={data.cells} />}</Show>
        <Show of={ready}>
          {(data) => <Waits ready={data} stops={briefing.data?.stops ?? []} approvals={waiting} />}
        </Show>
      </Panel>
      <Show of={briefing}>
        {(data) => (
          <>
            <Changes of={data} />
            {data.weeks.some(({ scored }) => scored > 0) && (
              <Panel title={t.worse} lead={data.worse ? t.fell(data.worse) : t.noneWorse}>
                <Weeks weeks={data.weeks} />
              </Panel>
            )}
            <Panel title={t.learnt}>
              <List of={data.lessons} empty={t.noneLearnt}>
                {({ text, id, agent: by, shown }) => (
                  <>
                    <ToDecision id={id}>{text}</ToDecision>
                    <div class="quiet facts">
                      <Agent of={by} />
                      <span>{t.shown(shown)}</span>
                    </div>
                  </>
                )}
              </List>
            </Panel>
          </>
        )}
      </Show>
    </>
  )
}
