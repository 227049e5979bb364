/** Guardrails: the rules in force, and a dry run of an action. */
import { Show, useCall } from '../../call.tsx'
import { saveFile } from '../../csv.tsx'
import { type Period, startOf, whole } from '../../figures.ts'
import { usePeriod, useResult } from '../../form.tsx'
import { useView } from '../../route.tsx'
import { service } from '../../service.ts'
import { texts } from '../../texts.ts'
import { Badge, figures, Panel, Table } from '../../ui.tsx'
import { ruleText, yamlOf } from '../../yaml.ts'
import { Trail } from './trail.tsx'
import { TryOut } from './try-out.tsx'
import { Workbench } from './workbench.tsx'

const t = texts.guardrails

export function Guardrails() {
  const { may, drafts, session } = useView()
  const admin = may('admin')
  const [period, periodChoice] = usePeriod<Period>('period', texts.recent)
  const loaded = useCall(`rules ${period}`, async (signal) => {
    const [rules, policy] = await Promise.all([
      service.listGuardrails({ fired_since: startOf(period) ?? '1970-01-01' }, { signal }),
      service.getPolicy({}, { signal }),
    ])
    const written = new Map(policy.guardrails.map((rule) => [String(rule.id), rule]))
    return { ...rules, written, applies: policy.applies }
  })
  const [said, say] = useResult()
  /** A rule in shadow mode as the file that puts it in force, with who wanted that. */
  const force = (rule: Record<string, unknown>) => {
    const { mode: _, ...rest } = ruleText(rule)
    const name = `${String(rule.id).replace(/[^A-Za-z0-9-]+/g, '-')}.yaml`
    const head = t.inForceBy(String(rule.id), session.agent, new Date().toISOString())
    saveFile(name, new Blob([`${head}\n${yamlOf({ guardrails: [rest] })}`], { type: 'application/yaml' }))
    say(t.forced(name, String(rule.file)))
  }
  return (
    <>
      <Panel title={t.rulesInForce}>
        {said}
        <Show of={loaded}>
          {({ guardrails, errors, policy_hash, fired_from, written, applies }) => {
            const ordered = guardrails.toSorted((a, b) => (b.fired ?? 0) - (a.fired ?? 0))
            const isShown = ({ fired, mode }: (typeof guardrails)[number]) => fired !== 0 || mode === 'shadow'
            const [shown, silent] = [ordered.filter(isShown), ordered.filter((one) => !isShown(one))]
            const folds = shown.length > 0 && silent.length > 0
            const table = (rules: typeof guardrails) => (
              <Table
                caption={t.rulesInForce}
                empty={t.none}
                heads={[
                  t.rule,
                  t.action,
                  t.appliesTo,
                  ...(fired_from ? [figures(t.fired(period === 'all' ? null : fired_from.slice(0, 10)))] : []),
                ]}
                rows={rules.map(({ id, name, description, action, mode, fired, scope, file }) => [
                  <>
                    <strong>{name ?? id}</strong> <code>{id}</code>
                    <details class="clamped">
                      <summary>{applies[id] ? `${texts.workbench.inWords} ${applies[id]}` : t.always}</summary>
                      {description && <p>{description}</p>}
                      <p class="quiet">
                        {t.file} <code>{file}</code>
                      </p>
                      <pre tabIndex={0}>{yamlOf(written.get(id))}</pre>
                    </details>
                  </>,
                  mode === 'shadow' ? (
                    <>
                      <Badge of={t.shadow(action)} />
                      {admin && written.has(id) && (
                        <button type="button" onClick={() => force(written.get(id)!)}>
                          {t.force}
                        </button>
                      )}
                    </>
                  ) : (
                    <Badge of={action} />
                  ),
                  scope ?? t.everything,
                  ...(fired === undefined ? [] : [whole(fired)]),
                ])}
              />
            )
            return (
              <>
                {fired_from && <div class="bar">{periodChoice}</div>}
                {errors.map(({ file, line, column, message }) => (
                  <p class="notice bad" key={`${file} ${line} ${column}`}>
                    {t.broken(file, line, message)}
                  </p>
                ))}
                {table(folds ? shown : ordered)}
                {folds && (
                  <details>
                    <summary>{t.silent(silent.length)}</summary>
                    {table(silent)}
                  </details>
                )}
                <p class="quiet">
                  {t.policy} <code>{policy_hash}</code>
                </p>
              </>
            )
          }}
        </Show>
      </Panel>
      {drafts && <Workbench />}
      <TryOut folded />
      <Trail />
    </>
  )
}
