/** Decisions similar to an action, and how they turned out. */
import type { QueryDecisionsResult } from '../../sdk/client.ts'
import { Show, useCall } from './call.tsx'
import { ToDecision } from './route.tsx'
import { service } from './service.ts'
import { texts } from './texts.ts'
import { Badge, List, Panel } from './ui.tsx'

const t = texts.block

/** How many of each state, in words. */
export const sumsOf = (states: readonly string[]): string =>
  t.sum([...Map.groupBy(states, (state) => state)].map(([state, { length }]) => [state, length]))

/** The found decisions, if they are precedents. */
export function Found({ of: { decisions, precedent } }: { of: QueryDecisionsResult }) {
  const shown = precedent === 'none' ? [] : decisions
  return (
    <>
      {shown.length > 1 && <p>{sumsOf(shown.map(({ outcome }) => outcome ?? 'pending'))}</p>}
      <List of={shown} empty={t.noPrecedent}>
        {({ id, title, outcome, lessons }) => (
          <>
            <ToDecision id={id}>{title}</ToDecision> <Badge of={outcome ?? 'pending'} />
            {lessons && <div class="quiet">{t.lesson(lessons)}</div>}
          </>
        )}
      </List>
    </>
  )
}

/** The panel for people who decide on an action. */
export function Precedents({ text }: { text: string }) {
  const loaded = useCall(`like ${text}`, (signal) => service.queryDecisions({ query: text, limit: 5 }, { signal }))
  return (
    <Panel title={t.precedents} lead={t.precedentsLead}>
      <Show of={loaded}>{(found) => <Found of={found} />}</Show>
    </Panel>
  )
}
