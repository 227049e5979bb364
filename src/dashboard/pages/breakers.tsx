/** Circuit breakers: their states, and the way to close one again. */
import { useState } from 'preact/hooks'
import { Failure, Show, useCall } from '../call.tsx'
import { span, whole } from '../figures.ts'
import { ToDecision, type View } from '../route.tsx'
import { service } from '../service.ts'
import { Badge, Empty, Table, Term, Told, When } from '../ui.tsx'

export function Breakers({ session }: View) {
  const loaded = useCall('breakers', (signal) => service.listBreakers({}, { signal }))
  const [note, setNote] = useState<{ text: string; at: number } | null>(null)
  const [error, setError] = useState<unknown>(null)
  const mayReset = session.scopes.includes('admin')
  const reset = (scope: string, probe_first: boolean) =>
    void service.resetCircuit({ scope, probe_first }).then(({ message }) => {
      setNote((before) => ({ text: message, at: (before?.at ?? 0) + 1 }))
      setError(null)
      loaded.again()
    }, setError)
  return (
    <>
      <p>
        A <Term name="breaker">circuit breaker</Term> opens when too many decisions of its scope failed within its
        window.
        {!mayReset && ' To reset one your agent needs the scope admin.'}
      </p>
      {note && <Told key={note.at}>{note.text}</Told>}
      {error !== null && <Failure error={error} />}
      <Show of={loaded}>
        {({ breakers }) =>
          breakers.length === 0 ? (
            <Empty>None is configured. Rule files take them under circuit_breakers.</Empty>
          ) : (
            <Table
              caption="Circuit breakers"
              heads={[
                { name: 'Scope' },
                { name: 'State' },
                { name: 'Failures', number: true },
                { name: 'Window' },
                { name: 'Since' },
                { name: 'What is next' },
                ...(mayReset ? [{ name: 'Reset' }] : []),
              ]}
              rows={breakers.map((one) => [
                <code>{one.scope}</code>,
                <Badge of={one.state} />,
                `${whole(one.failure_count)} of ${whole(one.failure_threshold)}`,
                span(one.window_ms / 1_000),
                one.opened_at ? <When at={one.opened_at} /> : '–',
                one.state === 'closed' ? (
                  '–'
                ) : one.probe_decision_id ? (
                  <>
                    waits for the review of <ToDecision id={one.probe_decision_id}>its probe</ToDecision>
                  </>
                ) : one.cooldown_remaining_ms > 0 ? (
                  `one probe in ${span(one.cooldown_remaining_ms / 1_000)}`
                ) : (
                  'one probe is let through'
                ),
                ...(mayReset
                  ? [
                      one.state === 'closed' ? (
                        '–'
                      ) : (
                        <span class="buttons">
                          <button
                            type="button"
                            onClick={() => reset(one.scope, true)}
                            aria-label={`Try one first: ${one.scope}`}
                          >
                            Try one first
                          </button>
                          <button
                            type="button"
                            onClick={() => reset(one.scope, false)}
                            aria-label={`Close: ${one.scope}`}
                          >
                            Close
                          </button>
                        </span>
                      ),
                    ]
                  : []),
              ])}
            />
          )
        }
      </Show>
    </>
  )
}
