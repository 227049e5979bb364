/** Live deliberation: what agents look up and think before they decide. */
import { Show, useCall } from '../call.tsx'
import { span, words } from '../figures.ts'
import { ToDecision, useView } from '../route.tsx'
import { service } from '../service.ts'
import { texts } from '../texts.ts'
import { Empty, figures, Panel, Table, Timeline } from '../ui.tsx'

const t = texts.deliberation

export function Deliberation() {
  const { session, seesAll } = useView()
  const loaded = useCall('sessions', (signal) => service.debugTracker({}, { signal }))
  return (
    <>
      <p>{seesAll ? t.ofAll : t.ofAgent(session.agent)}</p>
      <Show of={loaded}>
        {({ sessions, consumed }) => (
          <>
            {sessions.length === 0 && (
              <Panel title={t.sessions}>
                <Empty>
                  {seesAll ? t.nobody : t.notNow(session.agent)}
                  {t.explained}
                </Empty>
              </Panel>
            )}
            {sessions.map(({ key, agent, inputs, input_count, dropped, idle_seconds }) => (
              <Panel key={key} title={key} lead={t.lead(agent, input_count, dropped, span(idle_seconds))}>
                <Timeline
                  of={inputs.map(({ type, text, source, age_seconds }) => ({
                    head: t.by(words(type), <code>{source}</code>, span(age_seconds)),
                    body: <p class="prose">{text}</p>,
                  }))}
                />
              </Panel>
            ))}
            <Panel title={t.used}>
              <Table
                caption={t.usedCaption}
                empty={t.noneUsed}
                heads={[t.session, figures(t.inputs), t.decision, t.age]}
                rows={consumed
                  .slice(0, 20)
                  .map(({ key, input_count, decision_id, age_seconds }) => [
                    key,
                    String(input_count),
                    <ToDecision id={decision_id}>{decision_id}</ToDecision>,
                    span(age_seconds),
                  ])}
              />
            </Panel>
          </>
        )}
      </Show>
    </>
  )
}
