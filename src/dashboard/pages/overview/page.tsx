/** Overview: decisions and their outcomes, what needs attention, and what was blocked. */
import type { GetStatsResult } from '../../../../sdk/client.ts'
import { Show, useCall } from '../../call.tsx'
import { Bars, Stack } from '../../charts.tsx'
import { Csv } from '../../csv.tsx'
import { decimal, none, type Period, percent, startOf, whole } from '../../figures.ts'
import { usePeriod } from '../../form.tsx'
import { To, ToDecision, useView } from '../../route.tsx'
import { service } from '../../service.ts'
import { texts } from '../../texts.ts'
import { actionIn, stoppedBy } from '../../trail.ts'
import { Badge, code, Empty, Figure, figures, List, Panel, Table, When } from '../../ui.tsx'
import { recentSentence, verdictNote, verdictSentence, verdictWords } from '../../verdict.ts'
import { ToBlock } from '../blocks/page.tsx'
import { Items } from '../inbox/items.tsx'
import { Outcomes } from './outcomes.tsx'

const t = texts.overview

async function load(period: Period, signal: AbortSignal) {
  const since = startOf(period)
  const from = since === undefined ? {} : { date_from: since }
  const [stats, calibration, recent, ready, approvals, breakers, latest] = await Promise.all([
    service.getStats(from, { signal }),
    service.getCalibration({ window: period }, { signal }),
    period === '30d' ? null : service.getCalibration({ window: '30d' }, { signal }),
    service.ready({ limit: 6, order: 'newest' }, { signal }),
    service.listApprovals({ state: 'pending', limit: 1 }, { signal }),
    service.listBreakers({}, { signal }),
    service.listDecisions({ limit: 6, ...from }, { signal }),
  ])
  return { since, stats, calibration, recent, waiting: ready.total + approvals.total, ready, breakers, latest }
}

/** All counts of the page, including those that it has no room for. */
const statsRows = ({ by_stakes, by_status, by_outcome, by_category, by_agent, by_day }: GetStatsResult) => [
  ...Object.entries({
    stakes: by_stakes,
    status: by_status,
    outcome: by_outcome,
    category: by_category,
    agent: by_agent,
  }).flatMap(([by, counts]) => Object.entries(counts).map(([value, decisions]) => ({ by, value, decisions }))),
  ...by_day.map(({ date, count }) => ({ by: 'day', value: date, decisions: count })),
]

export function Overview() {
  const [period, periodChoice] = usePeriod('period')
  const loaded = useCall(period, (signal) => load(period, signal))
  return (
    <>
      <div class="bar">{periodChoice}</div>
      <Show of={loaded}>
        {({ since, stats, calibration, recent, waiting, ready, breakers, latest }) => {
          const { overall } = calibration
          const open = breakers.breakers.filter(({ state }) => state !== 'closed')
          if (stats.total === 0 && period === 'all') return <Empty>{t.none(code)}</Empty>
          return (
            <>
              <p class="lead">{[verdictSentence(calibration), recentSentence(recent)].filter(Boolean).join(' ')}</p>
              <dl class="figures">
                <Figure
                  name={t.decisions}
                  value={whole(stats.total)}
                  note={t.lastWeek(whole(stats.recent_activity.last_7d))}
                />
                <Figure
                  name={t.reviewed}
                  value={whole(calibration.reviewed_decisions)}
                  note={t.share(percent(stats.total ? calibration.reviewed_decisions / stats.total : null))}
                />
                <Figure
                  name={t.accuracy}
                  term="accuracy"
                  value={percent(overall.accuracy)}
                  note={t.of(texts.amount.scoredDecision(overall.scored))}
                />
                <Figure name={t.brierScore} term="brier" value={decimal(overall.brier_score)} note={t.brierRange} />
                <Figure
                  name={t.confidence}
                  term="verdict"
                  value={<To path="/agents">{verdictWords(calibration, recent)}</To>}
                  note={verdictNote(calibration)}
                />
              </dl>
              <div class="panels">
                <Panel title={t.needsAttention} lead={t.newestFirst}>
                  {ready.actions.length === 0 ? (
                    <Empty>{waiting > 0 ? texts.inbox.onlyApprovals : texts.inbox.nothing}</Empty>
                  ) : (
                    <Items actions={ready.actions} />
                  )}
                  <p>
                    <To path="/inbox">{texts.inbox.all(waiting)}</To>
                  </p>
                </Panel>
                <Panel title={t.circuitBreakers} lead={t.breakersLead}>
                  {open.length === 0 ? (
                    <p>{breakers.total === 0 ? t.noBreaker : t.allClosed(whole(breakers.total))}</p>
                  ) : (
                    <List of={open}>
                      {({ scope, state, failure_count }) => (
                        <>
                          <Badge of={state} />{' '}
                          <To path={`/breakers/${encodeURIComponent(scope)}`}>
                            <code>{scope}</code>
                          </To>{' '}
                          {texts.amount.failure(failure_count)}
                        </>
                      )}
                    </List>
                  )}
                </Panel>
                <Panel title={t.outcomes} lead={t.outcomesLead}>
                  <Stack
                    unit={t.unit}
                    parts={(['success', 'partial', 'failure', 'abandoned'] as const).map((name) => ({
                      name,
                      value: stats.by_outcome[name] ?? 0,
                    }))}
                  />
                </Panel>
                <Panel title={t.byStakes}>
                  <Bars
                    unit={t.unit}
                    rows={(['low', 'medium', 'high', 'critical'] as const).map((name) => ({
                      name,
                      value: stats.by_stakes[name] ?? 0,
                      to: { path: '/decisions', query: { stakes: name, from: since?.slice(0, 10) } },
                    }))}
                  />
                </Panel>
                <Panel title={t.outcomesOverTime} wide>
                  <Outcomes since={since} days={stats.by_day} />
                </Panel>
                <Panel title={t.byCategory} wide>
                  <Bars
                    unit={t.unit}
                    rows={Object.entries(stats.by_category).map(([name, value]) => ({
                      name,
                      value,
                      to: { path: '/decisions', query: { category: name, from: since?.slice(0, 10) } },
                    }))}
                  />
                  <Csv name="decisions-counted" fields={['by', 'value', 'decisions']} rows={() => statsRows(stats)} />
                </Panel>
                <Panel title={t.latestDecisions} wide>
                  <Table
                    caption={t.latestDecisions}
                    empty={t.noneInPeriod}
                    heads={[t.decision, t.category, figures(t.confidence), t.outcome, t.day]}
                    rows={latest.decisions.map(({ id, title, category, confidence, outcome, date }) => [
                      <ToDecision id={id}>{title}</ToDecision>,
                      category ?? none,
                      percent(confidence),
                      <Badge of={outcome ?? 'pending'} />,
                      date,
                    ])}
                  />
                </Panel>
                <Panel title={t.latestBlocks} wide>
                  <Blocks />
                </Panel>
              </div>
            </>
          )
        }}
      </Show>
    </>
  )
}

/** The latest actions that guardrails and breakers blocked. */
function Blocks() {
  const { trail } = useView()
  const loaded = useCall('blocks', (signal) => service.listAudit({ allowed: false, limit: 5, ...trail }, { signal }))
  return (
    <>
      <Show of={loaded}>
        {({ entries }) => (
          <Table
            caption={t.latestBlocks}
            empty={t.noBlock}
            heads={[t.when, t.agent, t.action, t.blockedBy, t.call]}
            rows={entries.map((entry) => [
              <When at={entry.at} />,
              entry.agent,
              <ToBlock entry={entry}>{actionIn(entry.detail) || entry.method}</ToBlock>,
              stoppedBy(entry).join(', ') || t.error,
              <code>{entry.method}</code>,
            ])}
          />
        )}
      </Show>
      <p>
        <To path="/decisions" query={{ outcome: 'failure' }}>
          {t.failed}
        </To>
      </p>
    </>
  )
}
