/** The audit trail: every write and every judgement, newest first. */
import { useMemo } from 'preact/hooks'
import { Show, useCall } from '../../call.tsx'
import { actionIn, counted, time } from '../../figures.ts'
import { addressOf, go, goWith, type Place, To, ToDecision, useArrival } from '../../route.tsx'
import { service } from '../../service.ts'
import { Badge, Choice, Empty, Panel, Table, When } from '../../ui.tsx'

export function Trail({ place }: { place: Place }) {
  const asked = (name: string) => place.query.get(name) ?? ''
  const verdict = asked('allowed')
  const cursor = Number.parseInt(asked('before'), 10)
  const status = useArrival<HTMLParagraphElement>(asked('before'))
  const query = {
    ...(asked('agent') && { agent: asked('agent') }),
    ...(asked('method') && { method: asked('method') }),
    ...(asked('rule') && { rule: asked('rule') }),
    ...(verdict && { allowed: verdict === 'yes' }),
    ...(cursor > 0 && { cursor }),
    limit: 25,
  }
  const loaded = useCall(JSON.stringify(query), (signal) => service.listAudit(query, { signal }))
  const kept = { agent: asked('agent'), method: asked('method'), rule: asked('rule'), allowed: verdict }
  // Drawn anew by the address alone: what is being typed stays while an answer comes in.
  const filters = useMemo(
    () => (
      <form
        class="bar"
        onSubmit={(event) => {
          event.preventDefault()
          const data = new FormData(event.currentTarget)
          const text = (name: string) => String(data.get(name)).trim()
          go(addressOf(place.path, { ...kept, agent: text('agent'), method: text('method'), rule: text('rule') }))
        }}
      >
        {(['agent', 'method', 'rule'] as const).map((name) => (
          <label class="field" key={name}>
            <span>{{ agent: 'Agent', method: 'Method', rule: 'Rule' }[name]}</span>
            <input name={name} value={asked(name)} />
          </label>
        ))}
        <Choice
          label="Verdict"
          name="allowed"
          value={verdict}
          options={[
            ['', 'any'],
            ['no', 'blocked'],
            ['yes', 'allowed'],
          ]}
          onChange={(value) => goWith(place, { allowed: value, before: null })}
        />
        <button type="submit">Filter</button>
      </form>
    ),
    [place.query.toString()],
  )
  return (
    <Panel title="Audit trail" wide>
      {filters}
      <Show of={loaded}>
        {({ entries, next_cursor }) => (
          <>
            <p class="quiet" role="status" tabIndex={-1} ref={status}>
              {entries.length > 0 && `${counted(entries.length, 'call')}, ${time(entries[0]!.at)} and before`}
            </p>
            {entries.length === 0 ? (
              <Empty>Nothing in the trail fits.</Empty>
            ) : (
              <Table
                caption="Audit trail"
                heads={[
                  { name: 'When' },
                  { name: 'Agent' },
                  { name: 'Call' },
                  { name: 'Verdict' },
                  { name: 'Fired' },
                  { name: 'Decisions' },
                ]}
                rows={entries.map(({ at, agent, method, allowed, rules, ids, detail }) => [
                  <When at={at} />,
                  agent,
                  <>
                    <code>{method}</code>
                    {actionIn(detail) && <div class="quiet">{actionIn(detail)}</div>}
                  </>,
                  allowed === null ? '–' : <Badge of={allowed ? 'allowed' : 'blocked'} />,
                  rules.join(', ') || '–',
                  ids.length === 0
                    ? '–'
                    : ids.slice(0, 3).map((id) => (
                        <div key={id}>
                          <ToDecision id={id}>{id}</ToDecision>
                        </div>
                      )),
                ])}
              />
            )}
            {next_cursor !== null && (
              <nav class="pager" aria-label="Pages of the trail">
                <To path={place.path} query={{ ...kept, before: next_cursor }} rel="next">
                  Older
                </To>
              </nav>
            )}
          </>
        )}
      </Show>
    </Panel>
  )
}
