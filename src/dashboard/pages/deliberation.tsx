/** Live deliberation: what agents look up and think before they decide. */
import { Show, useCall } from '../call.tsx'
import { before, words } from '../figures.ts'
import { ToDecision, useView } from '../route.tsx'
import { service } from '../service.ts'
import { texts } from '../texts.ts'
import { useTitles } from '../titles.ts'
import { Empty, figures, Panel, Table, Timeline, When } from '../ui.tsx'

const t = texts.deliberation
const mostUsed = 20
const ago = (seconds: number) => <When at={before(seconds)} />

export function Deliberation() {
  const { session, seesAll } = useView()
  const loaded = useCall('sessions', (signal) => service.debugTracker({}, { signal }))
  const used = loaded.data?.consumed.slice(0, mostUsed) ?? []
  const titleOf = useTitles(used.map(({ decision_id }) => decision_id))
  return (
    <>
      <p>{seesAll ? t.ofAll : t.ofAgent(session.agent)}</p>
      <Show of={loaded}>
        {({ sessions }) => (
          <>
            {sessions.length === 0 && (
              <Panel title={t.sessions}>
                <Empty>
                  {seesAll ? t.nobody : t.notNow(session.agent)}
                  {t.explained}
                </Empty>
              </Panel>
            )}
            {sessions.map(({ key, inputs, input_count, dropped, idle_seconds }) => (
              <Panel key={key} title={key} lead={t.lead(input_count, dropped, ago(idle_seconds))}>
                <Timeline
                  of={inputs.map(({ type, text, source, age_seconds }) => ({
                    head: t.by(words(type), <code>{source}</code>, ago(age_seconds)),
                    body: <p class="prose">{text}</p>,
                  }))}
                />
              </Panel>
            ))}
            <Panel title={t.usedTitle}>
              <Table
                caption={t.usedCaption}
                empty={t.noneUsed}
                heads={[t.decision, t.session, figures(t.inputs), t.used]}
                rows={used.map(({ key, input_count, decision_id, age_seconds }) => [
                  <ToDecision id={decision_id}>{titleOf(decision_id)}</ToDecision>,
                  key,
                  String(input_count),
                  ago(age_seconds),
                ])}
              />
            </Panel>
          </>
        )}
      </Show>
    </>
  )
}
