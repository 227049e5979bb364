/** What led to a decision, in order, and the way to add a thought to it. */
import { useState } from 'preact/hooks'
import type { GetDecisionResult } from '../../../../sdk/client.ts'
import { Failure, useJob } from '../../call.tsx'
import { time, words } from '../../figures.ts'
import { service } from '../../service.ts'
import { Act, Empty, Panel } from '../../ui.tsx'

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

/** Inputs and thoughts as one line of time; what has no time keeps its place. */
function entriesOf({ deliberation, reasoning_trace }: GetDecisionResult): Entry[] {
  const inputs = (deliberation?.inputs ?? []).map((input) => ({
    kind: words(input.type),
    text: input.content,
    at: member(input, 'timestamp'),
    by: null,
  }))
  // What was tracked stands among the thoughts too.
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
  return [...inputs, ...trace, ...steps].sort((a, b) => (a.at && b.at ? (a.at < b.at ? -1 : a.at > b.at ? 1 : 0) : 0))
}

export function Deliberation({
  record,
  mayWrite,
  changed,
}: {
  record: GetDecisionResult
  mayWrite: boolean
  changed: () => void
}) {
  const [text, setText] = useState('')
  const { error, busy, run } = useJob<void>()
  const [added, setAdded] = useState(false)
  const entries = entriesOf(record)
  const add = (event: Event) => {
    event.preventDefault()
    setAdded(false)
    run(async () => {
      await service.recordThought({ text, decision_id: record.id })
      setText('')
      setAdded(true)
      changed()
    })
  }
  return (
    <Panel title="Deliberation" lead="What the agent looked at and thought, in order." wide>
      {entries.length === 0 ? (
        <Empty>Nothing was tracked before this decision.</Empty>
      ) : (
        <ol class="timeline">
          {entries.map(({ kind, text: said, at, by }, number) => (
            <li key={number}>
              <p class="quiet">
                {kind}
                {by && ` of ${by}`}
                {at && `, ${time(at)}`}
              </p>
              <p class="prose">{said}</p>
            </li>
          ))}
        </ol>
      )}
      {mayWrite && (
        <form onSubmit={add}>
          <label class="field">
            <span>Add a thought</span>
            <textarea
              name="thought"
              rows={2}
              maxLength={10_000}
              required
              value={text}
              onInput={(event) => setText(event.currentTarget.value)}
            />
          </label>
          {error !== null && <Failure error={error} />}
          <Act busy={busy}>Add the thought</Act>
          <span class="quiet said" role="status">
            {added && 'Added.'}
          </span>
        </form>
      )}
    </Panel>
  )
}
