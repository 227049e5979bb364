/** Guardrails: the rules in force, a try-out, and the trail of what was judged. */
import { Show, useCall } from '../call.tsx'
import { counted, whole } from '../figures.ts'
import type { View } from '../pages.ts'
import { service } from '../service.ts'
import { Badge, Empty, Panel, Table } from '../ui.tsx'
import { Trail } from './guardrails/trail.tsx'
import { TryOut } from './guardrails/try-out.tsx'

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
