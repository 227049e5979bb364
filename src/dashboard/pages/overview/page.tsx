/** Overview: decisions and their outcomes, what needs attention, and what was blocked. */
import type { GetStatsResult } from '../../../../sdk/client.ts'
import { Failure, Show, useCall } from '../../call.tsx'
import { Bars, Stack } from '../../charts.tsx'
import { Csv } from '../../csv.tsx'
import { counted, decimal, none, type Period, percent, periods, startOf, whole } from '../../figures.ts'
import { Choice } from '../../form.tsx'
import { goWith, To, ToDecision, type View } from '../../route.tsx'
import { service } from '../../service.ts'
import { texts } from '../../texts.ts'
import { actionIn, stoppedBy } from '../../trail.ts'
import { Badge, Empty, Figure, Panel, Table, When } from '../../ui.tsx'
import { recentSentence, verdictNote, verdictSentence, verdictWords } from '../../verdict.ts'
import { ToBlock } from '../blocks/page.tsx'
import { Items } from '../inbox/items.tsx'
import { Outcomes } from './outcomes.tsx'

async function load(period: Period, signal: AbortSignal) {
  const since = startOf(period)
  const from = since === undefined ? {} : { date_from: since }
  const [stats, calibration, recent, ready, approvals, breakers, latest] = await Promise.all([
    service.getStats(from, { signal }),
    service.getCalibration({ window: period }, { signal }),
    period === '30d' ? null : service.getCalibration({ window: '30d' }, { signal }),
    service.ready({ limit: 6 }, { signal }),
    service.listApprovals({ state: 'pending', limit: 1 }, { signal }),
    service.listBreakers({}, { signal }),
    service.listDecisions({ limit: 6, ...from }, { signal }),
  ])
  return { since, stats, calibration, recent, waiting: ready.total + approvals.total, ready, breakers, latest }
}

/** All counts of the page, and those that it has no room for. */
const statsRows = ({ by_stakes, by_status, by_outcome, by_category, by_agent, by_day }: GetStatsResult) => [
  ...Object.entries({
    stakes: by_stakes,
    status: by_status,
    outcome: by_outcome,
    category: by_category,
    agent: by_agent,
  }).flatMap(([by, counts]) => Object.entries(counts).map(([value, count]) => [by, value, count])),
  ...by_day.map(({ date, count }) => ['day', date, count]),
]

export function Overview({ place, session }: View) {
  const asked = place.query.get('period')
  const period = periods.find(([name]) => name === asked)?.[0] ?? 'all'
  const loaded = useCall(period, (signal) => load(period, signal))
  return (
    <>
      <div class="bar">
        <Choice
          label="Period"
          name="period"
          value={period}
          options={periods}
          onChange={(value) => goWith(place, { period: value === 'all' ? null : value })}
        />
      </div>
      <Show of={loaded}>
        {({ since, stats, calibration, recent, waiting, ready, breakers, latest }) => {
          const { overall } = calibration
          const open = breakers.breakers.filter(({ state }) => state !== 'closed')
          if (stats.total === 0 && period === 'all')
            return (
              <Empty>
                No decisions are recorded yet. Agents record them with <code>cstp.recordDecision</code> or{' '}
                <code>cstp.preAction</code>.
              </Empty>
            )
          return (
            <>
              <p class="lead">{[verdictSentence(calibration), recentSentence(recent)].filter(Boolean).join(' ')}</p>
              <dl class="figures">
                <Figure
                  name="Decisions"
                  value={whole(stats.total)}
                  note={`${whole(stats.recent_activity.last_7d)} in the last 7 days`}
                />
                <Figure
                  name="Reviewed"
                  value={whole(calibration.reviewed_decisions)}
                  note={`${percent(stats.total ? calibration.reviewed_decisions / stats.total : null)} of them`}
                />
                <Figure
                  name="Accuracy"
                  term="accuracy"
                  value={percent(overall.accuracy)}
                  note={`of ${counted(overall.scored, 'scored decision')}`}
                />
                <Figure
                  name="Brier score"
                  term="brier"
                  value={decimal(overall.brier_score)}
                  note="0 is best, 1 worst"
                />
                <Figure
                  name="Confidence"
                  term="verdict"
                  value={<To path="/trust">{verdictWords(calibration, recent)}</To>}
                  note={verdictNote(calibration)}
                />
              </dl>
              <div class="panels">
                <Panel title="Needs attention" lead="The most urgent first.">
                  {ready.actions.length === 0 ? (
                    <Empty>{waiting > 0 ? texts.inbox.onlyApprovals : texts.inbox.nothing}</Empty>
                  ) : (
                    <Items actions={ready.actions} mayReview={false} changed={loaded.again} />
                  )}
                  <p>
                    <To path="/inbox">{texts.inbox.all(waiting)}</To>
                  </p>
                </Panel>
                <Panel title="Circuit breakers" lead="An open breaker blocks actions until its cooldown is over.">
                  {open.length === 0 ? (
                    <p>
                      {breakers.total === 0 ? 'No breaker is configured.' : `All ${whole(breakers.total)} are closed.`}
                    </p>
                  ) : (
                    <ul class="plain">
                      {open.map(({ scope, state, failure_count }) => (
                        <li key={scope}>
                          <Badge of={state} />{' '}
                          <To path={`/breakers/${encodeURIComponent(scope)}`}>
                            <code>{scope}</code>
                          </To>{' '}
                          {counted(failure_count, 'failure')}
                        </li>
                      ))}
                    </ul>
                  )}
                </Panel>
                <Panel title="Outcomes" lead="Of reviewed decisions.">
                  <Stack
                    unit="decisions"
                    parts={(['success', 'partial', 'failure', 'abandoned'] as const).map((name) => ({
                      name,
                      value: stats.by_outcome[name] ?? 0,
                    }))}
                  />
                </Panel>
                <Panel title="By stakes">
                  <Bars
                    unit="decisions"
                    rows={(['low', 'medium', 'high', 'critical'] as const).map((name) => ({
                      name,
                      value: stats.by_stakes[name] ?? 0,
                      to: { path: '/decisions', query: { stakes: name, from: since?.slice(0, 10) } },
                    }))}
                  />
                </Panel>
                <Panel title="Outcomes over time" wide>
                  <Outcomes since={since} days={stats.by_day} />
                </Panel>
                <Panel title="By category" wide>
                  <Bars
                    unit="decisions"
                    rows={Object.entries(stats.by_category).map(([name, value]) => ({
                      name,
                      value,
                      to: { path: '/decisions', query: { category: name, from: since?.slice(0, 10) } },
                    }))}
                  />
                </Panel>
                <p class="wide">
                  <Csv name="decisions-counted" heads={['by', 'value', 'decisions']} rows={() => statsRows(stats)} />
                </p>
                <Panel title="Latest decisions" wide>
                  {latest.decisions.length === 0 ? (
                    <Empty>No decision was recorded in this period. Choose a longer one.</Empty>
                  ) : (
                    <Table
                      caption="Latest decisions"
                      heads={[
                        { name: 'Decision' },
                        { name: 'Category' },
                        { name: 'Confidence', number: true },
                        { name: 'Outcome' },
                        { name: 'Day' },
                      ]}
                      rows={latest.decisions.map(({ id, title, category, confidence, outcome, date }) => [
                        <ToDecision id={id}>{title}</ToDecision>,
                        category ?? none,
                        percent(confidence),
                        <Badge of={outcome ?? 'pending'} />,
                        date,
                      ])}
                    />
                  )}
                </Panel>
                {session.scopes.includes('admin') ? (
                  <Blocks />
                ) : (
                  <Panel title="Latest blocks" wide>
                    <Empty>To see what was blocked your agent needs the scope admin.</Empty>
                  </Panel>
                )}
              </div>
            </>
          )
        }}
      </Show>
    </>
  )
}

/** What guardrails and breakers blocked last. */
function Blocks() {
  const loaded = useCall('blocks', (signal) => service.listAudit({ allowed: false, limit: 5 }, { signal }))
  return (
    <Panel title="Latest blocks" wide>
      {loaded.error !== null && <Failure error={loaded.error} again={loaded.again} />}
      {loaded.data?.entries.length === 0 && <Empty>Nothing was blocked yet.</Empty>}
      {loaded.data && loaded.data.entries.length > 0 && (
        <Table
          caption="Latest blocks"
          heads={[{ name: 'When' }, { name: 'Agent' }, { name: 'Action' }, { name: 'Blocked by' }, { name: 'Call' }]}
          rows={loaded.data.entries.map((entry) => [
            <When at={entry.at} />,
            entry.agent,
            <ToBlock entry={entry}>{actionIn(entry.detail) || entry.method}</ToBlock>,
            stoppedBy(entry).join(', ') || 'an error',
            <code>{entry.method}</code>,
          ])}
        />
      )}
      <p>
        <To path="/decisions" query={{ outcome: 'failure' }}>
          See decisions that failed
        </To>
      </p>
    </Panel>
  )
}
