/** Circuit breakers: their states. */
import { Show, useCall } from '../call.tsx'
import { Csv } from '../csv.tsx'
import { none, span, whole } from '../figures.ts'
import { To, type View } from '../route.tsx'
import { service } from '../service.ts'
import { texts } from '../texts.ts'
import { Badge, Empty, Table, term, When } from '../ui.tsx'
import { Next } from './breaker.tsx'

const t = texts.breakers
const csvHeads = [
  'scope',
  'state',
  'failure_count',
  'failure_threshold',
  'window_ms',
  'opened_at',
  'cooldown_ms',
  'opened_by',
]

export function Breakers({ session }: View) {
  const loaded = useCall('breakers', (signal) => service.listBreakers({}, { signal }))
  return (
    <>
      <p>
        {t.what(term('breaker'))}
        {!session.scopes.includes('admin') && ` ${t.needsAdmin}`}
      </p>
      <Show of={loaded}>
        {({ breakers }) =>
          breakers.length === 0 ? (
            <Empty>{t.none}</Empty>
          ) : (
            <>
              <Table
                caption={t.caption}
                heads={[
                  { name: t.heads.scope },
                  { name: t.heads.state },
                  { name: t.heads.failures, number: true },
                  { name: t.heads.window },
                  { name: t.heads.since },
                  { name: t.heads.next },
                ]}
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
              <p>
                <Csv
                  name="breakers"
                  heads={csvHeads}
                  rows={() =>
                    breakers.map((one) => [
                      one.scope,
                      one.state,
                      one.failure_count,
                      one.failure_threshold,
                      one.window_ms,
                      one.opened_at,
                      one.cooldown_ms,
                      one.opened_by.map(({ decision_id }) => decision_id).join(' '),
                    ])
                  }
                />
              </p>
            </>
          )
        }
      </Show>
    </>
  )
}
