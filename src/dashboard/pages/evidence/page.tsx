/** Evidence: the state of the chain, the controls that it supports, proofs and exports. */
import { Fragment } from 'preact'
import { Show, useCall } from '../../call.tsx'
import { none, time, whole } from '../../figures.ts'
import { To, useView } from '../../route.tsx'
import { service } from '../../service.ts'
import { texts } from '../../texts.ts'
import { Badge, Figure, figures, List, Panel, Table, Term, term } from '../../ui.tsx'
import { Events } from './events.tsx'
import { Export } from './export.tsx'
import { Proof } from './proof.tsx'
import { Verify } from './verify.tsx'

const t = texts.evidence

type Mapped = Awaited<ReturnType<typeof service.mapControls>>

/** The controls that evidence supports, by framework. */
function controlsOf({ mappings, insufficient_evidence }: Mapped) {
  const all = [
    ...mappings.map((one) => ({ ...one, counts: one.evidence_class })),
    ...insufficient_evidence.map((one) => ({ ...one, counts: 'insufficient' as const, stage: '' })),
  ]
  const controls = [...Map.groupBy(all, ({ framework, function_id }) => `${framework} ${function_id}`).values()].map(
    (of) => {
      const { framework, stage, function_id, control_name } = of[0]!
      const count = (name: (typeof all)[number]['counts']) => of.filter(({ counts }) => counts === name).length
      const [observed, attested, insufficient] = [count('observed'), count('attested'), count('insufficient')]
      return { framework, stage, function_id, control_name, observed, attested, insufficient }
    },
  )
  return controls.sort((a, b) => (a.framework + a.function_id < b.framework + b.function_id ? -1 : 1))
}

/** Maximum events linked for one reason. */
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

export function Evidence() {
  const { place } = useView()
  const mapped = useCall('controls', (signal) => service.mapControls({}, { signal }))
  // A link to an event leads to its proof.
  const proved = place.query.has('proof')
  return (
    <>
      {proved && <Proof />}
      <Chain />
      <Export />
      <Panel title={t.coverage} lead={t.theTwoClasses}>
        <Show of={mapped}>
          {({ coverage }) => (
            <div class="sides">
              {(['observed', 'attested'] as const).map((name) => (
                <div key={name}>
                  <h3>
                    <Term name={name}>{name === 'observed' ? t.observed : t.attested}</Term>
                  </h3>
                  <dl class="figures">
                    <Figure
                      name={t.coverage}
                      value={coverage[name].total_events === 0 ? none : `${coverage[name].coverage_pct.toFixed(2)} %`}
                      note={t.ofEvents(whole(coverage[name].mapped_events), whole(coverage[name].total_events))}
                    />
                  </dl>
                  {coverage[name].by_source.map(({ source, events }) => (
                    <p key={source} class="quiet">
                      {t.from(whole(events), <code>{source}</code>)}
                    </p>
                  ))}
                </div>
              ))}
            </div>
          )}
        </Show>
      </Panel>
      <Panel title={t.controls} folded="narrow">
        <Show of={mapped}>
          {(all) => {
            const alone = new Set(all.attested_only_controls)
            return (
              <Table
                caption={t.controls}
                empty={t.noControl}
                heads={[
                  t.control,
                  t.framework,
                  ...[t.observed, t.attested, t.insufficient].map((name) => figures(name)),
                  t.supportedBy,
                ]}
                rows={controlsOf(all).map((one) => [
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
                    t.noneYet
                  ),
                ])}
              />
            )
          }}
        </Show>
      </Panel>
      <Panel title={t.lacking}>
        <Show of={mapped}>
          {({ insufficient_evidence: lacks, coverage }) => (
            <List
              of={byReason(lacks)}
              empty={
                coverage.observed.total_events + coverage.attested.total_events === 0 ? t.noEvents : t.nothingLacks
              }
            >
              {({ reason, seqs, controls }) => (
                <>
                  <strong>{texts.amount.event(seqs.length)}</strong>: {reason}{' '}
                  <span class="quiet">({controls.join(', ')})</span>
                  <details>
                    <summary>{t.whichEvents}</summary>
                    {seqs.slice(0, mostSeqs).map((seq) => (
                      <Fragment key={seq}>
                        <To path="/proof" query={{ proof: seq }}>
                          {whole(seq)}
                        </To>{' '}
                      </Fragment>
                    ))}
                    {seqs.length > mostSeqs && texts.amount.more(seqs.length - mostSeqs)}
                  </details>
                </>
              )}
            </List>
          )}
        </Show>
      </Panel>
      {!proved && <Proof />}
      <Events />
    </>
  )
}

/** The state of the chain: its length, its checkpoint, and its verification. */
function Chain() {
  const loaded = useCall('checkpoint', (signal) => service.getCheckpoint({}, { signal }))
  return (
    <Panel title={t.chain}>
      <Show of={loaded}>
        {({ origin, size, root_hash, note, verifier_key, created_at }) => (
          <>
            <p>{t.hashed(<strong>{texts.amount.record(size)}</strong>)}</p>
            <Verify size={size} />
            <details>
              <summary>{t.checkpointTitle}</summary>
              <p>{t.checkpoint(term('checkpoint'), <code>{origin}</code>, time(created_at))}</p>
              <pre tabIndex={0}>{note}</pre>
              <p>{t.verifierKey}</p>
              <pre tabIndex={0}>{verifier_key}</pre>
              <p>
                {t.rootHash} <code>{root_hash}</code>
              </p>
            </details>
          </>
        )}
      </Show>
    </Panel>
  )
}
