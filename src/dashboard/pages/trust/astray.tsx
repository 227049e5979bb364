/** Calls that ran otherwise than they were checked, by agent, as the hooks of clients reported them. */
import { useCall } from '../../call.tsx'
import { To } from '../../route.tsx'
import { service } from '../../service.ts'
import { texts } from '../../texts.ts'
import { List } from '../../ui.tsx'

const t = texts.astray
const mostSessions = 500
type Counts = Record<keyof typeof t.kinds, number>
const none: Counts = { ran_though_denied: 0, ran_other_than_judged: 0, ran_unjudged: 0, ungated: 0, hooks_changed: 0 }

/** @param agent only of this one @param since RFC 3339; sessions that began later */
export function Astray({ agent, since }: { agent?: string | undefined; since?: string | undefined }) {
  const { data } = useCall(`astray ${agent} ${since?.slice(0, 16)}`, async (signal) => {
    const asked = { limit: mostSessions, ...(agent && { agent }), ...(since && { since }) }
    // Who may not see the sessions of an agent still reads the rest.
    const answer = await service.listSessions(asked, { signal }).catch(() => null)
    const found = new Map<string, Counts>()
    for (const one of answer?.sessions ?? []) {
      const before = found.get(one.agent) ?? none
      const counts = Object.keys(none).map((kind) => [
        kind,
        before[kind as keyof Counts] + Number(one[kind as keyof Counts]),
      ])
      found.set(one.agent, Object.fromEntries(counts))
    }
    return [...found].filter(([, counts]) => Object.values(counts).some((count) => count > 0))
  })
  if (!data || data.length === 0) return null
  return (
    <div class="notice bad">
      <p>{t.title}</p>
      <List of={data}>
        {([name, counts]) => (
          <>
            <To path="/calibration" query={{ agent: name }}>
              {name}
            </To>
            {': '}
            {Object.entries(counts)
              .filter(([, count]) => count > 0)
              .map(([kind, count]) => t.kinds[kind as keyof Counts](count))
              .join(', ')}
          </>
        )}
      </List>
    </div>
  )
}
