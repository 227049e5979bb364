/** Evidence: the state of the chain, the controls that it supports, proofs and exports. */
import { Fragment } from 'preact'
import { Show, useCall } from '../../call.tsx'
import { counted, none, time, whole } from '../../figures.ts'
import { To, type View } from '../../route.tsx'
import { service } from '../../service.ts'
import { Badge, Empty, Figure, Panel, Table, Term } from '../../ui.tsx'
import { Events } from './events.tsx'
import { Export } from './export.tsx'
import { Proof } from './proof.tsx'
import { Verify } from './verify.tsx'

type Mapped = Awaited<ReturnType<typeof service.mapControls>>

interface Control {
  framework: string
  stage: string
  function_id: string
  control_name: string
  observed: number
  attested: number
  insufficient: number
}

/** The controls that evidence supports, by framework. */
function controlsOf({ mappings, insufficient_evidence }: Mapped): Control[] {
  const found = new Map<string, Control>()
  const at = (one: { framework: string; function_id: string; control_name: string; stage?: string }): Control => {
    const key = `${one.framework} ${one.function_id}`
    const control = found.get(key) ?? {
      framework: one.framework,
      stage: one.stage ?? '',
      function_id: one.function_id,
      control_name: one.control_name,
      observed: 0,
      attested: 0,
      insufficient: 0,
    }
    found.set(key, control)
    return control
  }
  for (const mapping of mappings) at(mapping)[mapping.evidence_class]++
  for (const lack of insufficient_evidence) at(lack).insufficient++
  return [...found.values()].sort((a, b) => (a.framework + a.function_id < b.framework + b.function_id ? -1 : 1))
}

/** Events of one reason that are linked. */
const mostSeqs = 100

/** Events that lack something, by what they lack, the most frequent reason first. */
function byReason(lacks: Mapped['insufficient_evidence']): { reason: string; seqs: number[]; controls: string[] }[] {
  const found = Map.groupBy(lacks, ({ reason }) => reason)
  return [...found]
    .map(([reason, all]) => ({
      reason,
      seqs: [...new Set(all.map(({ seq }) => seq))],
      controls: [...new Set(all.map(({ control_name }) => control_name))],
    }))
    .sort((a, b) => b.seqs.length - a.seqs.length)
}

export function Evidence({ session, place }: View) {
  const mapped = useCall('controls', (signal) => service.mapControls({}, { signal }))
  // Who follows a link to an event wants its proof.
  const proved = place.query.has('proof')
  return (
    <div class="panels">
      {proved && <Proof place={place} />}
      <Chain />
      <Export mayExport={session.scopes.includes('evidence')} />
      <Panel title="Coverage" lead="The two classes of evidence are never added up." wide>
        <Show of={mapped}>
          {({ coverage }) => (
            <div class="sides">
              {(['observed', 'attested'] as const).map((name) => (
                <div key={name}>
                  <h3>
                    <Term name={name}>{name === 'observed' ? 'Observed' : 'Attested'}</Term>
                  </h3>
                  <dl class="figures">
                    <Figure
                      name="Coverage"
                      value={coverage[name].total_events === 0 ? none : `${coverage[name].coverage_pct.toFixed(2)} %`}
                      note={`${whole(coverage[name].mapped_events)} of ${whole(coverage[name].total_events)} events`}
                    />
                  </dl>
                  {coverage[name].by_source.map(({ source, events }) => (
                    <p key={source} class="quiet">
                      {whole(events)} from <code>{source}</code>
                    </p>
                  ))}
                </div>
              ))}
            </div>
          )}
        </Show>
      </Panel>
      <Panel title="Controls" wide>
        <Show of={mapped}>
          {(all) => {
            const controls = controlsOf(all)
            if (controls.length === 0)
              return (
                <Empty>
                  No evidence supports a control yet. Connect GitHub’s webhook, or ingest events with
                  cstp.ingestEvidence.
                </Empty>
              )
            const alone = new Set(all.attested_only_controls)
            return (
              <Table
                caption="Controls"
                heads={[
                  { name: 'Control' },
                  { name: 'Framework' },
                  { name: 'Observed', number: true },
                  { name: 'Attested', number: true },
                  { name: 'Insufficient', number: true },
                  { name: 'Supported by' },
                ]}
                rows={controls.map((one) => [
                  <>
                    <strong>{one.control_name}</strong> <code>{one.function_id}</code>
                  </>,
                  `${one.framework}${one.stage && `, ${one.stage}`}`,
                  whole(one.observed),
                  whole(one.attested),
                  whole(one.insufficient),
                  alone.has(one.function_id) || (one.observed === 0 && one.attested > 0) ? (
                    <Badge of="attested" />
                  ) : one.observed > 0 ? (
                    <Badge of="observed" />
                  ) : (
                    'none yet'
                  ),
                ])}
              />
            )
          }}
        </Show>
      </Panel>
      <Panel title="Insufficient evidence" wide>
        <Show of={mapped}>
          {({ insufficient_evidence: lacks, coverage }) =>
            lacks.length === 0 ? (
              <Empty>
                {coverage.observed.total_events + coverage.attested.total_events === 0
                  ? 'There are no events yet.'
                  : 'Every event supports the controls that it should support.'}
              </Empty>
            ) : (
              <ul class="plain">
                {byReason(lacks).map(({ reason, seqs, controls }) => (
                  <li key={reason}>
                    <strong>{counted(seqs.length, 'event')}</strong>: {reason}{' '}
                    <span class="quiet">({controls.join(', ')})</span>
                    <details>
                      <summary>Which events</summary>
                      {seqs.slice(0, mostSeqs).map((seq) => (
                        <Fragment key={seq}>
                          <To path="/evidence" query={{ proof: seq }}>
                            {whole(seq)}
                          </To>{' '}
                        </Fragment>
                      ))}
                      {seqs.length > mostSeqs && `and ${whole(seqs.length - mostSeqs)} more`}
                    </details>
                  </li>
                ))}
              </ul>
            )
          }
        </Show>
      </Panel>
      {!proved && <Proof place={place} />}
      <Events place={place} />
    </div>
  )
}

/** The state of the chain: its length, its checkpoint, and its verification. */
function Chain() {
  const loaded = useCall('checkpoint', (signal) => service.getCheckpoint({}, { signal }))
  return (
    <Panel title="Chain" wide>
      <Show of={loaded}>
        {({ origin, size, root_hash, note, verifier_key, created_at }) => (
          <>
            <p>
              <strong>{counted(size, 'record')}</strong>, each with the hash of the one before it.
            </p>
            <Verify size={size} />
            <details>
              <summary>Checkpoint and public key</summary>
              <p>
                A <Term name="checkpoint">checkpoint</Term> of <code>{origin}</code>, signed {time(created_at)}. Keep
                it: it proves later whether anything before it was changed.
              </p>
              <pre tabIndex={0}>{note}</pre>
              <p>Verifier key, also at /.well-known/cstp-evidence-key:</p>
              <pre tabIndex={0}>{verifier_key}</pre>
              <p>
                Root hash: <code>{root_hash}</code>
              </p>
            </details>
          </>
        )}
      </Show>
    </Panel>
  )
}
