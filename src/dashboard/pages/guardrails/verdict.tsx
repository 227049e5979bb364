/** Findings of a dry run of the guardrails. */
import type { CheckGuardrailsResult } from '../../../../sdk/client.ts'
import { texts } from '../../texts.ts'
import { Badge, List } from '../../ui.tsx'

const t = texts.judged

type Finding = CheckGuardrailsResult['violations'][number]

/** Each rule that fired, with its message and what to do about it. */
export const Findings = ({ of }: { of: readonly Finding[] }) => (
  <List of={of}>
    {({ guardrail_id, name, message, severity, suggestion, error: why }) => (
      <>
        <Badge of={severity} /> <strong>{name}</strong> <code>{guardrail_id}</code>
        <div>{message}</div>
        {suggestion && <div class="quiet">{suggestion}</div>}
        {why && <div class="quiet">{t.failed(why)}</div>}
      </>
    )}
  </List>
)

export const Judged = ({ of }: { of: CheckGuardrailsResult | null }) => (
  <>
    <div role="status">
      {of && (
        <p class={`notice ${of.allowed ? 'good' : 'bad'}`}>
          <strong>{of.allowed ? t.allowed : t.blocked}</strong>{' '}
          {t.checked(
            texts.amount.rule(of.evaluated),
            texts.amount.violation(of.violations.length),
            texts.amount.warning(of.warnings.length),
          )}
        </p>
      )}
    </div>
    {of && <Findings of={[...of.violations, ...of.warnings]} />}
  </>
)
