/** Live deliberation: what agents look up and think before they decide. */
import { Show, useCall } from '../call.tsx'
import { counted, span, words } from '../figures.ts'
import { ToDecision, type View } from '../route.tsx'
import { service } from '../service.ts'
import { Empty, Panel, Table } from '../ui.tsx'

export function Deliberation({ session }: View) {
  const loaded = useCall('sessions', (signal) => service.debugTracker({}, { signal }))
  return (
    <>
      <p>
        {session.scopes.includes('admin')
          ? 'Sessions of all agents that have not led to a decision yet.'
          : `Sessions of ${session.agent} that have not led to a decision yet; sessions of other agents need the scope admin.`}
      </p>
      <Show of={loaded}>
        {({ sessions, consumed }) => (
          <div class="panels">
            {sessions.length === 0 && (
              <Panel title="Sessions" wide>
                <Empty>
                  {session.scopes.includes('admin')
                    ? 'No agent is deliberating. '
                    : `${session.agent} is not deliberating. `}
                  Queries, checks and thoughts of agents are shown here until a decision uses them.
                </Empty>
              </Panel>
            )}
            {sessions.map(({ key, agent, inputs, input_count, dropped, idle_seconds }) => (
              <Panel
                key={key}
                title={key}
                lead={`${agent}, ${counted(input_count, 'input')}${dropped > 0 ? `, ${counted(dropped, 'older one')} dropped` : ''}, idle for ${span(idle_seconds)}`}
              >
                <ol class="timeline">
                  {inputs.map(({ id, type, text, source, age_seconds }) => (
                    <li key={id}>
                      <p class="quiet">
                        {words(type)} by <code>{source}</code>, {span(age_seconds)} ago
                      </p>
                      <p class="prose">{text}</p>
                    </li>
                  ))}
                </ol>
              </Panel>
            ))}
            <Panel title="Used by decisions" wide>
              {consumed.length === 0 ? (
                <Empty>No decision has used a session yet.</Empty>
              ) : (
                <Table
                  caption="Sessions that decisions used"
                  heads={[{ name: 'Session' }, { name: 'Inputs', number: true }, { name: 'Decision' }, { name: 'Ago' }]}
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
