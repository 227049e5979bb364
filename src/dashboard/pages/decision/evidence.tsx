/** The evidence that a decision is linked with. */
import { Show, useCall } from '../../call.tsx'
import { service } from '../../service.ts'
import { Badge, Empty, Panel } from '../../ui.tsx'

/** The attested links of the decision, looked for among those of the chain. */
async function linksOf(id: string, signal: AbortSignal) {
  const found: { seq: number; seqs: number[]; source: string }[] = []
  let from: number | null = 1
  for (let page = 0; from !== null && page < 20; page++) {
    const answer: Awaited<ReturnType<typeof service.listEvidence>> = await service.listEvidence(
      { event_type: 'cstp_decision_linked', seq_from: from, limit: 500 },
      { signal },
    )
    for (const { seq, payload, source } of answer.events)
      if (payload.decision_id === id) found.push({ seq, source, seqs: (payload.event_seqs ?? []) as number[] })
    from = answer.next_seq
  }
  return { found, more: from !== null }
}

export function EvidenceOf({ id }: { id: string }) {
  const loaded = useCall(id, (signal) => linksOf(id, signal))
  return (
    <Panel title="Evidence">
      <Show of={loaded}>
        {({ found, more }) => (
          <>
            {found.length === 0 && <Empty>No evidence is linked. An agent links it with cstp.linkEvidence.</Empty>}
            <ul class="plain">
              {found.map(({ seq, seqs, source }) => (
                <li key={seq}>
                  <Badge of="attested" /> record {seq} of <code>{source}</code> links <Badge of="observed" /> events{' '}
                  {seqs.join(', ')}
                </li>
              ))}
            </ul>
            {more && <p class="quiet">Only the first 10 000 records were looked through.</p>}
          </>
        )}
      </Show>
    </Panel>
  )
}
