/** What changed in the period: counts that lead to what they count, the cause that failures share, and who was stopped by what. */
import { Fragment } from 'preact'
import type { GetBriefingResult } from '../../../../sdk/client.ts'
import { Agent } from '../../agent.tsx'
import { whole } from '../../figures.ts'
import { keptOf } from '../../form.tsx'
import { type Query, To, ToDecision, useView } from '../../route.tsx'
import { texts } from '../../texts.ts'
import { useTitles } from '../../titles.ts'
import { breakerPrefix } from '../../trail.ts'
import { Empty, figures, List, Panel, Table, When } from '../../ui.tsx'

const t = texts.today
/** Most rows of a list. */
const most = 8

/** A rule, or the page of a breaker. */
const ToRule = ({ rule }: { rule: string }) =>
  rule.startsWith(breakerPrefix) ? (
    <To path={`/breakers/${encodeURIComponent(rule.slice(breakerPrefix.length))}`}>
      {rule.slice(breakerPrefix.length)}
    </To>
  ) : (
    <To path="/policy" query={{ rule, allowed: 'no' }}>
      {rule}
    </To>
  )

/** The failures that share a cause. */
function Cause({ of: { failures, text, ids } }: { of: NonNullable<GetBriefingResult['cause']> }) {
  const shown = ids.slice(0, most)
  const titleOf = useTitles(shown)
  return (
    <details>
      <summary>
        {t.ofOneCause(failures)}: {text}
      </summary>
      <List of={shown}>{(id) => <ToDecision id={id}>{titleOf(id)}</ToDecision>}</List>
      <More of={ids} />
    </details>
  )
}

/** How many are left out. */
const More = ({ of }: { of: readonly unknown[] }) =>
  of.length > most ? <p class="quiet">{texts.amount.more(of.length - most)}</p> : null

export function Changes({ of }: { of: GetBriefingResult }) {
  const { since, decisions, reviewed, failed, cause, rules_changed, new_agents, breakers_opened, overrides, stops } = of
  const whose = keptOf(useView().place, ['agent', 'project'])
  const listed = (query: Query, text: string) => (
    <To path="/decisions" query={{ ...whose, ...query }}>
      {text}
    </To>
  )
  const counts = [
    decisions > 0 && listed({ from: Date.parse(since) === 0 ? null : since }, t.decided(decisions)),
    reviewed > 0 && listed({ reviewed: since }, t.reviewed(reviewed)),
    failed > 0 && listed({ outcome: 'failure', reviewed: since }, t.failed(failed)),
    rules_changed.length > 0 && <To path="/policy">{t.rulesChanged(rules_changed.length)}</To>,
    new_agents.length > 0 && (
      <To path="/agents" title={new_agents.join(', ')}>
        {t.newAgents(new_agents.length)}
      </To>
    ),
    breakers_opened.length > 0 && <To path="/breakers">{t.breakersOpened(breakers_opened.length)}</To>,
    overrides > 0 && <To path="/policy">{t.overrides(overrides)}</To>,
  ].filter(Boolean)
  return (
    <Panel title={t.changed}>
      {counts.length + stops.length === 0 && <Empty>{t.nothingChanged}</Empty>}
      {counts.length > 0 && (
        <p>
          {counts.map((one, at) => (
            <Fragment key={at}>
              {at > 0 && ' · '}
              {one}
            </Fragment>
          ))}
        </p>
      )}
      {cause && <Cause of={cause} />}
      {stops.length > 0 && (
        <Table
          caption={t.stops}
          heads={t.stopHeads.map((name, at) => (at === 2 ? figures(name) : name))}
          rows={stops
            .slice(0, most)
            .map(({ agent, rule, count, last_at, last_seq, description }) => [
              <Agent of={agent} />,
              <ToRule rule={rule} />,
              whole(count),
              <To path={`/blocks/${last_seq}`}>{description}</To>,
              <When at={last_at} />,
            ])}
        />
      )}
      <More of={stops} />
    </Panel>
  )
}
