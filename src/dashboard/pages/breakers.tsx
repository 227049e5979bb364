/** Circuit breakers: their states, and the way to close one. */
import { Failure, Show, useCall, useJob } from '../call.tsx'
import { none, span, whole } from '../figures.ts'
import { useResult } from '../form.tsx'
import { ToDecision, type View } from '../route.tsx'
import { service } from '../service.ts'
import { Badge, Empty, Table, Term, When } from '../ui.tsx'

const resets = [
  ['Allow one trial', true],
  ['Close breaker', false],
] as const

export function Breakers({ session }: View) {
  const loaded = useCall('breakers', (signal) => service.listBreakers({}, { signal }))
  const [result, show] = useResult()
  const { error, run } = useJob<void>()
  const mayReset = session.scopes.includes('admin')
  const reset = (scope: string, probe_first: boolean) =>
    run(async () => {
      const { message } = await service.resetCircuit({ scope, probe_first })
      show(message)
      loaded.again()
    })
  return (
    <>
      <p>
        A <Term name="breaker">circuit breaker</Term> opens when too many decisions of its scope failed within its
        window.
        {!mayReset && ' To reset a breaker your agent needs the scope admin.'}
      </p>
      {result}
      {error !== null && <Failure error={error} />}
      <Show of={loaded}>
        {({ breakers }) =>
          breakers.length === 0 ? (
            <Empty>No breaker is configured. Define breakers under circuit_breakers in a rule file.</Empty>
          ) : (
            <Table
              caption="Circuit breakers"
              heads={[
                { name: 'Scope' },
                { name: 'State' },
                { name: 'Failures', number: true },
                { name: 'Window' },
                { name: 'Since' },
                { name: 'Next' },
                ...(mayReset ? [{ name: 'Reset' }] : []),
              ]}
              rows={breakers.map((one) => [
                <code>{one.scope}</code>,
                <Badge of={one.state} />,
                `${whole(one.failure_count)} of ${whole(one.failure_threshold)}`,
                span(one.window_ms / 1_000),
                one.opened_at ? <When at={one.opened_at} /> : none,
                one.state === 'closed' ? (
                  none
                ) : one.probe_decision_id ? (
                  <>
                    waits for the review of <ToDecision id={one.probe_decision_id}>its trial</ToDecision>
                  </>
                ) : one.cooldown_remaining_ms > 0 ? (
                  `one trial in ${span(one.cooldown_remaining_ms / 1_000)}`
                ) : (
                  'one trial is allowed'
                ),
                ...(mayReset
                  ? [
                      one.state === 'closed' ? (
                        none
                      ) : (
                        <span class="buttons">
                          {resets.map(([name, probe_first]) => (
                            <button
                              key={name}
                              type="button"
                              onClick={() => reset(one.scope, probe_first)}
                              aria-label={`${name}: ${one.scope}`}
                            >
                              {name}
                            </button>
                          ))}
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
