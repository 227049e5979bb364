/** Guardrails: the rules in force, a dry run of an action, and the audit trail. */
import { Show, useCall } from '../../call.tsx'
import { counted, none, time, whole } from '../../figures.ts'
import { FilterBar, keptOf } from '../../form.tsx'
import { type Place, To, ToDecision, useArrival, type View } from '../../route.tsx'
import { service } from '../../service.ts'
import { actionIn } from '../../trail.ts'
import { Badge, Empty, Panel, Table, When } from '../../ui.tsx'
import { TryOut } from './try-out.tsx'

const mostHits = 500

/** How often each rule fired, within the latest entries of the trail. */
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
                  {file}, line {line}: {message}. The last valid rules stay in force.
                </p>
              ))}
              {guardrails.length === 0 ? (
                <Empty>
                  No rules are in force. Put rule files (YAML) into a folder and set GUARDRAILS_PATHS to it.
                </Empty>
              ) : (
                <Table
                  caption="Rules in force"
                  heads={[
                    { name: 'Rule' },
                    { name: 'Action' },
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
                    ...(hits ? [hits.get(id) ?? none] : []),
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
          <Empty>To read the audit trail your agent needs the scope admin.</Empty>
        </Panel>
      )}
    </div>
  )
}

const trailFilters = [
  { name: 'agent', label: 'Agent' },
  { name: 'method', label: 'Method' },
  { name: 'rule', label: 'Rule' },
]

/** The audit trail: every write and every check, newest first. */
function Trail({ place }: { place: Place }) {
  const kept = keptOf(place, ['agent', 'method', 'rule', 'allowed'])
  const { allowed: verdict, ...texts } = kept
  const before = place.query.get('before') ?? ''
  const cursor = Number.parseInt(before, 10)
  const status = useArrival<HTMLParagraphElement>(before)
  const query = {
    ...Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== '')),
    ...(verdict && { allowed: verdict === 'yes' }),
    ...(cursor > 0 && { cursor }),
    limit: 25,
  }
  const loaded = useCall(JSON.stringify(query), (signal) => service.listAudit(query, { signal }))
  return (
    <Panel title="Audit trail" wide>
      <FilterBar
        place={place}
        fields={trailFilters}
        choice={{
          name: 'allowed',
          label: 'Verdict',
          options: [
            ['', 'any'],
            ['no', 'blocked'],
            ['yes', 'allowed'],
          ],
        }}
        cursor="before"
      />
      <Show of={loaded}>
        {({ entries, next_cursor }) => (
          <>
            <p class="quiet" role="status" tabIndex={-1} ref={status}>
              {entries.length > 0 && `${counted(entries.length, 'call')}, ${time(entries[0]!.at)} and earlier`}
            </p>
            {entries.length === 0 ? (
              <Empty>No entry matches.</Empty>
            ) : (
              <Table
                caption="Audit trail"
                heads={['When', 'Agent', 'Call', 'Verdict', 'Fired', 'Decisions'].map((name) => ({ name }))}
                rows={entries.map(({ at, agent, method, allowed, rules, ids, detail }) => [
                  <When at={at} />,
                  agent,
                  <>
                    <code>{method}</code>
                    {actionIn(detail) && <div class="quiet">{actionIn(detail)}</div>}
                  </>,
                  allowed === null ? none : <Badge of={allowed ? 'allowed' : 'blocked'} />,
                  rules.join(', ') || none,
                  ids.length === 0
                    ? none
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
