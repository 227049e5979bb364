/** A dry run of the guardrails on an action. */
import type { CheckGuardrailsResult, Stakes } from '../../../../sdk/client.ts'
import { Failure, useJob } from '../../call.tsx'
import { counted } from '../../figures.ts'
import { Act, Choice, Field, Form, type Read } from '../../form.tsx'
import { service } from '../../service.ts'
import { Badge, Panel } from '../../ui.tsx'

/** The free fields of an action. @throws Error that says what was expected */
function contextIn(text: string): Record<string, unknown> {
  if (text.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(text)
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) return value as Record<string, unknown>
  } catch (cause) {
    throw new Error('The context is not JSON. Write it like {"affects_production": true}.', { cause })
  }
  throw new Error('The context must be an object, like {"affects_production": true}.')
}

export function TryOut() {
  const { result, error, busy, run } = useJob<CheckGuardrailsResult>()
  const submit = (read: Read) => {
    const text = (name: string) => read(name).trim()
    run(async () => {
      const confidence = text('confidence')
      return service.checkGuardrails({
        dry_run: true,
        action: {
          description: text('description'),
          stakes: text('stakes') as Stakes,
          ...(text('category') && { category: text('category') }),
          ...(text('project') && { project: text('project') }),
          ...(text('scope') && { scope: text('scope') }),
          tags: text('tags')
            .split(',')
            .map((tag) => tag.trim())
            .filter((tag) => tag !== ''),
          ...(confidence !== '' && { confidence: Number(confidence) / 100 }),
          context: contextIn(text('context')),
        },
      })
    })
  }
  return (
    <Panel
      title="Try an action"
      lead="See which rules match and why. This is a dry run: it records no decision, and its row in the audit trail says so."
      wide
    >
      <Form submit={submit}>
        <Field
          label="Planned action"
          name="description"
          required
          maxLength={10_000}
          placeholder="Deploy the new checkout"
        />
        <div class="grid">
          <Field label="Category" name="category" />
          <Choice label="Stakes" name="stakes" value="medium" options={['low', 'medium', 'high', 'critical']} />
          <Field label="Confidence in %" name="confidence" type="number" min="0" max="100" step="any" />
          <Field label="Project" name="project" />
          <Field label="Scope of rules" name="scope" />
          <Field label="Tags, separated by commas" name="tags" />
        </div>
        <Field label="Context as JSON">
          <textarea name="context" rows={2} placeholder='{"affects_production": true}' spellcheck={false} />
        </Field>
        <Act busy={busy} main>
          Try it
        </Act>
      </Form>
      {error !== null && <Failure error={error} />}
      <div role="status">
        {result && (
          <p class={`notice ${result.allowed ? 'good' : 'bad'}`}>
            <strong>{result.allowed ? 'Allowed.' : 'Blocked.'}</strong> {counted(result.evaluated, 'rule')} checked,{' '}
            {counted(result.violations.length, 'violation')}, {counted(result.warnings.length, 'warning')}.
          </p>
        )}
      </div>
      {result && (
        <ul class="plain">
          {[...result.violations, ...result.warnings].map(
            ({ guardrail_id, name, message, severity, suggestion, error: why }) => (
              <li key={guardrail_id}>
                <Badge of={severity} /> <strong>{name}</strong> <code>{guardrail_id}</code>
                <div>{message}</div>
                {suggestion && <div class="quiet">{suggestion}</div>}
                {why && <div class="quiet">It could not be evaluated: {why}</div>}
              </li>
            ),
          )}
        </ul>
      )}
    </Panel>
  )
}
