/** Calibration: how well the stated confidence fits the outcomes, and what to do about it. */
import type { GetCalibrationParams } from '../../../../sdk/client.ts'
import { Show, useCall } from '../../call.tsx'
import { Bars } from '../../charts.tsx'
import { decimal, gapPoints, percent, signed } from '../../figures.ts'
import { keptOf, type Options, PlaceChoice, usePeriod } from '../../form.tsx'
import { useView } from '../../route.tsx'
import { service } from '../../service.ts'
import { texts } from '../../texts.ts'
import { Badge, Figure, List, Panel } from '../../ui.tsx'
import { rangesOff, verdictNote, verdictSentence, verdictWords } from '../../verdict.ts'
import { Astray } from '../trust/astray.tsx'
import { Breakdown, Compared } from './breakdown.tsx'
import { Reliability } from './diagram.tsx'
import { Drift } from './drift.tsx'
import { reportsOf } from './reports.ts'

const t = texts.calibration

async function load(params: GetCalibrationParams, signal: AbortSignal) {
  const [reports, stats] = await Promise.all([
    reportsOf({ ...params, cells: 'agent_category' }, signal),
    service.getStats({}, { signal }),
  ])
  return { ...reports, stats }
}

export function Calibration() {
  const { place } = useView()
  const [window, periodChoice] = usePeriod('window', texts.periods)
  const { agent, category } = keptOf(place, ['agent', 'category'])
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
        {periodChoice}
        <PlaceChoice label={t.agent} name="agent" value={agent} options={names(stats?.by_agent, agent)} />
        <PlaceChoice
          label={t.category}
          name="category"
          value={category}
          options={names(stats?.by_category, category)}
        />
      </div>
      {agent && <Astray agent={agent} />}
      <Show of={loaded}>
        {({ report, standing }) => {
          const { overall, buckets, confidence_stats, recommendations } = report
          const off = rangesOff(report)
          return (
            <>
              <p class="lead">{verdictSentence(standing, of)}</p>
              <dl class="figures">
                <Figure name={t.verdict} term="verdict" value={verdictWords(standing)} note={verdictNote(standing)} />
                <Figure name={t.brierScore} term="brier" value={decimal(overall.brier_score)} note={t.brierRange} />
                <Figure
                  name={t.accuracy}
                  term="accuracy"
                  value={percent(overall.accuracy, 1)}
                  note={t.meanConfidence(percent(overall.mean_confidence, 1))}
                />
                <Figure
                  name={t.gap}
                  term="gap"
                  value={gapPoints(overall.calibration_gap)}
                  note={t.of(texts.amount.scoredDecision(overall.scored))}
                />
                <Figure
                  name={t.calibrationError}
                  term="ece"
                  value={decimal(overall.ece)}
                  note={overall.ece === null ? null : t.chanceAlone(decimal(overall.ece_noise_floor))}
                />
              </dl>
              <Panel title={t.whatToDo}>
                <List of={recommendations} empty={t.noChange}>
                  {({ message, severity }) => (
                    <>
                      <Badge of={texts.severities[severity]} /> {message}
                    </>
                  )}
                </List>
              </Panel>
              <Panel title={t.reliability} lead={t.reliabilityLead}>
                <Reliability buckets={buckets} floor={overall.ece_noise_floor} />
                <p>{overall.ece === null ? t.none : off === 0 ? t.noRangeOff : t.rangesOff(off)}</p>
              </Panel>
              <Panel title={t.statedConfidence} lead={t.confidenceLead} folded={!confidence_stats.habituation_detected}>
                <Bars
                  unit={t.decisions}
                  rows={confidence_stats.histogram.map((value, at) => ({
                    name: `${at * 10} to ${(at + 1) * 10} %`,
                    value,
                  }))}
                />
                {confidence_stats.habituation_detected && <p class="notice warn">{t.hardlyVaries}</p>}
              </Panel>
              <Panel title={t.brierParts} lead={t.brierSum} folded>
                <dl class="figures">
                  <Figure name={t.reliability} term="reliability" value={decimal(overall.reliability)} />
                  <Figure name={t.resolution} term="resolution" value={decimal(overall.resolution)} />
                  <Figure name={t.uncertainty} term="uncertainty" value={decimal(overall.uncertainty)} />
                  <Figure name={t.skill} term="skill" value={signed(overall.skill)} />
                  <Figure name={t.logScore} term="log" value={decimal(overall.log_score)} />
                </dl>
              </Panel>
              <Panel title={t.drift}>
                <Drift of={of} />
              </Panel>
              <Panel title={t.bySource} lead={t.bySourceLead}>
                <Breakdown
                  first={t.sourceOfOutcome}
                  rows={[
                    { name: t.observedEvidence, overall: report.by_reviewer.observed },
                    { name: t.byOther, overall: report.by_reviewer.others },
                    { name: t.byRecorder, overall: report.by_reviewer.self },
                  ]}
                />
              </Panel>
              {(['category', 'agent'] as const)
                .filter((as) => !(as in of))
                .map((as) => (
                  <Panel key={as} title={as === 'agent' ? t.byAgent : t.byCategory}>
                    <Compared
                      first={t[as]}
                      key={`${agent} ${category} ${window}`}
                      names={Object.keys(stats?.[`by_${as}`] ?? {})}
                      as={as}
                      of={{ ...of, window }}
                      cells={report.cells}
                    />
                  </Panel>
                ))}
            </>
          )
        }}
      </Show>
    </>
  )
}
