/** The records of the chain. */
import { useMemo } from 'preact/hooks'
import { Show, useCall } from '../../call.tsx'
import { whole } from '../../figures.ts'
import { addressOf, go, goWith, type Place, To, useArrival } from '../../route.tsx'
import { service } from '../../service.ts'
import { Badge, Choice, Empty, Panel, Table, When } from '../../ui.tsx'

export function Events({ place }: { place: Place }) {
  const asked = (name: string) => place.query.get(name) ?? ''
  const from = Math.max(1, Number.parseInt(asked('from'), 10) || 1)
  const status = useArrival<HTMLParagraphElement>(from)
  const of = asked('class')
  const type = asked('type')
  const query = {
    seq_from: from,
    limit: 25,
    ...(type && { event_type: type }),
    ...((of === 'observed' || of === 'attested') && { evidence_class: of as 'observed' | 'attested' }),
  }
  const loaded = useCall(JSON.stringify(query), (signal) => service.listEvidence(query, { signal }))
  const kept = { class: of, type }
  // Drawn anew by the address alone: what is being typed stays while an answer comes in.
  const filters = useMemo(
    () => (
      <form
        class="bar"
        onSubmit={(event) => {
          event.preventDefault()
          go(addressOf(place.path, { ...kept, type: String(new FormData(event.currentTarget).get('type')).trim() }))
        }}
      >
        <label class="field">
          <span>Type</span>
          <input name="type" value={type} placeholder="pr_merged" />
        </label>
        <Choice
          label="Class"
          name="class"
          value={of}
          options={[
            ['', 'both'],
            ['observed', 'observed'],
            ['attested', 'attested'],
          ]}
          onChange={(value) => goWith(place, { class: value, from: null })}
        />
        <button type="submit">Filter</button>
      </form>
    ),
    [place.query.toString()],
  )
  return (
    <Panel title="Events" wide>
      {filters}
      <Show of={loaded}>
        {({ events, next_seq }) => (
          <>
            <p class="quiet" role="status" tabIndex={-1} ref={status}>
              {events.length > 0 && `Events ${whole(events[0]!.seq)} to ${whole(events.at(-1)!.seq)}`}
            </p>
            {events.length === 0 ? (
              <Empty>There is no such event.</Empty>
            ) : (
              <Table
                caption="Events"
                heads={[
                  { name: 'Event' },
                  { name: 'Class' },
                  { name: 'When' },
                  { name: 'Source' },
                  { name: 'What is known' },
                  { name: 'Proof' },
                ]}
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
