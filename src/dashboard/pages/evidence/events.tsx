/** The records of the chain, filtered and page by page, the newest first. */
import { Fragment } from 'preact'
import type { ListEvidenceParams, ListEvidenceResult } from '../../../../sdk/client.ts'
import { Show, useCall } from '../../call.tsx'
import { allRows, Csv } from '../../csv.tsx'
import { FilterBar, keptOf } from '../../form.tsx'
import { To, ToDecision, useArrival, useView } from '../../route.tsx'
import { service } from '../../service.ts'
import { texts } from '../../texts.ts'
import { useTitles } from '../../titles.ts'
import { Badge, Panel, Table, When } from '../../ui.tsx'

const t = texts.events

const fields = [
  'seq',
  'event_type',
  'evidence_class',
  'ts',
  'source',
  ['payload', ({ payload }: Event) => JSON.stringify(payload)],
  'hash',
] as const
type Event = ListEvidenceResult['events'][number]

/** The decision that an event names. */
const decisionsIn = ({ payload: { decision_id } }: Event): string[] =>
  typeof decision_id === 'string' ? [decision_id] : []

/** Every record that matches, not only the page that is shown. */
const csvRows = ({ order, limit: _, ...filter }: ListEvidenceParams) =>
  allRows(async (from) => {
    const at = from > 0 && { [order === 'asc' ? 'seq_from' : 'seq_to']: from }
    const { events, next_seq } = await service.listEvidence({ ...filter, order, limit: 500, ...at })
    return { rows: events, next: next_seq }
  })

export function Events() {
  const { place } = useView()
  const { order: kept_order, ...kept } = keptOf(place, ['class', 'type', 'order'])
  const from = Number.parseInt(place.query.get('from') ?? '', 10) || null
  const status = useArrival<HTMLParagraphElement>(from ?? 0)
  const evidence_class = (['observed', 'attested'] as const).find((name) => name === kept.class)
  const order = kept_order === 'asc' ? 'asc' : 'desc'
  const query = {
    order,
    limit: 25,
    ...(from !== null && from > 0 && { [order === 'asc' ? 'seq_from' : 'seq_to']: from }),
    ...(kept.type && { event_type: kept.type }),
    ...(evidence_class && { evidence_class }),
  } as const
  const loaded = useCall(JSON.stringify(query), (signal) => service.listEvidence(query, { signal }))
  const titleOf = useTitles((loaded.data?.events ?? []).flatMap(decisionsIn))
  return (
    <Panel title={t.title} folded={place.query.size === 0 && 'narrow'}>
      <FilterBar
        fields={[{ name: 'type', label: t.type, placeholder: 'pr_merged' }]}
        choice={{ name: 'class', label: t.class, options: [['', t.both], 'observed', 'attested'] }}
        cursor="from"
      />
      <Show of={loaded}>
        {({ events, next_seq }) => (
          <>
            <p class="quiet" role="status" tabIndex={-1} ref={status}>
              {events.length > 0 && t.span(order, events[0]!.seq, events.at(-1)!.seq)}{' '}
              <To path={place.path} query={{ ...kept, ...(order === 'desc' && { order: 'asc' }) }}>
                {t.turned[order]}
              </To>
            </p>
            <Table
              caption={t.title}
              empty={from === null && !kept.type && !kept.class ? t.none : t.noMatch}
              heads={t.heads}
              rows={events.map((event) => {
                const { seq, event_type, evidence_class, ts, source, payload } = event
                return [
                  <>
                    {seq}{' '}
                    <span class="figure-pair">
                      <code>{event_type}</code>
                    </span>
                  </>,
                  <Badge of={evidence_class} />,
                  <When at={ts} />,
                  source,
                  <span class="quiet">
                    {decisionsIn(event).map((id) => (
                      <Fragment key={id}>
                        <ToDecision id={id}>{titleOf(id)}</ToDecision>
                        {' · '}
                      </Fragment>
                    ))}
                    {Object.entries(payload)
                      .filter(([name]) => name !== 'decision_id')
                      .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
                      .join(' · ')}
                  </span>,
                  <To path={place.path} query={{ ...kept, proof: seq }} aria-label={t.proveOne(seq)}>
                    {t.prove}
                  </To>,
                ]
              })}
            />
            {events.length > 0 && <Csv name="evidence" fields={fields} rows={() => csvRows(query)} />}
            {next_seq !== null && (
              <nav class="pager" aria-label={t.pages}>
                <To path={place.path} query={{ ...kept, ...(order === 'asc' && { order }), from: next_seq }} rel="next">
                  {t.next[order]}
                </To>
              </nav>
            )}
          </>
        )}
      </Show>
    </Panel>
  )
}
