/** A block: the stopped action, the causes, what would allow it, how similar blocks ended, and a dry run with the same input. */

import { Agent } from '../../agent.tsx'
import { bounded } from '../../bounded.tsx'
import { Show, useCall } from '../../call.tsx'
import { none, percent, time } from '../../figures.ts'
import { Precedents } from '../../precedents.tsx'
import { To, useTitle, useView, type View } from '../../route.tsx'
import { service } from '../../service.ts'
import { texts } from '../../texts.ts'
import { breakerPrefix, evaluated, stoppedBy } from '../../trail.ts'
import { Badge, Empty, List, Pairs, Panel, When } from '../../ui.tsx'
import { ruleText, yamlOf } from '../../yaml.ts'
import { TryOut } from '../guardrails/try-out.tsx'
import { Similar } from './similar.tsx'

const t = texts.block

async function load(seq: number, trail: View['trail'], signal: AbortSignal) {
  const { entries } = await service.listAudit({ cursor: seq + 1, limit: 1, ...trail }, { signal })
  const entry = entries.find((one) => one.seq === seq)
  if (!entry) return null
  const { policy_hash } = evaluated(entry.detail)
  const policy = policy_hash ? await service.getPolicy({ policy_hash }, { signal }).catch(() => null) : null
  return { entry, policy }
}
type Loaded = NonNullable<Awaited<ReturnType<typeof load>>>

export function Block() {
  const { id, trail } = useView()
  const seq = Number(id)
  const loaded = useCall(`block ${seq}`, (signal) => load(seq, trail, signal))
  return (
    <Show of={loaded}>
      {(found) =>
        found && found.entry.allowed !== null ? (
          <Found {...found} />
        ) : (
          <Empty>{trail.agent === undefined ? t.gone : t.notYours(trail.agent)}</Empty>
        )
      }
    </Show>
  )
}

function Found({ entry, policy }: Loaded) {
  const { at, agent, method, detail } = entry
  const { input, verdict, approval_id, record_id, dry_run, policy_hash } = evaluated(detail)
  const description = String(input.description ?? method)
  const action = Object.fromEntries(Object.entries(input).filter(([name]) => !t.own.includes(name)))
  useTitle(description)
  return (
    <>
      <p class="status">
        <Badge of={verdict ?? (entry.allowed ? 'allowed' : 'blocked')} />
        <Agent of={agent} />
        <When at={at} />
        {dry_run && <span>{t.dryRun}</span>}
        <To path="/policy" query={{ allowed: 'no' }}>
          {t.all}
        </To>
      </p>
      <Causes entry={entry} policy={policy} />
      {approval_id && (
        <Panel title={t.approval}>
          <p>
            {t.waits} <To path={`/approvals/${approval_id}`}>{approval_id}</To>
          </p>
        </Panel>
      )}
      <Panel title={t.inputs}>
        <Pairs
          rows={[
            [t.fields.agent, agent],
            [t.fields.call, <code>{method}</code>],
            ...Object.entries(action).map(
              ([name, value]) =>
                [
                  name.replaceAll('_', ' '),
                  name === 'confidence' && typeof value === 'number'
                    ? percent(value)
                    : typeof value === 'string'
                      ? bounded(value)
                      : value === null || (Array.isArray(value) && value.length === 0)
                        ? null
                        : bounded(yamlOf(value).trimEnd()),
                ] as const,
            ),
            [t.fields.record, record_id && <code>{record_id}</code>],
            [t.fields.policy, policy_hash && <code>{policy_hash.slice(0, 16)}</code>],
          ]}
        />
      </Panel>
      <Precedents text={description} />
      <Similar of={entry} />
      <TryOut of={{ ...input, agent }} title={t.tryAgain} />
    </>
  )
}

/** Each rule and breaker that stopped the action, with its text and what would satisfy it. */
function Causes({ entry, policy }: Loaded) {
  const { breakers } = evaluated(entry.detail)
  return (
    <Panel title={t.causes}>
      <List of={stoppedBy(entry)}>
        {(id) => {
          const breaker = breakers.find(({ guardrail_id }) => guardrail_id === id)
          const rule = policy?.guardrails.find((one) => one.id === id)
          const scope = id.startsWith(breakerPrefix) ? id.slice(breakerPrefix.length) : null
          const message = breaker?.message ?? (rule?.message as string | undefined)
          const suggestion = breaker?.suggestion ?? (rule?.suggestion as string | undefined)
          const applies = policy?.applies[id]
          return (
            <>
              <p>
                <strong>{String(rule?.name ?? scope ?? id)}</strong> <code>{id}</code>
              </p>
              <p>{message ?? t.noMessage}</p>
              {scope ? (
                <p>
                  <To path={`/breakers/${encodeURIComponent(scope)}`}>{t.toBreaker}</To>
                </p>
              ) : (
                applies && (
                  <p>
                    {t.applies} {applies}.
                  </p>
                )
              )}
              <p>
                <strong>{t.remedy}</strong>{' '}
                {suggestion?.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, time) ??
                  (rule?.action === 'step_up' ? t.approve : applies ? t.change : none)}
              </p>
              {rule && (
                <details>
                  <summary>{t.ruleText(String(rule.file), Number(rule.line))}</summary>
                  <pre>{yamlOf(ruleText(rule))}</pre>
                </details>
              )}
            </>
          )
        }}
      </List>
    </Panel>
  )
}
