/** The form that records a decision, optionally superseding another: precedents next to it, and a policy check before it is sent. */
import { useRef } from 'preact/hooks'
import { type CheckGuardrailsResult, type GetDecisionResult, isCstpError } from '../../../../sdk/client.ts'
import { Failure, Show, useCall, useJob } from '../../call.tsx'
import { Act, Choice, Form } from '../../form.tsx'
import { addressOf, go, ToDecision, useTitle, useView } from '../../route.tsx'
import { service } from '../../service.ts'
import { texts } from '../../texts.ts'
import { Empty, Panel } from '../../ui.tsx'
import { Suggestions } from '../decisions/filters.tsx'
import { known } from '../decisions/search.ts'
import { Findings, Judged } from '../guardrails/verdict.tsx'
import { type Draft, draftOf, emptyDraft, keyFor, recordParamsOf, useDraft } from './draft.ts'
import { mayEdit } from './edit.tsx'
import { Line, Lines } from './fields.tsx'
import { Like } from './like.tsx'
import { Alternatives, Confidence, Context, field, Pattern, Place, Reasons, Tags, What } from './parts.tsx'
import { inForm, problemsOf } from './problems.ts'

const t = texts.write.record
const f = texts.write.fields

export function Recording() {
  const { place, may } = useView()
  const old = place.query.get('supersedes')
  if (!may('write')) return <Empty>{texts.write.needsWrite}</Empty>
  return old === null ? <Writing key="new" start={emptyDraft} old={null} /> : <Superseding key={old} id={old} />
}

function Superseding({ id }: { id: string }) {
  const loaded = useCall(id, (signal) => service.getDecision({ id }, { signal }))
  return (
    <Show of={loaded}>{(old) => <Writing start={{ ...draftOf(old), confidence: '', facts: '' }} old={old} />}</Show>
  )
}

/** The action that rules evaluate. */
function actionOf(draft: Draft) {
  const { decision, confidence, category, stakes, action_context, tags, project } = recordParamsOf(draft)
  return {
    description: decision,
    confidence,
    category,
    stakes,
    context: action_context,
    tags,
    ...(typeof project === 'object' && project?.name && { project: project.name }),
    ...(typeof project === 'object' && project?.pr && { pr: project.pr }),
  }
}

/** Names in the action for fields of a record; the action's context holds the facts. */
const inAction: Readonly<Record<string, string>> = {
  decision: 'description',
  context: '-',
  action_context: 'context',
  'project.name': 'project',
  'project.pr': 'pr',
}

interface Kept extends Draft {
  why: string
  /** The last attempted write; repeating it has no further effect. */
  last: { key: string; of: string } | null
}

interface Check {
  of: string
  result: CheckGuardrailsResult
}

function Writing({ start, old }: { start: Draft; old: GetDecisionResult | null }) {
  const { session } = useView()
  useTitle(old === null ? t.title : t.supersede(old.title))
  const name = old === null ? 'new' : `supersedes ${old.id}`
  const draft = useDraft<Kept>(session.agent, name, { ...start, why: '', last: null })
  const { value, change } = draft
  const stats = useCall('known', known)
  const checking = useJob<Check>()
  const saving = useJob<void>()
  const box = useRef<HTMLDivElement>(null)
  const form = () => box.current!.querySelector('form')!
  const now = JSON.stringify(actionSafely(value))
  const judged = checking.result?.of === now ? checking.result.result : null
  const check = async (): Promise<Check> => {
    const action = actionOf(value)
    return { of: JSON.stringify(action), result: await service.checkGuardrails({ dry_run: true, action }) }
  }
  const save = async (given: Kept) => {
    const params = {
      ...recordParamsOf(given),
      pre_decision_protocol: { query_run: true, guardrails_checked: true },
    }
    const last = keyFor(params, given.last)
    change({ last })
    const { decision_id } = await service.recordDecision({ ...params, idempotency_key: last.key })
    if (old !== null) {
      const context = given.why.trim() || null
      await service.linkDecisions({ source_id: decision_id, target_id: old.id, edge_type: 'supersedes', context })
    }
    draft.clear()
    go(addressOf(`/decisions/${encodeURIComponent(decision_id)}`))
    scrollTo(0, 0)
  }
  const submit = () =>
    saving.run(() =>
      inForm(form(), async () => {
        // Pressed again while the verdict on exactly this draft is shown: record it.
        if (judged) return save(value)
        const found = await check()
        checking.run(async () => found)
        if (found.result.allowed) await save(value)
      }),
    )
  const error = saving.error ?? checking.error
  const action = problemsOf(error, 'action.')
  const own = problemsOf(error)
  const problem = (path: string) => own(path) ?? action(inAction[path] ?? path)
  const part = { draft: value, change, problem }
  const blocked = isCstpError(error, 'record_failed') ? (error.data.violations ?? []) : []
  return (
    <div ref={box}>
      <p class="quiet">{t.lead}</p>
      {draft.restored && <p class="notice">{t.kept}</p>}
      <Suggestions stats={stats.data} />
      <Form class="writing" aria-label={old === null ? t.title : t.supersede(old.title)} submit={submit}>
        <Panel title={t.what}>
          {old !== null && <p>{t.supersedes(<ToDecision id={old.id}>{old.title}</ToDecision>)}</p>}
          {old !== null && !mayEdit(session, old) && <p class="notice warn">{t.withoutEffect(old.recorded_by)}</p>}
          <What {...part} />
          <Context {...part} />
          {old !== null && <Lines label={t.why} rows={2} value={value.why} change={(why) => change({ why })} />}
        </Panel>
        <Like text={value.decision} but={old?.id ?? null} />
        <Panel title={t.judged}>
          <div class="grid">
            <Line {...field(part, 'category')} required list="known-category" />
            <Choice
              label={f.stakes}
              name="stakes"
              value={value.stakes}
              options={['low', 'medium', 'high', 'critical']}
              onChange={(stakes) => change({ stakes: stakes as Draft['stakes'] })}
            />
          </div>
          <Confidence {...part} />
        </Panel>
        <section class="panel">
          <Reasons {...part} />
        </section>
        <section class="panel">
          <Alternatives {...part} />
        </section>
        <Panel title={t.place}>
          <Place {...part} />
          <Tags {...part} />
        </Panel>
        <Panel title={t.more} folded={!problem('action_context') && !problem('pattern')}>
          <Pattern {...part} />
          <Choice
            label={f.review_in}
            name="review_in"
            value={value.review_in}
            options={reviewOptions(value.review_in)}
            onChange={(review_in) => change({ review_in })}
          />
          <Lines {...field(part, 'facts', 'action_context')} hint={f.factsHint} rows={2} code />
        </Panel>
        <Panel title={t.policy} lead={t.policyLead}>
          {error !== null && <Failure error={error} />}
          <Findings of={blocked} />
          <Judged of={judged} />
          {judged && !judged.allowed && <p>{t.stopped}</p>}
          <p class="actions">
            <Act busy={saving.busy} main>
              {judged && !judged.allowed ? t.all : t.save}
            </Act>
            <Act
              busy={checking.busy}
              onClick={() => form().reportValidity() && checking.run(() => inForm(form(), check))}
            >
              {t.check}
            </Act>
            <button type="button" onClick={draft.clear}>
              {t.discard}
            </button>
          </p>
        </Panel>
      </Form>
    </div>
  )
}

/** The action that rules would evaluate; null while the facts are not valid JSON. */
function actionSafely(draft: Draft): object | null {
  try {
    return actionOf(draft)
  } catch {
    return null
  }
}

/** The usual options, and the value of the superseded decision. */
const reviewOptions = (now: string): [string, string][] =>
  texts.write.reviews.some(([value]) => value === now) ? texts.write.reviews : [[now, now], ...texts.write.reviews]
