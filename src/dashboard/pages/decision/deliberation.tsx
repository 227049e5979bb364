/** The deliberation of a decision in order, and the form that adds a thought. */
import { useState } from 'preact/hooks'
import type { GetDecisionResult } from '../../../../sdk/client.ts'
import { Agent } from '../../agent.tsx'
import { Failure, useJob } from '../../call.tsx'
import { words } from '../../figures.ts'
import { Act, Form, LinesField } from '../../form.tsx'
import { refreshPage } from '../../fresh.tsx'
import { useView } from '../../route.tsx'
import { service } from '../../service.ts'
import { texts } from '../../texts.ts'
import { Panel, Timeline, When } from '../../ui.tsx'

const t = texts.thoughts

interface Entry {
  kind: string
  text: string
  at: string | null
  by: string | null
}

const member = (value: object, name: string): string | null => {
  const found = (value as Record<string, unknown>)[name]
  return typeof found === 'string' ? found : null
}

const isTimed = (entries: readonly Entry[]): boolean => entries.every(({ at }) => at !== null)

/** Inputs and thoughts by time if each has one, else in the given order. */
function entriesOf({ deliberation, reasoning_trace }: GetDecisionResult): Entry[] {
  const inputs = (deliberation?.inputs ?? []).map((input) => ({
    kind: words(input.type),
    text: input.content,
    at: member(input, 'timestamp'),
    by: null,
  }))
  // Tracked inputs are among the thoughts too.
  const tracked = new Set(deliberation?.inputs.map(({ content }) => content))
  const own = (deliberation?.steps ?? []).filter(({ thought }) => !tracked.has(thought))
  const steps = own.map((step) => ({
    kind: 'thought',
    text: step.thought,
    at: member(step, 'timestamp'),
    by: member(step, 'agent'),
  }))
  const trace = reasoning_trace.map((step) => ({
    kind: 'reasoning',
    text: typeof step === 'string' ? step : step.thought,
    at: null,
    by: null,
  }))
  const all: Entry[] = [...inputs, ...trace, ...steps]
  return isTimed(all) ? all.sort((a, b) => (a.at! < b.at! ? -1 : a.at! > b.at! ? 1 : 0)) : all
}

export function Deliberation({ record }: { record: GetDecisionResult }) {
  const mayWrite = useView().may('write')
  const [text, setText] = useState('')
  const { error, busy, run } = useJob<void>()
  const [added, setAdded] = useState(false)
  const entries = entriesOf(record)
  const add = () => {
    setAdded(false)
    run(async () => {
      await service.recordThought({ text, decision_id: record.id })
      setText('')
      setAdded(true)
      refreshPage()
    })
  }
  return (
    <Panel
      title={t.deliberation}
      lead={isTimed(entries) ? t.inOrder : t.asGiven}
      at="deliberation"
      folded={entries.length === 0 && !mayWrite}
    >
      <Timeline
        empty={t.none}
        of={entries.map(({ kind, text: content, at, by }) => ({
          head: [kind, by && [' of ', <Agent of={by} />], at && [', ', <When at={at} />]],
          body: <p class="prose">{content}</p>,
        }))}
      />
      {mayWrite && (
        <Form submit={add}>
          <LinesField
            label={t.label}
            name="thought"
            maxLength={10_000}
            required
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
          {error !== null && <Failure error={error} />}
          <Act busy={busy}>{t.add}</Act>
          <span class="quiet said" role="status">
            {added && t.added}
          </span>
        </Form>
      )}
    </Panel>
  )
}
