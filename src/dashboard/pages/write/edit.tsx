/** The form that edits a decision, based on the loaded revision. Changes by others are shown next to it, and nothing is lost. */
import { type GetDecisionResult, isCstpError } from '../../../../sdk/client.ts'
import { Failure, Show, useCall, useJob } from '../../call.tsx'
import { Act, Form, useResult } from '../../form.tsx'
import { refreshPage } from '../../fresh.tsx'
import { addressOf, go, ToDecision, useTitle, useView } from '../../route.tsx'
import { type Session, service } from '../../service.ts'
import { texts } from '../../texts.ts'
import { Empty, Panel } from '../../ui.tsx'
import { Conflict } from './conflict.tsx'
import { changedFields, type Draft, draftOf, updatesOf, useDraft } from './draft.ts'
import { Lines } from './fields.tsx'
import { Confidence, Context, field, Pattern, Place, Reasons, Tags, What } from './parts.tsx'
import { inForm, problemsOf } from './problems.ts'

const t = texts.write.edit

/** Whether the session may change the record, by the same rule as the service. */
export const mayEdit = ({ agent, scopes }: Session, { recorded_by }: Pick<GetDecisionResult, 'recorded_by'>): boolean =>
  scopes.includes('curate') || (scopes.includes('write') && (recorded_by === agent || scopes.includes('admin')))

export function Edit() {
  const { id, session, may } = useView()
  const loaded = useCall(id, (signal) => service.getDecision({ id, revisions: true }, { signal }))
  return (
    <Show of={loaded}>
      {(record) =>
        mayEdit(session, record) ? (
          <Editing key={record.id} record={record} />
        ) : (
          <Empty>{may('write') ? t.notYours(record.recorded_by) : texts.write.needsWrite}</Empty>
        )
      }
    </Show>
  )
}

/** An edit in progress: the draft it started from, and the current one. */
interface Change {
  base: Draft
  mine: Draft
  /** The `revision_count` of the record that it started from. */
  seen: number
}

function Editing({ record }: { record: GetDecisionResult }) {
  const { session } = useView()
  useTitle(t.title(record.title))
  const stored = draftOf(record)
  const start: Change = { base: stored, mine: stored, seen: record.revision_count }
  const draft = useDraft<Change>(session.agent, `edit ${record.id}`, start)
  const { base, mine, seen } = draft.value
  const change = (changes: Partial<Draft>) => draft.change({ mine: { ...mine, ...changes } })
  const { error, busy, run } = useJob<void>()
  const [result, show] = useResult()
  const page = addressOf(`/decisions/${encodeURIComponent(record.id)}`)
  const submit = (_: unknown, form: HTMLFormElement) => {
    const changed = changedFields(mine, base)
    if (changed.length === 0) return show(t.nothing)
    run(() =>
      inForm(form, async () => {
        try {
          const updates = updatesOf(mine, base, record)
          await service.updateDecision({ id: record.id, updates, revision_count: seen })
        } catch (failed) {
          // Someone else was faster: their version is loaded and shown next to this one.
          if (isMeanwhile(failed)) return void refreshPage()
          throw failed
        }
        draft.clear()
        go(page)
        scrollTo(0, 0)
      }),
    )
  }
  const problem = problemsOf(error, 'updates.')
  const part = { draft: mine, change, problem }
  const meanwhile = seen !== record.revision_count
  return (
    <div>
      <p class="quiet">{t.lead}</p>
      {draft.restored && changedFields(mine, base).length > 0 && <p class="notice">{texts.write.record.kept}</p>}
      {meanwhile && (
        <Conflict
          record={record}
          base={base}
          mine={mine}
          stored={stored}
          settle={(settled) => {
            draft.change({ base: stored, mine: settled, seen: record.revision_count })
            show(t.settled)
          }}
        />
      )}
      <Form class="writing narrow" aria-label={t.title(record.title)} submit={submit}>
        <Panel title={texts.write.record.what}>
          <What {...part} />
          <Context {...part} />
          <Confidence {...part} hint={t.confidenceHint} />
        </Panel>
        <section class="panel">
          <Reasons {...part} />
        </section>
        <Panel title={t.place} lead={t.placeHint}>
          <Place {...part} />
          <Tags {...part} />
        </Panel>
        <Panel title={t.bridge} folded={!['structure', 'function'].some((name) => problem(`bridge.${name}`))}>
          <Pattern {...part} />
          {(['structure', 'function'] as const).map((name) => (
            <Lines key={name} {...field(part, name, `bridge.${name}`)} required rows={2} />
          ))}
        </Panel>
        {error !== null && <Failure error={error} />}
        {result}
        <p class="actions">
          {!meanwhile && (
            <Act busy={busy} main>
              {t.save}
            </Act>
          )}
          <button type="button" onClick={draft.clear}>
            {t.discard}
          </button>
          <ToDecision id={record.id}>{t.back}</ToDecision>
        </p>
      </Form>
    </div>
  )
}

const isMeanwhile = (error: unknown): boolean =>
  isCstpError(error, 'invalid_params') && error.data.issues.some(({ path }) => path === 'revision_count')
