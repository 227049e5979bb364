/** Trust: stated confidence and actual outcomes, by stakes and by category, below the verdict on all of them. */

import { Agent } from '../../agent.tsx'
import { Show, useCall } from '../../call.tsx'
import { Csv } from '../../csv.tsx'
import { percent, startOf, whole } from '../../figures.ts'
import { PlaceChoice, usePeriod } from '../../form.tsx'
import { type Query, To, useView } from '../../route.tsx'
import { service } from '../../service.ts'
import { texts } from '../../texts.ts'
import { Empty, Panel, Table } from '../../ui.tsx'
import { type Cell, verdictSentence } from '../../verdict.ts'
import { reportsOf } from '../calibration/reports.ts'
import { sampleSize } from '../inbox/items.tsx'
import { Agents } from './agents.tsx'

const t = texts.trust
const kinds = ['agent_stakes', 'agent_category', 'category_stakes'] as const
type Name = 'agent' | 'category' | 'stakes'
const stakes = ['critical', 'high', 'medium', 'low']

/** The decisions that a cell counts. */
const listOf = ({ agent, category, stakes }: Cell, since: string | undefined): Query => ({
  agent,
  category,
  stakes,
  scored: 'yes',
  from: since,
})

function Shown({ cell, since }: { cell: Cell | undefined; since: string | undefined }) {
  if (!cell) return <span class="quiet">–</span>
  const { scored, mean_confidence, accuracy, accuracy_low, accuracy_high, proven, trend } = cell
  const tone = proven === null ? '' : proven.high < 0 ? 'bad' : 'warn'
  return (
    <div class={`cell ${tone}`}>
      <p>
        <span class="figure-pair">
          <span class="quiet">{t.said}</span> {percent(mean_confidence)}
        </span>{' '}
        <span class="figure-pair">
          <span class="quiet">{t.came}</span> <strong>{percent(accuracy)}</strong>
        </span>
      </p>
      <p class="quiet figure-pair">
        {accuracy_low === null ? t.few : t.range(accuracy_low, accuracy_high!)},{' '}
        <To path="/decisions" query={listOf(cell, since)} aria-label={t.listed(scored, t.part(cell))}>
          {t.n(scored)}
        </To>
      </p>
      {proven && (
        <p>
          <span class={`badge ${tone}`}>{t.proven(proven)}</span>
        </p>
      )}
      {trend && trend.direction !== 'steady' && (
        <p class={`trend ${trend.direction}`}>
          <span aria-hidden="true">{trend.direction === 'improving' ? '↗' : '↘'}</span> {t.trend(trend)}
        </p>
      )}
    </div>
  )
}

const fields = [
  'agent',
  'category',
  'stakes',
  'scored',
  ['said', ({ mean_confidence }: Cell) => mean_confidence],
  ['came_true', ({ accuracy }: Cell) => accuracy],
  ['low', ({ accuracy_low }: Cell) => accuracy_low],
  ['high', ({ accuracy_high }: Cell) => accuracy_high],
  ['proven', ({ proven }: Cell) => proven?.interpretation],
  ['trend', ({ trend }: Cell) => trend?.direction],
] as const

export function Trust() {
  const { place } = useView()
  const kind = kinds.find((one) => one === place.query.get('by')) ?? 'agent_stakes'
  const [window, periodChoice] = usePeriod('window', texts.periods)
  const [row, column] = kind.split('_') as [Name, Name]
  const loaded = useCall(`${kind} ${window}`, async (signal) => {
    const since = startOf(window)
    const [reports, policy, failed, ready] = await Promise.all([
      reportsOf({ cells: kind, window }, signal),
      service.getPolicy({}, { signal }),
      service.getStats({ outcome: 'failure' }, { signal }),
      service.ready({ sample: sampleSize, limit: 1 }, { signal }),
    ])
    const byAgent = (of: Record<string, number> = {}) => new Map(Object.entries(of))
    const counts = { failed: byAgent(failed.by_agent), due: byAgent(ready.sample?.by_agent) }
    return { since, ...reports, rules: policy.guardrails, counts }
  })
  return (
    <>
      <div class="bar">
        <PlaceChoice
          label={t.by}
          name="by"
          value={kind}
          options={kinds.map((one) => [one, t.kinds[one]] as const)}
          otherwise="agent_stakes"
        />
        {periodChoice}
      </div>
      <Show of={loaded}>
        {({ since, report, standing, rules, counts }) => {
          const { cells } = report
          const find = (at: string | null, by: string | null) =>
            cells.find(
              (one) =>
                one[row] === at &&
                one[column] === by &&
                (['agent', 'category', 'stakes'] as const).every(
                  (name) => name === row || name === column || one[name] === null,
                ),
            )
          const values = (name: Name) => {
            const found = cells.flatMap((one) => one[name] ?? [])
            if (name === 'stakes') return stakes.filter((one) => found.includes(one as never))
            const worst = cells.toSorted((a, b) => b.harm - a.harm).flatMap((one) => one[name] ?? [])
            return [...new Set([...worst, ...found])]
          }
          const columns = values(column)
          return (
            <>
              <p class="lead">{verdictSentence(standing)}</p>
              {row === 'agent' && column === 'stakes' && cells.length > 0 && (
                <Agents cells={standing.cells} rules={rules} weeks={standing.agents ?? []} counts={counts} />
              )}
              {cells.length === 0 ? (
                <Empty>{t.empty}</Empty>
              ) : (
                <Panel title={t.kinds[kind]} lead={t.lead} folded={kind === 'agent_stakes' && 'narrow'}>
                  <Table
                    caption={t.kinds[kind]}
                    heads={[t.names[row], ...columns, t.all]}
                    rows={[...values(row), null].map((at) => [
                      at === null ? (
                        <strong>{t.all}</strong>
                      ) : row === 'agent' ? (
                        <To path="/calibration" query={{ agent: at }}>
                          <Agent of={at} />
                        </To>
                      ) : (
                        at
                      ),
                      ...[...columns, null].map((by) => <Shown cell={find(at, by)} since={since} />),
                    ])}
                  />
                  <Csv name="trust" fields={fields} rows={() => cells} />
                </Panel>
              )}
              <p class="quiet">{t.counted(whole(cells[0]?.scored ?? 0))}</p>
            </>
          )
        }}
      </Show>
    </>
  )
}
