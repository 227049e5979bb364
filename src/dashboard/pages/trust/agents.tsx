/** One line for each agent: whether it may decide alone, by stakes, with a plot of what it said and what came true, and the rule that asks a person. */

import type { GetCalibrationResult, GetPolicyResult } from '../../../../sdk/client.ts'
import { Agent } from '../../agent.tsx'
import { PlaceChoice } from '../../form.tsx'
import { To, useView } from '../../route.tsx'
import { texts } from '../../texts.ts'
import { Panel, Table, When } from '../../ui.tsx'
import type { Cell } from '../../verdict.ts'
import { sampleSize } from '../inbox/items.tsx'

const t = texts.trust.agents
const weighty = ['high', 'critical'] as const
type Weighty = (typeof weighty)[number]
type Finding = 'alone' | 'not' | 'unknown'

/**
 * Alone if the lower bound of what came true reaches the threshold; not if even the figure itself does not, or if the last 30 days are
 * below it by their whole interval; else nobody knows yet.
 */
function findingOf(cell: Cell | undefined, threshold: number): Finding {
  if (cell === undefined || cell.accuracy_low === null) return 'unknown'
  const { recent, accuracy, accuracy_low } = cell
  const isRecentlyBelow = recent?.gap_high != null && recent.mean_confidence + recent.gap_high < threshold
  if (accuracy < threshold || isRecentlyBelow) return 'not'
  return accuracy_low >= threshold ? 'alone' : 'unknown'
}

/** The stakes from which on a person should be asked; null if the agent may decide alone, or if too little is known. */
const askFrom = (findings: Record<Weighty, Finding>): Weighty | null =>
  findings.high === 'not' ? 'high' : findings.critical === 'not' ? 'critical' : null

function wordsOf(findings: Record<Weighty, Finding>): [words: string, tone: string] {
  const from = askFrom(findings)
  if (from === 'high') return [t.notAlone, 'bad']
  if (from === 'critical') return [t.belowCritical, 'warn']
  const unknown = weighty.filter((stakes) => findings[stakes] === 'unknown')
  return unknown.length > 0 ? [t.notEnough(unknown.join(', ')), ''] : [t.alone, 'good']
}

const [plotWidth, plotHeight] = [150, 18]

/** Said ○, came true ●, with its interval, on a line from 0 to 100 %. */
function Dots({ cell }: { cell: Cell }) {
  const x = (share: number) => 8 + share * (plotWidth - 16)
  const y = plotHeight / 2
  return (
    <svg class="dots" viewBox={`0 0 ${plotWidth} ${plotHeight}`} aria-hidden="true">
      <path class="ideal" d={`M${x(0)} ${y}H${x(1)}`} />
      {cell.accuracy_low !== null && (
        <path class="whisker" d={`M${x(cell.accuracy_low)} ${y}H${x(cell.accuracy_high!)}`} />
      )}
      <circle class="stated" cx={x(cell.mean_confidence)} cy={y} r={4.5} />
      <circle class="dot" cx={x(cell.accuracy)} cy={y} r={4} />
    </svg>
  )
}

const [lineWidth, lineHeight] = [84, 18]

/** The success rate of each week as a line, broken where a week has none. */
function Line({ weeks }: { weeks: readonly (number | null)[] }) {
  const points = weeks.map((rate, at): [number, number] | null =>
    rate === null ? null : [3 + (at * (lineWidth - 6)) / (weeks.length - 1), lineHeight - 3 - rate * (lineHeight - 6)],
  )
  const path = points.map((one, at) => one && `${points[at - 1] ? 'L' : 'M'}${one}`).filter(Boolean)
  const last = points.at(-1)
  return (
    <>
      <svg class="dots weeks" viewBox={`0 0 ${lineWidth} ${lineHeight}`} aria-hidden="true">
        <title>{t.weeks(weeks)}</title>
        <path class="line recent" d={path.join('')} />
        {last && <circle class="dot" cx={last[0]} cy={last[1]} r={2.5} />}
      </svg>
      <span class="unseen">{t.weeks(weeks)}</span>
    </>
  )
}

/** The rules that name an agent. */
const rulesOf = (rules: GetPolicyResult['guardrails'], agent: string) =>
  rules.filter(
    ({ conditions }) =>
      Array.isArray(conditions) &&
      conditions.some(({ field, value }) => field === 'agent_id' && [value].flat().includes(agent)),
  )

export function Agents({
  cells,
  rules,
  weeks,
  counts: { failed, due },
}: {
  cells: readonly Cell[]
  /** Those in force. */
  rules: GetPolicyResult['guardrails']
  weeks: NonNullable<GetCalibrationResult['agents']>
  /** Failures and due reviews by agent. */
  counts: Record<'failed' | 'due', ReadonlyMap<string, number>>
}) {
  const { place, drafts } = useView()
  const asked = place.query.get('alone') ?? '70'
  const threshold = Number(asked) / 100
  const of = (agent: string, stakes: string | null) =>
    cells.find((one) => one.agent === agent && one.stakes === stakes && one.category === null)
  const names = [
    ...new Set([
      ...cells.flatMap(({ agent, category }) => (agent !== null && category === null ? [agent] : [])),
      ...due.keys(),
    ]),
  ]
  const rows = names.map((agent) => {
    const findings = {
      high: findingOf(of(agent, 'high'), threshold),
      critical: findingOf(of(agent, 'critical'), threshold),
    }
    return { agent, findings, harm: of(agent, null)?.harm ?? 0 }
  })
  const order = ['bad', 'warn', '', 'good']
  const rank = ({ findings }: (typeof rows)[number]) => order.indexOf(wordsOf(findings)[1])
  return (
    <Panel title={t.title} lead={t.lead}>
      <div class="bar">
        <PlaceChoice label={t.threshold} name="alone" value={asked} options={t.thresholds} otherwise="70" />
      </div>
      <Table
        caption={t.title}
        heads={t.heads}
        rows={rows
          .sort((a, b) => rank(a) - rank(b) || b.harm - a.harm)
          .map(({ agent, findings }) => {
            const [words, tone] = wordsOf(findings)
            const from = askFrom(findings)
            const lately = weeks.find((one) => one.agent === agent)
            const [failures, reviews] = [failed.get(agent) ?? 0, due.get(agent) ?? 0]
            return [
              <>
                <To path="/calibration" query={{ agent }}>
                  <Agent of={agent} />
                </To>
                <div>
                  <span class={`badge ${tone}`}>{words}</span>
                </div>
              </>,
              ...weighty.map((stakes) => {
                const cell = of(agent, stakes)
                return cell ? (
                  <>
                    <Dots cell={cell} />
                    {(['lately', 'before'] as const).map((name) => (
                      <div key={name} class="quiet">
                        {t[name]} {t.side(name === 'lately' ? cell.recent : cell.before)}
                      </div>
                    ))}
                  </>
                ) : (
                  <span class="quiet">{t.none}</span>
                )
              }),
              <>
                {lately && <Line weeks={lately.weeks} />}
                {failures > 0 && (
                  <div class="quiet">
                    <To path="/decisions" query={{ agent, outcome: 'failure' }}>
                      {t.failures(failures)}
                    </To>
                    {lately?.last_failure && (
                      <>
                        {t.lastFailure} <When at={lately.last_failure} />
                      </>
                    )}
                  </div>
                )}
              </>,
              <>
                {rulesOf(rules, agent).map(({ id, mode }) => (
                  <p key={String(id)} class="quiet">
                    {mode === 'shadow' ? t.inShadow : t.inForce}{' '}
                    <To path="/policy" query={{ rule: String(id) }}>
                      {String(id)}
                    </To>
                  </p>
                ))}
                {from && drafts && (
                  <p>
                    <To path="/policy" query={{ draft: t.rule(agent, from) }}>
                      {t.ask(from)}
                    </To>
                  </p>
                )}
                {tone === '' && reviews > 0 && (
                  <p>
                    <To path="/" query={{ agent }}>
                      {t.review(Math.min(sampleSize, reviews), reviews)}
                    </To>
                  </p>
                )}
              </>,
            ]
          })}
      />
    </Panel>
  )
}
