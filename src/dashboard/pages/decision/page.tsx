/** One decision: everything that is recorded of it, its deliberation, links, evidence and outcome. */
import type { ComponentChildren } from 'preact'
import type { GetDecisionResult } from '../../../../sdk/client.ts'
import { Show, useCall } from '../../call.tsx'
import { decimal, none, percent, time } from '../../figures.ts'
import { To, ToDecision, type View } from '../../route.tsx'
import { service } from '../../service.ts'
import { Badge, Empty, Figure, Pairs, Panel, prose, Term } from '../../ui.tsx'
import { Deliberation } from './deliberation.tsx'
import { EvidenceOf } from './evidence.tsx'
import { Dismissed, Graph } from './graph.tsx'
import { Review } from './review.tsx'

const textOf = (one: string | { option: string; reason?: string | undefined }): string =>
  typeof one === 'string' ? one : one.reason ? `${one.option}: ${one.reason}` : one.option

const yesOrNo = (value: boolean | undefined): string | undefined =>
  value === undefined ? undefined : value ? 'yes' : 'no'

const recordRows = (one: GetDecisionResult): [name: string, value: ComponentChildren][] => [
  ['Id', <code>{one.id}</code>],
  ['Status', one.status],
  ['Scored confidence', one.confidence_at_record === null ? null : percent(one.confidence_at_record)],
  ['Tags', one.tags.join(', ')],
  ['Pattern', one.pattern],
  ['Project', one.project?.name],
  ['Feature', one.project?.feature],
  ['Pull request', one.project?.pr && `#${one.project.pr}`],
  ['Files', one.project?.files.join(', ')],
  ['Review in', one.review_in],
  ['Review by', one.review_by],
  ['Precedents queried', yesOrNo(one.pre_decision_protocol?.query_run)],
  ['Guardrails checked', yesOrNo(one.pre_decision_protocol?.guardrails_checked)],
  ['Agent id', one.agent_id],
  ['Imported by', one.imported_by],
  ['Source key', one.source_key],
  ['Kept at full detail', one.preserve ? 'yes' : null],
  ['Attributed', one.auto_attributed ? `by ${one.attribution_basis}: ${one.attribution_reason}` : null],
  ['Last change', time(one.updated_at)],
  ['Missing for quality', one.quality.suggestions.join(' ')],
]

export function Decision({ place, session }: View) {
  const id = decodeURIComponent(place.path.slice('/decisions/'.length))
  const loaded = useCall(id, (signal) => service.getDecision({ id, revisions: true }, { signal }))
  const mayWrite = session.scopes.includes('write')
  return (
    <>
      <p>
        <To path="/decisions">All decisions</To>
      </p>
      <Show of={loaded}>
        {(one) => (
          <>
            <p class="lead">{one.decision}</p>
            <dl class="figures">
              <Figure
                name="Outcome"
                value={<Badge of={one.outcome ?? 'pending'} />}
                note={one.outcome === null ? `review due ${one.review_by}` : one.reviewed_at && time(one.reviewed_at)}
              />
              <Figure name="Confidence" term="confidence" value={percent(one.confidence)} />
              <Figure name="Stakes" term="stakes" value={<Badge of={one.stakes} />} />
              <Figure name="Category" value={one.category ?? none} />
              <Figure name="Recorded by" value={one.recorded_by} note={time(one.created_at)} />
              <Figure name="Quality" term="quality" value={percent(one.quality.score)} />
            </dl>
            <div class="panels">
              {one.context && (
                <Panel title="Context" wide>
                  <p class="prose">{one.context}</p>
                </Panel>
              )}
              <Panel title="Reasons">
                {one.reasons.length === 0 ? (
                  <Empty>No reasons were given.</Empty>
                ) : (
                  <ul class="plain reasons">
                    {one.reasons.map((reason, at) => (
                      <li key={at}>
                        <p>
                          <strong>{reason.type}</strong> {reason.text}
                        </p>
                        <span class="track" aria-hidden="true">
                          <span style={{ width: percent(reason.strength) }} />
                        </span>
                        <span class="quiet">strength {percent(reason.strength)}</span>
                      </li>
                    ))}
                  </ul>
                )}
              </Panel>
              <Panel title="Bridge" lead={<Term name="bridge">What is a bridge?</Term>}>
                <Pairs
                  rows={[
                    ['What it looks like', prose(one.bridge.structure)],
                    ['What it is for', prose(one.bridge.function)],
                    ['Does not matter', one.bridge.tolerance.join(', ')],
                    ['Must be there', one.bridge.enforcement.join(', ')],
                    ['Must not be there', one.bridge.prevention.join(', ')],
                  ]}
                />
                <p class="quiet">
                  {one.bridge_method === 'rule' ? 'Extracted from the text by rules.' : 'Given by the agent.'}
                </p>
              </Panel>
              <Panel title="Precedents" lead="Found before the decision, nearest first.">
                {one.related_to.length === 0 ? (
                  <Empty>No precedents were found, or none were queried.</Empty>
                ) : (
                  <ul class="plain">
                    {one.related_to.map(({ id: other, summary, distance }) => (
                      <li key={other}>
                        <ToDecision id={other}>{summary}</ToDecision>{' '}
                        <span class="quiet">{distance === null ? 'by keywords' : `distance ${decimal(distance)}`}</span>
                      </li>
                    ))}
                  </ul>
                )}
              </Panel>
              <Panel title="Alternatives">
                {one.alternatives_considered.length === 0 ? (
                  <Empty>No alternatives were recorded.</Empty>
                ) : (
                  <ul>
                    {one.alternatives_considered.map((other, at) => (
                      <li key={at}>{textOf(other)}</li>
                    ))}
                  </ul>
                )}
              </Panel>
              <Deliberation record={one} mayWrite={mayWrite} changed={loaded.again} />
              <Panel title="Linked decisions" lead="Follow a link to the graph of another decision." wide>
                <Graph key={one.id} id={one.id} />
                <Dismissed links={one.links} />
              </Panel>
              <EvidenceOf id={one.id} />
              <Review record={one} mayWrite={mayWrite} changed={loaded.again} />
              <Panel title="Record">
                <Pairs rows={recordRows(one)} />
              </Panel>
              <History record={one} />
            </div>
          </>
        )}
      </Show>
    </>
  )
}

const shown = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** Every review and every change of a decision. */
function History({ record }: { record: GetDecisionResult }) {
  const events = [
    { at: record.created_at, by: record.imported_by ?? record.recorded_by, what: <>recorded</> },
    ...(record.revisions ?? []).map(({ updated_at, updated_by, old_values }) => ({
      at: updated_at,
      by: updated_by,
      what: (
        <>
          changed{' '}
          {Object.entries(old_values ?? {}).map(([name, value]) => (
            <span key={name}>
              {name}, before: <q class="prose">{shown(value)}</q>{' '}
            </span>
          ))}
        </>
      ),
    })),
    ...record.review_history.map(({ reviewed_at, reviewed_by, outcome, actual_result, counts }) => ({
      at: reviewed_at,
      by: reviewed_by,
      what: (
        <>
          reviewed <Badge of={outcome} /> {actual_result} {counts ? '' : '(does not count)'}
        </>
      ),
    })),
  ].sort((a, b) => (a.at < b.at ? -1 : 1))
  return (
    <Panel title="History">
      <ol class="timeline">
        {events.map(({ at, by, what }, number) => (
          <li key={number}>
            <p class="quiet">
              {time(at)}, {by}
            </p>
            <p>{what}</p>
          </li>
        ))}
      </ol>
    </Panel>
  )
}
