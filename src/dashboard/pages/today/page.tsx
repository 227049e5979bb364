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
import { pendingApprovals } from '../inbox/approvals.ts'
import { Items, isReview, sampleSize } from '../inbox/items.tsx'
import { Astray } from '../trust/astray.tsx'
import { Changes } from './changes.tsx'
import { Weeks } from './chart.tsx'
import { lookedBefore } from './looked.ts'
import { Start } from './start.tsx'

const t = texts.today
/** Contradictions and approvals that are shown. */
const [mostContradictions, mostApprovals] = [3, 12]
const noCells: Pick<GetCalibrationResult, 'cells'> = { cells: [] }

/** Approvals that wait, and the records of the agents that ask. */
async function loadApprovals(signal: AbortSignal) {
  const approvals = await pendingApprovals(signal)
  const asked = { cells: 'agent_stakes', window: 'all' } as const
  const { cells } = approvals.total === 0 ? noCells : await service.getCalibration(asked, { signal })
  return { approvals, cells }
}

/** What waits for an approval, with the record of the agent at these stakes once for all of its requests. */
function Approvals({ of, cells }: { of: ListApprovalsResult; cells: GetCalibrationResult['cells'] }) {
  const stakesOf = ({ action }: (typeof of.approvals)[number]) => action.stakes ?? 'medium'
  const groups = Map.groupBy(of.approvals.slice(0, mostApprovals), (one) => `${stakesOf(one)} ${one.requester}`)
  return (
    <List of={[...groups.values()]}>
      {(group) => {
        const [agent, stakes] = [group[0]!.requester, stakesOf(group[0]!)]
        const cell = cells.find((one) => one.agent === agent && one.stakes === stakes)
        return (
          <>
            {group.map(({ id, action, expires_at }) => (
              <div key={id} class="facts">
                <To path={`/approvals/${id}`}>{action.description}</To>
                <span class="quiet">{t.expires(<When at={expires_at} />)}</span>
              </div>
            ))}
            <div class="quiet facts">
              <Agent of={agent} /> <Badge of={stakes} /> {cell && <span>{t.record(stakes, cell)}</span>}
            </div>
          </>
        )
      }}
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
      {total > Math.min(approvals ?? 0, mostApprovals) + conditions.length + reviews.length && (
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
  const others = new Set(
    [...Object.keys(stats?.by_agent ?? {}), agent].filter((name) => name && name !== session.agent),
  )
  const options = [['', t.everyone], [session.agent, t.mine], ...others] as const
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
        {(data) =>
          !isEmpty && (
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
          )
        }
      </Show>
    </>
  )
}
