/** What changed in the period: counts that lead to what they count, the cause that failures share, and who was stopped by what. */
import { Fragment } from 'preact'
import type { GetBriefingResult } from '../../../../sdk/client.ts'
import { Agent } from '../../agent.tsx'
import { whole } from '../../figures.ts'
import { To, ToDecision } from '../../route.tsx'
import { texts } from '../../texts.ts'
import { breakerPrefix } from '../../trail.ts'
import { Empty, figures, List, Panel, Table, When } from '../../ui.tsx'

const t = texts.today

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

export function Changes({ of }: { of: GetBriefingResult }) {
  const { since, decisions, reviewed, failed, cause, rules_changed, new_agents, breakers_opened, overrides, stops } = of
  const from = since.slice(0, 10)
  const counts = [
    decisions > 0 && (
      <To path="/decisions" query={{ from }}>
        {t.decided(decisions)}
      </To>
    ),
    reviewed > 0 && t.reviewed(reviewed),
    failed > 0 && (
      <To path="/decisions" query={{ outcome: 'failure' }}>
        {t.failed(failed)}
      </To>
    ),
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
      {cause && (
        <details>
          <summary>
            {t.ofOneCause(cause.failures)}: {cause.text}
          </summary>
          <List of={cause.ids}>{(id) => <ToDecision id={id}>{id}</ToDecision>}</List>
        </details>
      )}
      {stops.length > 0 && (
        <Table
          caption={t.stops}
          heads={t.stopHeads.map((name, at) => (at === 2 ? figures(name) : name))}
          rows={stops
            .slice(0, 8)
            .map(({ agent, rule, count, last_at, last_seq, description }) => [
              <Agent of={agent} />,
              <ToRule rule={rule} />,
              whole(count),
              <To path={`/blocks/${last_seq}`}>{description}</To>,
              <When at={last_at} />,
            ])}
        />
      )}
      {stops.length > 8 && <p class="quiet">{texts.amount.more(stops.length - 8)}</p>}
    </Panel>
  )
}
