/** Guardrails: the rules in force, and a dry run of an action. */
import { Show, useCall } from '../../call.tsx'
import { none, whole } from '../../figures.ts'
import { useView } from '../../route.tsx'
import { service } from '../../service.ts'
import { texts } from '../../texts.ts'
import { Badge, figures, Panel, Table } from '../../ui.tsx'
import { yamlOf } from '../../yaml.ts'
import { Trail } from './trail.tsx'
import { TryOut } from './try-out.tsx'
import { Shadow, Workbench } from './workbench.tsx'

const t = texts.guardrails

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

export function Guardrails() {
  const { may, trail } = useView()
  const [admin, sees] = [may('admin'), trail.agent === undefined]
  const loaded = useCall('rules', async (signal) => {
    const rules = await service.listGuardrails({}, { signal })
    const hits = sees
      ? await hitsOf(
          rules.guardrails.map(({ id }) => id),
          signal,
        )
      : null
    const policy = await service.getPolicy({}, { signal })
    const written = new Map(policy.guardrails.map((rule) => [String(rule.id), rule]))
    return { ...rules, hits, written, applies: policy.applies }
  })
  return (
    <div class="panels">
      <TryOut />
      {admin && <Workbench />}
      {admin && <Shadow />}
      <Panel title={t.rulesInForce} wide>
        <Show of={loaded}>
          {({ guardrails, errors, policy_hash, hits, written, applies }) => (
            <>
              {errors.map(({ file, line, column, message }) => (
                <p class="notice bad" key={`${file} ${line} ${column}`}>
                  {t.broken(file, line, message)}
                </p>
              ))}
              <Table
                caption={t.rulesInForce}
                empty={t.none}
                heads={[t.rule, t.action, t.appliesTo, t.tests, ...(hits ? [figures(t.fired)] : []), t.file]}
                rows={guardrails.map(({ id, name, description, action, scope, conditions, requirements, file }) => [
                  <>
                    <strong>{name ?? id}</strong> <code>{id}</code>
                    {description && <div class="quiet">{description}</div>}
                    {applies[id] && (
                      <details>
                        <summary>
                          {texts.workbench.inWords} {applies[id]}
                        </summary>
                        <pre tabIndex={0}>{yamlOf(written.get(id))}</pre>
                      </details>
                    )}
                  </>,
                  <Badge of={action} />,
                  scope ?? 'everything',
                  `${texts.amount.condition(conditions)}, ${texts.amount.requirement(requirements)}`,
                  ...(hits ? [hits.get(id) ?? none] : []),
                  <code>{file}</code>,
                ])}
              />
              <p class="quiet">
                {t.policy} <code>{policy_hash}</code>
              </p>
            </>
          )}
        </Show>
      </Panel>
      <Trail />
    </div>
  )
}
