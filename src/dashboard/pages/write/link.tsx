/** The form that links a decision to another. */
import { useEffect, useRef } from 'preact/hooks'
import { type EdgeType, isCstpError } from '../../../../sdk/client.ts'
import { Failure, useJob } from '../../call.tsx'
import { words } from '../../figures.ts'
import { Act, Form, useResult } from '../../form.tsx'
import { refreshPage } from '../../fresh.tsx'
import { useView } from '../../route.tsx'
import { service } from '../../service.ts'
import { texts } from '../../texts.ts'
import { useDraft } from './draft.ts'
import { Lines } from './fields.tsx'
import { type Chosen, Picker } from './picker.tsx'
import { inForm, problemsOf } from './problems.ts'

const t = texts.write.link
const kinds = Object.keys(t.kinds) as EdgeType[]

interface Draft {
  kind: EdgeType
  typed: string
  chosen: Chosen | null
  why: string
}

export function LinkForm({ id }: { id: string }) {
  const { place, session } = useView()
  const open = place.query.get('do') === 'link'
  const start: Draft = { kind: 'relates_to', typed: '', chosen: null, why: '' }
  const draft = useDraft<Draft>(session.agent, `link ${id}`, start)
  const { kind, typed, chosen, why } = draft.value
  const { error, busy, run } = useJob<void>()
  const [result, show] = useResult()
  const submit = (_: unknown, form: HTMLFormElement) =>
    run(() =>
      inForm(form, async () => {
        const { edge } = await service.linkDecisions({
          source_id: id,
          target_id: chosen?.id ?? typed.trim(),
          edge_type: kind,
          context: why.trim() || null,
        })
        draft.clear()
        show(edge.effective ? t.done : t.withoutEffect)
        refreshPage()
      }),
    )
  const box = useRef<HTMLDetailsElement>(null)
  useEffect(() => {
    if (open) box.current?.querySelector('input')?.focus()
  }, [open])
  const problem = problemsOf(error)
  const other = isCstpError(error, 'decision_not_found') ? error.message : problem('target_id')
  return (
    <>
      <details ref={box} open={open || draft.restored} id="link">
        <summary>{t.title}</summary>
        <Form class="writing narrow" aria-label={t.title} submit={submit}>
          <fieldset class="kinds">
            <legend>{t.kind}</legend>
            {kinds.map((one) => (
              <label key={one}>
                <input
                  type="radio"
                  name="edge_type"
                  value={one}
                  checked={one === kind}
                  onChange={() => draft.change({ kind: one })}
                />
                <span>
                  <strong>{words(one)}</strong> <span class="quiet">{t.kinds[one]}</span>
                </span>
              </label>
            ))}
          </fieldset>
          <Picker
            label={t.other}
            hint={t.otherHint}
            problem={other}
            but={id}
            typed={typed}
            chosen={chosen}
            type={(text) => draft.change({ typed: text })}
            choose={(one) => draft.change({ chosen: one })}
          />
          <Lines
            label={t.why}
            rows={2}
            value={why}
            change={(text) => draft.change({ why: text })}
            problem={problem('context')}
          />
          {error !== null && <Failure error={error} />}
          <Act busy={busy} main>
            {t.save}
          </Act>
        </Form>
      </details>
      {result}
    </>
  )
}
