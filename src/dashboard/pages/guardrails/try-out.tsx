/** What the guardrails would say of an action, without doing or recording it. */
import { useRef } from 'preact/hooks'
import type { CheckGuardrailsResult, Stakes } from '../../../../sdk/client.ts'
import { Failure, useJob } from '../../call.tsx'
import { counted } from '../../figures.ts'
import { service } from '../../service.ts'
import { Act, Badge, Choice, Panel } from '../../ui.tsx'

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
  const form = useRef<HTMLFormElement>(null)
  const { result, error, busy, run } = useJob<CheckGuardrailsResult>()
  const submit = (event: Event) => {
    event.preventDefault()
    const data = new FormData(form.current!)
    const text = (name: string) => String(data.get(name) ?? '').trim()
    const check = async () => {
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
    }
    run(check)
  }
  return (
    <Panel
      title="Try an action"
      lead="See which rules match and why. Nothing of it is recorded, in no trail either."
      wide
    >
      <form ref={form} onSubmit={submit}>
        <label class="field">
          <span>What would be done</span>
          <input name="description" required maxLength={10_000} placeholder="Deploy the new checkout" />
        </label>
        <div class="grid">
          <label class="field">
            <span>Category</span>
            <input name="category" />
          </label>
          <Choice
            label="Stakes"
            name="stakes"
            value="medium"
            options={['low', 'medium', 'high', 'critical'].map((value) => [value, value] as const)}
          />
          <label class="field">
            <span>Confidence in %</span>
            <input name="confidence" type="number" min="0" max="100" step="any" />
          </label>
          <label class="field">
            <span>Project</span>
            <input name="project" />
          </label>
          <label class="field">
            <span>Scope of rules</span>
            <input name="scope" />
          </label>
          <label class="field">
            <span>Tags, with commas between</span>
            <input name="tags" />
          </label>
        </div>
        <label class="field">
          <span>Context as JSON</span>
          <textarea name="context" rows={2} placeholder='{"affects_production": true}' spellcheck={false} />
        </label>
        <Act busy={busy} main>
          Try it
        </Act>
      </form>
      {error !== null && <Failure error={error} />}
      <div role="status">
        {result && (
          <p class={`notice ${result.allowed ? 'good' : 'bad'}`}>
            <strong>{result.allowed ? 'Allowed.' : 'Blocked.'}</strong> {counted(result.evaluated, 'rule')} looked at,{' '}
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
