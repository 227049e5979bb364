/** A dry run of the guardrails on an action. */
import type { CheckGuardrailsResult, Stakes } from '../../../../sdk/client.ts'
import { Failure, useJob } from '../../call.tsx'
import { Act, Choice, Field, Form, LinesField, type Read } from '../../form.tsx'
import { service } from '../../service.ts'
import { texts } from '../../texts.ts'
import { Panel } from '../../ui.tsx'
import { factsIn, tagsIn } from '../write/draft.ts'
import { Judged } from './verdict.tsx'

const t = texts.tryOut

const isFilled = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length > 0

/** @param of initial values of the fields: the input of an evaluation */
export function TryOut({
  of = {},
  title = t.title,
  folded = false,
}: {
  of?: Record<string, unknown>
  title?: string
  folded?: boolean
}) {
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
    <Panel title={title} lead={t.lead} folded={folded}>
      <Form submit={submit}>
        <Field
          label={t.action}
          name="description"
          required
          maxLength={10_000}
          placeholder={t.actionExample}
          defaultValue={text('description')}
        />
        <div class="grid">
          <Field label={t.category} name="category" defaultValue={text('category')} />
          <Choice
            label={t.stakes}
            name="stakes"
            value={text('stakes') || 'medium'}
            options={['low', 'medium', 'high', 'critical']}
          />
          <Field
            label={t.confidence}
            name="confidence"
            type="number"
            min="0"
            max="100"
            step="any"
            defaultValue={typeof confidence === 'number' ? String(Math.round(confidence * 1_000) / 10) : ''}
          />
          <Field label={t.project} name="project" defaultValue={text('project')} />
          <Field label={t.scope} name="scope" defaultValue={text('scope')} />
          <Field label={t.tags} name="tags" defaultValue={Array.isArray(tags) ? tags.join(', ') : ''} />
        </div>
        <LinesField
          label={t.context}
          name="context"
          placeholder={t.contextExample}
          spellcheck={false}
          defaultValue={isFilled(context) ? JSON.stringify(context) : ''}
        />
        <Act busy={busy} main>
          {t.submit}
        </Act>
      </Form>
      {error !== null && <Failure error={error} />}
      <Judged of={result} />
    </Panel>
  )
}
