/** The panel of decisions similar to an action, for people who decide on it. */
import { Show, useCall } from './call.tsx'
import { ToDecision } from './route.tsx'
import { service } from './service.ts'
import { texts } from './texts.ts'
import { Badge, List, Panel } from './ui.tsx'

const t = texts.block

export function Precedents({ text }: { text: string }) {
  const loaded = useCall(`like ${text}`, (signal) => service.queryDecisions({ query: text, limit: 5 }, { signal }))
  return (
    <Panel title={t.precedents} lead={t.precedentsLead}>
      <Show of={loaded}>
        {({ decisions, no_precedent }) => (
          <List of={no_precedent ? [] : decisions} empty={t.noPrecedent}>
            {({ id, title, outcome }) => (
              <>
                <ToDecision id={id}>{title}</ToDecision> <Badge of={outcome ?? 'pending'} />
              </>
            )}
          </List>
        )}
      </Show>
    </Panel>
  )
}
