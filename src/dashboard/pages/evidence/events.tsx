/** The records of the chain, filtered and page by page. */
import { Show, useCall } from '../../call.tsx'
import { whole } from '../../figures.ts'
import { FilterBar, keptOf } from '../../form.tsx'
import { type Place, To, useArrival } from '../../route.tsx'
import { service } from '../../service.ts'
import { Badge, Empty, Panel, Table, When } from '../../ui.tsx'

export function Events({ place }: { place: Place }) {
  const kept = keptOf(place, ['class', 'type'])
  const from = Math.max(1, Number.parseInt(place.query.get('from') ?? '', 10) || 1)
  const status = useArrival<HTMLParagraphElement>(from)
  const evidence_class = (['observed', 'attested'] as const).find((name) => name === kept.class)
  const query = {
    seq_from: from,
    limit: 25,
    ...(kept.type && { event_type: kept.type }),
    ...(evidence_class && { evidence_class }),
  }
  const loaded = useCall(JSON.stringify(query), (signal) => service.listEvidence(query, { signal }))
  return (
    <Panel title="Events" wide>
      <FilterBar
        place={place}
        fields={[{ name: 'type', label: 'Type', placeholder: 'pr_merged' }]}
        choice={{ name: 'class', label: 'Class', options: [['', 'both'], 'observed', 'attested'] }}
        cursor="from"
      />
      <Show of={loaded}>
        {({ events, next_seq }) => (
          <>
            <p class="quiet" role="status" tabIndex={-1} ref={status}>
              {events.length > 0 && `Events ${whole(events[0]!.seq)} to ${whole(events.at(-1)!.seq)}`}
            </p>
            {events.length === 0 ? (
              <Empty>No event matches.</Empty>
            ) : (
              <Table
                caption="Events"
                heads={['Event', 'Class', 'When', 'Source', 'Payload', 'Proof'].map((name) => ({ name }))}
                rows={events.map(({ seq, event_type, evidence_class, ts, source, payload }) => [
                  <>
                    {seq} <code>{event_type}</code>
                  </>,
                  <Badge of={evidence_class} />,
                  <When at={ts} />,
                  source,
                  <code>{JSON.stringify(payload)}</code>,
                  <To path={place.path} query={{ ...kept, proof: seq }} aria-label={`Prove event ${seq}`}>
                    Prove
                  </To>,
                ])}
              />
            )}
            {next_seq !== null && (
              <nav class="pager" aria-label="Pages of the events">
                <To path={place.path} query={{ ...kept, from: next_seq }} rel="next">
                  Later events
                </To>
              </nav>
            )}
          </>
        )}
      </Show>
    </Panel>
  )
}
