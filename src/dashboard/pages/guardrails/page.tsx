/** Guardrails: the rules in force, a try-out, and the trail of what was judged. */

import { useMemo } from 'preact/hooks'
import { Show, useCall } from '../../call.tsx'
import { actionIn, counted, time, whole } from '../../figures.ts'
import { addressOf, go, goWith, type Place, To, ToDecision, useArrival, type View } from '../../route.tsx'
import { service } from '../../service.ts'
import { Badge, Choice, Empty, Panel, Table, When } from '../../ui.tsx'
import { TryOut } from './try-out.tsx'

const mostHits = 500

/** How often each rule fired, as far back as a page of the trail reaches. */
async function hitsOf(ids: string[], signal: AbortSignal): Promise<Map<string, string>> {
  const asked = ids.slice(0, 100)
  const answers = await service.batch(
    asked.map((rule) => ({ method: 'listAudit' as const, params: { rule, limit: mostHits } })),
    { signal },
  )
  return new Map(
    answers.flatMap((answer, at) => {
      if (!answer.ok) return []
      const { entries, next_cursor } = answer.result
      return [[asked[at]!, next_cursor === null ? whole(entries.length) : `over ${whole(mostHits)}`] as const]
    }),
  )
}

export function Guardrails({ session, place }: View) {
  const admin = session.scopes.includes('admin')
  const loaded = useCall('rules', async (signal) => {
    const rules = await service.listGuardrails({}, { signal })
    const hits = admin
      ? await hitsOf(
          rules.guardrails.map(({ id }) => id),
          signal,
        )
      : null
    return { ...rules, hits }
  })
  return (
    <div class="panels">
      <TryOut />
      <Panel title="Rules in force" wide>
        <Show of={loaded}>
          {({ guardrails, errors, policy_hash, hits }) => (
            <>
              {errors.map(({ file, line, column, message }) => (
                <p class="notice bad" key={`${file} ${line} ${column}`}>
                  {file}, line {line}: {message}. The last good rules stay in force.
                </p>
              ))}
              {guardrails.length === 0 ? (
                <Empty>No rule is in force. Put YAML files into a directory and name it in GUARDRAILS_PATHS.</Empty>
              ) : (
                <Table
                  caption="Rules in force"
                  heads={[
                    { name: 'Rule' },
                    { name: 'Does' },
                    { name: 'Applies to' },
                    { name: 'Tests' },
                    ...(hits ? [{ name: 'Fired', number: true }] : []),
                    { name: 'File' },
                  ]}
                  rows={guardrails.map(({ id, name, description, action, scope, conditions, requirements, file }) => [
                    <>
                      <strong>{name ?? id}</strong> <code>{id}</code>
                      {description && <div class="quiet">{description}</div>}
                    </>,
                    <Badge of={action} />,
                    scope ?? 'everything',
                    `${counted(conditions, 'condition')}, ${counted(requirements, 'requirement')}`,
                    ...(hits ? [hits.get(id) ?? '–'] : []),
                    <code>{file}</code>,
                  ])}
                />
              )}
              <p class="quiet">
                Policy <code>{policy_hash}</code>
              </p>
            </>
          )}
        </Show>
      </Panel>
      {admin ? (
        <Trail place={place} />
      ) : (
        <Panel title="Audit trail" wide>
          <Empty>The trail is open to agents with the scope admin.</Empty>
        </Panel>
      )}
    </div>
  )
}

// The audit trail: every write and every judgement, newest first.

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
