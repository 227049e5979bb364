/** Live deliberation: what agents look up and think before they decide. */
import { Show, useCall } from '../call.tsx'
import { span, words } from '../figures.ts'
import { ToDecision, type View } from '../route.tsx'
import { service } from '../service.ts'
import { texts } from '../texts.ts'
import { Empty, Panel, Table } from '../ui.tsx'

const t = texts.deliberation

export function Deliberation({ session }: View) {
  const loaded = useCall('sessions', (signal) => service.debugTracker({}, { signal }))
  return (
    <>
      <p>{session.scopes.includes('admin') ? t.ofAll : t.ofAgent(session.agent)}</p>
      <Show of={loaded}>
        {({ sessions, consumed }) => (
          <div class="panels">
            {sessions.length === 0 && (
              <Panel title={t.sessions} wide>
                <Empty>
                  {session.scopes.includes('admin') ? t.nobody : t.notNow(session.agent)}
                  {t.explained}
                </Empty>
              </Panel>
            )}
            {sessions.map(({ key, agent, inputs, input_count, dropped, idle_seconds }) => (
              <Panel key={key} title={key} lead={t.lead(agent, input_count, dropped, span(idle_seconds))}>
                <ol class="timeline">
                  {inputs.map(({ id, type, text, source, age_seconds }) => (
                    <li key={id}>
                      <p class="quiet">{t.by(words(type), <code>{source}</code>, span(age_seconds))}</p>
                      <p class="prose">{text}</p>
                    </li>
                  ))}
                </ol>
              </Panel>
            ))}
            <Panel title={t.used} wide>
              {consumed.length === 0 ? (
                <Empty>{t.noneUsed}</Empty>
              ) : (
                <Table
                  caption={t.usedCaption}
                  heads={[{ name: t.session }, { name: t.inputs, number: true }, { name: t.decision }, { name: t.age }]}
                  rows={consumed
                    .slice(0, 20)
                    .map(({ key, input_count, decision_id, age_seconds }) => [
                      key,
                      String(input_count),
                      <ToDecision id={decision_id}>{decision_id}</ToDecision>,
                      span(age_seconds),
                    ])}
                />
              )}
            </Panel>
          </div>
        )}
      </Show>
    </>
  )
}
