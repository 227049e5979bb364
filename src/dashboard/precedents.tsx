/** The panel of decisions similar to an action, for people who decide on it. */
import { Show, useCall } from './call.tsx'
import { ToDecision } from './route.tsx'
import { service } from './service.ts'
import { texts } from './texts.ts'
import { Badge, Empty, Panel } from './ui.tsx'

const t = texts.block

export function Precedents({ text }: { text: string }) {
  const loaded = useCall(`like ${text}`, (signal) => service.queryDecisions({ query: text, limit: 5 }, { signal }))
  return (
    <Panel title={t.precedents} lead={t.precedentsLead}>
      <Show of={loaded}>
        {({ decisions, no_precedent }) =>
          decisions.length === 0 || no_precedent ? (
            <Empty>{t.noPrecedent}</Empty>
          ) : (
            <ul class="plain">
              {decisions.map(({ id, title, outcome }) => (
                <li key={id}>
                  <ToDecision id={id}>{title}</ToDecision> <Badge of={outcome ?? 'pending'} />
                </li>
              ))}
            </ul>
          )
        }
      </Show>
    </Panel>
  )
}
