/** Calibration: whether the stated confidence comes true, and what to do about it. */
import type { GetCalibrationParams } from '../../../../sdk/client.ts'
import { Show, useCall } from '../../call.tsx'
import { decimal, percent, signed, whole, words } from '../../figures.ts'
import { goWith, type View } from '../../route.tsx'
import { service } from '../../service.ts'
import { Badge, Choice, Empty, Figure, Panel } from '../../ui.tsx'
import { Breakdown, Compared } from './breakdown.tsx'
import { Histogram, Reliability } from './diagram.tsx'
import { Drift } from './drift.tsx'

const windows = [
  ['all', 'All time'],
  ['90d', 'Last 90 days'],
  ['60d', 'Last 60 days'],
  ['30d', 'Last 30 days'],
] as const

const verdicts: Record<string, string> = {
  well_calibrated: 'What the agents say comes true about as often as they say it will.',
  slightly_overconfident: 'The agents are a little surer than they should be. Take a few points off their confidence.',
  overconfident:
    'The agents are much surer than they should be. Take their confidence for less than they say, and ask for more reasons.',
  slightly_underconfident: 'The agents could be a little surer than they are.',
  underconfident: 'The agents succeed far more often than they expect. Their doubts cost more than they save.',
  insufficient_data:
    'Too few decisions were reviewed to say anything. Review more of them: the overview lists what is due.',
}

async function load(params: GetCalibrationParams, signal: AbortSignal) {
  const [report, stats] = await Promise.all([
    service.getCalibration(params, { signal }),
    service.getStats({}, { signal }),
  ])
  return { report, stats }
}

export function Calibration({ place }: View) {
  const asked = (name: string) => place.query.get(name) ?? ''
  const window = windows.find(([name]) => name === asked('window'))?.[0] ?? 'all'
  const agent = asked('agent')
  const category = asked('category')
  const of = { ...(agent && { agent }), ...(category && { category }) }
  const loaded = useCall(place.query.toString(), (signal) => load({ ...of, window }, signal))
  const names = (counts: Record<string, number> | undefined, chosen: string): [string, string][] => [
    ['', 'all'],
    ...[...new Set([...Object.keys(counts ?? {}), ...(chosen ? [chosen] : [])])].map((name): [string, string] => [
      name,
      name,
    ]),
  ]
  const stats = loaded.data?.stats
  return (
    <>
      <div class="bar">
        <Choice
          label="Period"
          name="window"
          value={window}
          options={[...windows]}
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
        {({ report }) => {
          const { overall, buckets, confidence_stats, recommendations } = report
          const proven =
            overall.ece !== null && overall.ece_noise_floor !== null && overall.ece > overall.ece_noise_floor
          return (
            <>
              <p class="lead">{verdicts[overall.interpretation] ?? words(overall.interpretation)}</p>
              <dl class="figures">
                <Figure
                  name="Verdict"
                  value={words(overall.interpretation)}
                  note={`from ${whole(overall.scored)} scored decisions`}
                />
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
                  note={`said ${percent(confidence_stats.mean, 1)} on average`}
                />
                <Figure name="Gap" term="gap" value={signed(overall.calibration_gap)} note="below 0: too sure" />
                <Figure
                  name="Calibration error"
                  term="ece"
                  value={decimal(overall.ece)}
                  note={overall.ece === null ? null : `chance alone gives ${decimal(overall.ece_noise_floor)}`}
                />
              </dl>
              <div class="panels">
                <Panel title="What to do">
                  {recommendations.length === 0 ? (
                    <Empty>Go on like this: no figure here asks for a change.</Empty>
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
                  lead="Each dot is a group of decisions with about the same confidence. On the line they came true as often as was said; below it the agent was too sure."
                >
                  <Reliability buckets={buckets} floor={overall.ece_noise_floor} />
                  <p>
                    {overall.ece === null
                      ? 'There is nothing to draw yet.'
                      : proven
                        ? 'The dots lie further from the line than chance alone would put them.'
                        : 'The dots lie no further from the line than chance would put a perfectly calibrated agent.'}
                  </p>
                </Panel>
                <Panel title="How sure they say they are" lead="Decisions by tenth of stated confidence.">
                  <Histogram counts={confidence_stats.histogram} />
                  {confidence_stats.habituation_detected && (
                    <p class="notice warn">The confidence hardly varies: it may be habit rather than judgement.</p>
                  )}
                </Panel>
                <Panel title="Where the score comes from" lead="Brier score = reliability − resolution + uncertainty.">
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
                <Panel title="By what settled the outcome" lead="Never blended: evidence can't be talked up." wide>
                  <Breakdown
                    first="Settled by"
                    rows={[
                      { name: 'observed evidence', overall: report.by_settlement.observed },
                      { name: 'attestation', overall: report.by_settlement.attested },
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
