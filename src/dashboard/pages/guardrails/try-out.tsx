/** A dry run of the guardrails on an action. */
import type { CheckGuardrailsResult, Stakes } from '../../../../sdk/client.ts'
import { Failure, useJob } from '../../call.tsx'
import { Act, Choice, Field, Form, type Read } from '../../form.tsx'
import { service } from '../../service.ts'
import { Panel } from '../../ui.tsx'
import { factsIn, tagsIn } from '../write/draft.ts'
import { Judged } from './verdict.tsx'

const isFilled = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length > 0

/** @param of what the fields hold at first: the input of an evaluation */
export function TryOut({ of = {}, title = 'Try an action' }: { of?: Record<string, unknown>; title?: string }) {
  const text = (name: string): string => (typeof of[name] === 'string' ? of[name] : '')
  const { confidence, context, tags } = of
  const { result, error, busy, run } = useJob<CheckGuardrailsResult>()
  const submit = (read: Read) => {
    const text = (name: string) => read(name).trim()
    run(async () => {
      const stated = text('confidence')
      return service.checkGuardrails({
        dry_run: true,
        action: {
          description: text('description'),
          stakes: text('stakes') as Stakes,
          ...(text('category') && { category: text('category') }),
          ...(text('project') && { project: text('project') }),
          ...(text('scope') && { scope: text('scope') }),
          tags: tagsIn(text('tags')),
          ...(stated !== '' && { confidence: Number(stated) / 100 }),
          context: factsIn(text('context'), 'context'),
        },
      })
    })
  }
  return (
    <Panel
      title={title}
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
          defaultValue={text('description')}
        />
        <div class="grid">
          <Field label="Category" name="category" defaultValue={text('category')} />
          <Choice
            label="Stakes"
            name="stakes"
            value={text('stakes') || 'medium'}
            options={['low', 'medium', 'high', 'critical']}
          />
          <Field
            label="Confidence in %"
            name="confidence"
            type="number"
            min="0"
            max="100"
            step="any"
            defaultValue={typeof confidence === 'number' ? String(Math.round(confidence * 1_000) / 10) : ''}
          />
          <Field label="Project" name="project" defaultValue={text('project')} />
          <Field label="Scope of rules" name="scope" defaultValue={text('scope')} />
          <Field
            label="Tags, separated by commas"
            name="tags"
            defaultValue={Array.isArray(tags) ? tags.join(', ') : ''}
          />
        </div>
        <Field label="Context as JSON">
          <textarea
            name="context"
            rows={2}
            placeholder='{"affects_production": true}'
            spellcheck={false}
            defaultValue={isFilled(context) ? JSON.stringify(context) : ''}
          />
        </Field>
        <Act busy={busy} main>
          Try it
        </Act>
      </Form>
      {error !== null && <Failure error={error} />}
      <Judged of={result} />
    </Panel>
  )
}
