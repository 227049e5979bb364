/** Two agents side by side, figure by figure. */
import type { GetCalibrationResult } from '../../../../sdk/client.ts'
import { Show, useCall } from '../../call.tsx'
import { decimal, gapPoints, percent, whole } from '../../figures.ts'
import { PlaceChoice } from '../../form.tsx'
import { To, useView } from '../../route.tsx'
import { service } from '../../service.ts'
import { texts } from '../../texts.ts'
import { figures, Panel, Table } from '../../ui.tsx'
import type { Cell } from '../../verdict.ts'

const t = texts.trust.compare

type Figures = GetCalibrationResult['overall']
const rows: [name: string, of: (one: Figures) => string][] = [
  [t.said, ({ mean_confidence }) => percent(mean_confidence, 1)],
  [t.came, ({ accuracy }) => percent(accuracy, 1)],
  [t.gap, ({ calibration_gap }) => gapPoints(calibration_gap)],
  [t.interval, ({ gap_low, gap_high }) => `${gapPoints(gap_low)} … ${gapPoints(gap_high)}`],
  [t.brier, ({ brier_score }) => decimal(brier_score)],
  [t.resolution, ({ resolution }) => decimal(resolution)],
]

export function Compare({
  agents,
  window,
  since,
  cells,
}: {
  agents: readonly string[]
  window: (typeof texts.periods)[number][0]
  since: string | undefined
  /** Cells of the agents, with what is proven of each. */
  cells: readonly Cell[]
}) {
  const { place } = useView()
  const asked = (name: string, at: number) => agents.find((one) => one === place.query.get(name)) ?? agents[at]!
  const chosen = [asked('one', 0), asked('other', 1)]
  const loaded = useCall(JSON.stringify([chosen, window]), (signal) =>
    Promise.all(chosen.map((agent) => service.getCalibration({ agent, window }, { signal }))),
  )
  return (
    <Panel title={t.title} wide>
      <div class="bar">
        {(['one', 'other'] as const).map((name, at) => (
          <PlaceChoice key={name} label={t[name]} name={name} value={chosen[at]!} options={agents} />
        ))}
      </div>
      <Show of={loaded}>
        {(reports) => (
          <Table
            caption={t.title}
            heads={[t.figure, ...chosen.map((name) => figures(name))]}
            rows={[
              [
                t.scored,
                ...reports.map(({ overall }, at) => (
                  <To path="/decisions" query={{ agent: chosen[at], scored: 'yes', from: since }}>
                    {whole(overall.scored)}
                  </To>
                )),
              ],
              ...rows.map(([name, of]) => [name, ...reports.map(({ overall }) => of(overall))]),
              [
                t.proven,
                ...chosen.map((agent) => {
                  const proven = cells.find((one) => one.agent === agent && !one.stakes && !one.category)?.proven
                  return proven ? texts.trust.proven(proven) : t.notProven
                }),
              ],
            ]}
          />
        )}
      </Show>
    </Panel>
  )
}
