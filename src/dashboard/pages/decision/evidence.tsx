/** The evidence that is linked to a decision: each event with its class, its payload and its proof. */
import { useState } from 'preact/hooks'
import type { ListEvidenceResult } from '../../../../sdk/client.ts'
import { Show, useCall } from '../../call.tsx'
import { whole } from '../../figures.ts'
import { To } from '../../route.tsx'
import { callAll, service } from '../../service.ts'
import { texts } from '../../texts.ts'
import { Badge, List, Pairs, Panel, prose, term, When } from '../../ui.tsx'
import { Path } from '../evidence/proof.tsx'

const t = texts.decisionEvidence

type Event = ListEvidenceResult['events'][number]

const mostPages = 20
const mostEvents = 50

/** The attested links of the decision, found by a walk over all links of the chain. */
async function linksOf(id: string, signal: AbortSignal): Promise<{ links: Event[]; more: boolean }> {
  const links: Event[] = []
  let from: number | null = 1
  for (let page = 0; from !== null && page < mostPages; page++) {
    const answer: ListEvidenceResult = await service.listEvidence(
      { event_type: 'cstp_decision_linked', seq_from: from, limit: 500 },
      { signal },
    )
    links.push(...answer.events.filter(({ payload }) => payload.decision_id === id))
    from = answer.next_seq
  }
  return { links, more: from !== null }
}

/** Numbers of the linked events, ascending and without duplicates. */
const seqsOf = (links: readonly Event[]): number[] =>
  [...new Set(links.flatMap(({ payload }) => (payload.event_seqs ?? []) as number[]))].sort((a, b) => a - b)

async function load(id: string, signal: AbortSignal) {
  const { links, more } = await linksOf(id, signal)
  const seqs = seqsOf(links)
  const shown = seqs.slice(0, mostEvents)
  const calls = shown.map((seq) => ({ method: 'listEvidence' as const, params: { seq_from: seq, seq_to: seq } }))
  const answers = await callAll(calls, signal)
  return { links, events: answers.flatMap(({ events }) => events), left: seqs.length - shown.length, more }
}

/** Computed only when opened. */
function Proof({ seq }: { seq: number }) {
  const [open, setOpen] = useState(false)
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{t.proof(seq)}</summary>
      {open && <Path seq={seq} />}
    </details>
  )
}

function Item({ event: { seq, event_type, evidence_class, source, ts, payload } }: { event: Event }) {
  return (
    <>
      <p>
        <Badge of={evidence_class} />{' '}
        {t.event(
          <strong>{event_type}</strong>,
          <To path="/proof" query={{ proof: seq }}>
            {whole(seq)}
          </To>,
        )}{' '}
        <span class="quiet">{t.from(source, <When at={ts} />)}</span>
      </p>
      <Pairs
        rows={Object.entries(payload).map(([name, value]) => [
          name,
          prose(typeof value === 'string' ? value : JSON.stringify(value)),
        ])}
      />
      <Proof seq={seq} />
    </>
  )
}

export function EvidenceOf({ id }: { id: string }) {
  const loaded = useCall(id, (signal) => load(id, signal))
  return (
    <Panel at="evidence" title={t.evidence} lead={t.lead(term('observed'), term('attested'))}>
      <Show of={loaded}>
        {({ links, events, left, more }) => (
          <>
            <List of={[...events, ...links]} empty={t.none}>
              {(event) => <Item event={event} />}
            </List>
            {left > 0 && <p class="quiet">{t.more(whole(left))}</p>}
            {more && <p class="quiet">{t.searched(whole(mostPages * 500))}</p>}
          </>
        )}
      </Show>
    </Panel>
  )
}
