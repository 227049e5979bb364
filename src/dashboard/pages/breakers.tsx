/** Circuit breakers: their states. */
import { Show, useCall } from '../call.tsx'
import { Csv } from '../csv.tsx'
import { none, span, whole } from '../figures.ts'
import { To, useView } from '../route.tsx'
import { service } from '../service.ts'
import { texts } from '../texts.ts'
import { Badge, figures, Table, term, When } from '../ui.tsx'
import { Next, type State } from './breaker.tsx'

const t = texts.breakers
const { heads } = t
const fields = [
  'scope',
  'state',
  'failure_count',
  'failure_threshold',
  'window_ms',
  'opened_at',
  'cooldown_ms',
  ['opened_by', ({ opened_by }: State) => opened_by.map(({ decision_id }) => decision_id)],
] as const

export function Breakers() {
  const { may } = useView()
  const loaded = useCall('breakers', (signal) => service.listBreakers({}, { signal }))
  return (
    <>
      <p>
        {t.what(term('breaker'))}
        {!may('admin') && ` ${t.needsAdmin}`}
      </p>
      <Show of={loaded}>
        {({ breakers }) => (
          <>
            <Table
              caption={t.caption}
              empty={t.none}
              heads={[heads.scope, heads.state, figures(heads.failures), heads.window, heads.since, heads.next]}
              rows={breakers.map((one) => [
                <To path={`/breakers/${encodeURIComponent(one.scope)}`}>
                  <code>{one.scope}</code>
                </To>,
                <Badge of={one.state} />,
                t.of(whole(one.failure_count), whole(one.failure_threshold)),
                span(one.window_ms / 1_000),
                one.opened_at && one.state !== 'closed' ? <When at={one.opened_at} /> : none,
                <Next of={one} />,
              ])}
            />
            {breakers.length > 0 && <Csv name="breakers" fields={fields} rows={() => breakers} />}
          </>
        )}
      </Show>
    </>
  )
}
