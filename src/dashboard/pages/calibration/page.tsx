/** Calibration: how well the stated confidence fits the outcomes, and what to do about it. */
import type { GetCalibrationParams, GetCalibrationResult } from '../../../../sdk/client.ts'
import { Show, useCall } from '../../call.tsx'
import { Bars } from '../../charts.tsx'
import { counted, decimal, gapPoints, percent, periods, signed } from '../../figures.ts'
import { Choice, type Options } from '../../form.tsx'
import { goWith, type View } from '../../route.tsx'
import { service } from '../../service.ts'
import { Badge, Empty, Figure, Panel } from '../../ui.tsx'
import { rangesOff, recentSentence, verdictNote, verdictSentence, verdictWords } from '../../verdict.ts'
import { Breakdown, Compared } from './breakdown.tsx'
import { Reliability } from './diagram.tsx'
import { Drift } from './drift.tsx'

async function load(params: GetCalibrationParams, signal: AbortSignal) {
  const [report, stats, recent] = await Promise.all([
    service.getCalibration({ ...params, cells: 'agent_category' }, { signal }),
    service.getStats({}, { signal }),
    params.window === '30d' ? null : service.getCalibration({ ...params, window: '30d' }, { signal }),
  ])
  return { report, stats, recent }
}

/** What to do; with what is off in the last 30 days nothing says that all is well. */
function adviceOf(report: GetCalibrationResult, recent: GetCalibrationResult | null) {
  if (recentSentence(recent) === null) return report.recommendations
  const pressing = [...recent!.recommendations, ...report.recommendations].filter(({ severity }) => severity !== 'info')
  return [...new Map(pressing.map((one) => [one.message, one])).values()]
}

export function Calibration({ place }: View) {
  const asked = (name: string) => place.query.get(name) ?? ''
  const window = periods.find(([name]) => name === asked('window'))?.[0] ?? 'all'
  const agent = asked('agent')
  const category = asked('category')
  const of = { ...(agent && { agent }), ...(category && { category }) }
  const loaded = useCall(place.query.toString(), (signal) => load({ ...of, window }, signal))
  const names = (counts: Record<string, number> | undefined, chosen: string): Options => [
    ['', 'all'],
    ...new Set([...Object.keys(counts ?? {}), ...(chosen ? [chosen] : [])]),
  ]
  const stats = loaded.data?.stats
  return (
    <>
      <div class="bar">
        <Choice
          label="Period"
          name="window"
          value={window}
          options={periods.toReversed()}
          onChange={(value) => goWith(place, { window: value === 'all' ? null : value })}
        />
        <Choice
          label="Agent"
          name="agent"
          value={agent}
          options={names(stats?.by_agent, agent)}
          onChange={(value) => goWith(place, { agent: value })}
        />
        <Choice
          label="Category"
          name="category"
          value={category}
          options={names(stats?.by_category, category)}
          onChange={(value) => goWith(place, { category: value })}
        />
      </div>
      <Show of={loaded}>
        {({ report, recent }) => {
          const { overall, buckets, confidence_stats } = report
          const recommendations = adviceOf(report, recent)
          const off = rangesOff(report)
          return (
            <>
              <p class="lead">{[verdictSentence(report), recentSentence(recent)].filter(Boolean).join(' ')}</p>
              <dl class="figures">
                <Figure name="Verdict" term="verdict" value={verdictWords(report, recent)} note={verdictNote(report)} />
                <Figure
                  name="Brier score"
                  term="brier"
                  value={decimal(overall.brier_score)}
                  note="0 is best, 1 worst"
                />
                <Figure
                  name="Accuracy"
                  term="accuracy"
                  value={percent(overall.accuracy, 1)}
                  note={`mean confidence ${percent(overall.mean_confidence, 1)}`}
                />
                <Figure
                  name="Gap"
                  term="gap"
                  value={gapPoints(overall.calibration_gap)}
                  note={`of ${counted(overall.scored, 'scored decision')}`}
                />
                <Figure
                  name="Calibration error"
                  term="ece"
                  value={decimal(overall.ece)}
                  note={
                    overall.ece === null ? null : `chance alone gives ${decimal(overall.ece_noise_floor)} on average`
                  }
                />
              </dl>
              <div class="panels">
                <Panel title="What to do">
                  {recommendations.length === 0 ? (
                    <Empty>No change is needed.</Empty>
                  ) : (
                    <ul class="plain">
                      {recommendations.map(({ type, message, severity }) => (
                        <li key={type + message}>
                          <Badge of={severity} /> {message}
                        </li>
                      ))}
                    </ul>
                  )}
                </Panel>
                <Panel
                  title="Reliability"
                  lead="Each dot is a group of decisions with about the same confidence. A dot on the line is well calibrated; below it the agent was overconfident."
                >
                  <Reliability buckets={buckets} floor={overall.ece_noise_floor} />
                  <p>
                    {overall.ece === null
                      ? 'No decisions are scored yet.'
                      : off === 0
                        ? 'No range is further from the line than chance explains.'
                        : `${counted(off, 'range')} of five ${off === 1 ? 'is' : 'are'} further from the line than chance explains.`}
                  </p>
                </Panel>
                <Panel title="Stated confidence" lead="Decisions by tenth of stated confidence.">
                  <Bars
                    unit="decisions"
                    rows={confidence_stats.histogram.map((value, at) => ({
                      name: `${at * 10} to ${(at + 1) * 10} %`,
                      value,
                    }))}
                  />
                  {confidence_stats.habituation_detected && (
                    <p class="notice warn">The confidence hardly varies: it may be stated out of habit.</p>
                  )}
                </Panel>
                <Panel title="Parts of the Brier score" lead="Brier score = reliability − resolution + uncertainty.">
                  <dl class="figures">
                    <Figure name="Reliability" term="reliability" value={decimal(overall.reliability)} />
                    <Figure name="Resolution" term="resolution" value={decimal(overall.resolution)} />
                    <Figure name="Uncertainty" term="uncertainty" value={decimal(overall.uncertainty)} />
                    <Figure name="Skill" term="skill" value={signed(overall.skill)} />
                    <Figure name="Log score" term="log" value={decimal(overall.log_score)} />
                  </dl>
                </Panel>
                <Panel title="Is it getting worse?" wide>
                  <Drift of={of} />
                </Panel>
                <Panel
                  title="By source of outcome"
                  lead="Evidence, reviews by others, and an agent's own reviews are kept apart."
                  wide
                >
                  <Breakdown
                    first="Source of outcome"
                    rows={[
                      { name: 'observed evidence', overall: report.by_reviewer.observed },
                      { name: 'reviewed by another agent', overall: report.by_reviewer.others },
                      { name: 'reviewed by the recorder', overall: report.by_reviewer.self },
                    ]}
                  />
                </Panel>
                {category === '' && (
                  <Panel title="By category" wide>
                    <Compared
                      first="Category"
                      key={`c ${agent} ${window}`}
                      names={Object.keys(stats?.by_category ?? {})}
                      as="category"
                      of={{ ...of, window }}
                      cells={report.cells}
                    />
                  </Panel>
                )}
                {agent === '' && (
                  <Panel title="By agent" wide>
                    <Compared
                      first="Agent"
                      key={`a ${category} ${window}`}
                      names={Object.keys(stats?.by_agent ?? {})}
                      as="agent"
                      of={{ ...of, window }}
                      cells={report.cells}
                    />
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
