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

interface Asked {
  since: string | undefined
  agent: string
  project: string
}

async function load({ since, agent, project }: Asked, signal: AbortSignal) {
  const filter = { ...(agent && { agent }), ...(project && { project }) }
  const options = { signal }
  const [briefing, ready, approvals] = await Promise.all([
    service.getBriefing({ ...filter, since: since ?? '1970-01-01' }, options),
    service.ready({ ...filter, sample: sampleSize, limit: 200 }, options),
    // Who may not see approvals still reads the rest.
    service.listApprovals({ state: 'pending', limit: 50 }, options).catch(() => noApprovals),
  ])
  const cells =
    approvals.total === 0 ? [] : (await service.getCalibration({ cells: 'agent_stakes', window: 'all' }, options)).cells
  return { briefing, ready, approvals, cells }
}

/** The records of the agent at the stakes of its request. */
function Record({ of, cells }: { of: ListApprovalsResult['approvals'][number]; cells: GetCalibrationResult['cells'] }) {
  const stakes = of.action.stakes ?? 'medium'
  const cell = cells.find((one) => one.agent === of.requester && one.stakes === stakes)
  if (!cell) return null
  return <span>{t.record(of.requester, stakes, cell)}</span>
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

function Waits({
  ready,
  stops,
  approvals,
  cells,
}: {
  ready: ReadyResult
  stops: GetBriefingResult['stops']
  approvals: ListApprovalsResult
  cells: GetCalibrationResult['cells']
}) {
  const reviews = ready.actions.filter(isReview)
  const contradictions = ready.actions.filter(({ type }) => type === 'contradiction')
  const current = ready.actions.filter((one) => !isReview(one) && one.type !== 'contradiction')
  const conditions = [...current, ...contradictions.slice(0, mostContradictions)]
  const more = contradictions.length - mostContradictions
  return (
    <Panel title={t.waits}>
      {approvals.total + ready.total === 0 && <Empty>{t.nothingWaits}</Empty>}
      <Approvals of={approvals} cells={cells} />
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
      {approvals.total + ready.total > 0 && (
        <p>
          <To path="/inbox">{t.all(approvals.total + ready.total)}</To>
        </p>
      )}
    </Panel>
  )
}

/** Whose decisions are looked at: everyone's, the reader's own, those of another agent; and of which project. */
function Whose({ agent, project }: { agent: string; project: string }) {
  const { place, session } = useView()
  const stats = useCall('agents', (signal) => service.getStats({}, { signal })).data
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
        <Field label={t.project} name="project" placeholder={t.projectHint} defaultValue={project} />
      </Form>
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
  const loaded = useCall(`${period} ${agent} ${project}`, (signal) =>
    load({ since: period === '' ? looked! : startOf(period), agent, project }, signal),
  )
  return (
    <>
      <div class="bar">
        {periodChoice}
        <Whose agent={agent} project={project} />
      </div>
      <Astray agent={agent || undefined} since={period === '' ? looked! : startOf(period)} />
      <Show of={loaded}>
        {({ briefing, ready, approvals, cells }) => {
          const { worse, weeks, lessons } = briefing
          const isEmpty =
            briefing.decisions + ready.total + approvals.total === 0 && weeks.every(({ scored }) => scored === 0)
          return (
            <>
              {isEmpty && <Start />}
              <Waits ready={ready} stops={briefing.stops} approvals={approvals} cells={cells} />
              <Changes of={briefing} />
              {weeks.some(({ scored }) => scored > 0) && (
                <Panel title={t.worse} lead={worse ? t.fell(worse) : t.noneWorse}>
                  <Weeks weeks={weeks} />
                </Panel>
              )}
              <Panel title={t.learnt}>
                <List of={lessons} empty={t.noneLearnt}>
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
          )
        }}
      </Show>
    </>
  )
}
