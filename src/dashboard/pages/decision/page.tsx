/** One decision: everything that is recorded of it, its deliberation, links, evidence and outcome. */
import type { ComponentChildren } from 'preact'
import { useLayoutEffect } from 'preact/hooks'
import type { GetDecisionResult } from '../../../../sdk/client.ts'
import { decisionFields, type Field } from '../../../../sdk/schema/decision-fields.ts'
import { Agent } from '../../agent.tsx'
import { Show, useCall } from '../../call.tsx'
import { decimal, none, percent, time } from '../../figures.ts'
import { To, ToDecision, ToList, useTitle, useView } from '../../route.tsx'
import { service } from '../../service.ts'
import { texts } from '../../texts.ts'
import { Badge, List, Pairs, Panel, prose, Term, Track, When } from '../../ui.tsx'
import { mayEdit } from '../write/edit.tsx'
import { LinkForm } from '../write/link.tsx'
import { Deliberation } from './deliberation.tsx'
import { EvidenceOf } from './evidence.tsx'
import { Dismissed, Graph } from './graph.tsx'
import { History } from './history.tsx'
import { Review } from './review.tsx'

const t = texts.decision

const textOf = (one: string | { option: string; reason?: string | undefined }): string =>
  typeof one === 'string' ? one : one.reason ? `${one.option}: ${one.reason}` : one.option

const yesOrNo = (value: boolean | undefined): string | undefined =>
  value === undefined ? undefined : value ? 'yes' : 'no'

/** The fields that are declared with a label. */
const fieldRows = (one: GetDecisionResult): [name: string, value: string | null][] =>
  Object.values<Field>(decisionFields).flatMap(({ label, type, read }) => {
    const value = label === undefined ? null : read(one, true)
    if (label === undefined || value === null || value === undefined) return []
    return [[label, type === 'boolean' ? (value ? 'yes' : 'no') : [value].flat().join(', ')]]
  })

const recordRows = (one: GetDecisionResult): [name: string, value: ComponentChildren][] => [
  [t.id, <code>{one.id}</code>],
  [t.status, one.status],
  [t.quality, percent(one.quality.score)],
  [t.scoredConfidence, one.confidence_at_record === null ? null : percent(one.confidence_at_record)],
  [t.pattern, one.pattern],
  ...fieldRows(one),
  [t.files, one.project?.files.join(', ')],
  [t.reviewIn, one.review_in],
  [t.reviewBy, one.review_by],
  [t.precedentsQueried, yesOrNo(one.pre_decision_protocol?.query_run)],
  [t.guardrailsChecked, yesOrNo(one.pre_decision_protocol?.guardrails_checked)],
  [t.agentId, one.agent_id],
  [t.importedBy, one.imported_by],
  [t.sourceKey, one.source_key],
  [t.preserved, one.preserve ? 'yes' : null],
  [t.held, one.holds?.map(({ by, reason, since }) => `${by}, ${time(since)}: ${reason}`).join('; ') ?? null],
  [t.attributed, one.auto_attributed ? `by ${one.attribution_basis}: ${one.attribution_reason}` : null],
  [t.lastChange, time(one.updated_at)],
  [t.missing, one.quality.suggestions.join(' ')],
]

/** The decision that superseded this one, if ranking takes that into account. */
function Superseded({ id }: { id: string }) {
  const { data } = useCall(`superseded ${id}`, (signal) =>
    service.getGraph({ decision_id: id, depth: 1, limit: 40 }, { signal }),
  )
  const by = data?.edges.find(
    ({ target_id, edge_type, effective }) => target_id === id && edge_type === 'supersedes' && effective,
  )
  if (!by) return null
  return (
    <p class="notice warn">
      {t.supersededBy}{' '}
      <ToDecision id={by.source_id}>
        {data?.nodes.find((node) => node.id === by.source_id)?.title ?? by.source_id}
      </ToDecision>
      {by.context && `: ${by.context}`}
    </p>
  )
}

/** Outcome, confidence, stakes, category and recorder in one line. */
function StatusLine({ of: one }: { of: GetDecisionResult }) {
  const { session, may } = useView()
  useTitle(one.decision)
  return (
    <p class="status">
      <Badge of={one.outcome ?? 'pending'} />
      {one.outcome === null && <span>{t.reviewDue(one.review_by)}</span>}
      <span>
        <Term name="confidence">{t.confidence}</Term> <strong>{percent(one.confidence)}</strong>
      </span>
      <span>
        <Term name="stakes">{t.stakes}</Term> <Badge of={one.stakes} />
      </span>
      <span>{one.category ?? none}</span>
      <span>
        <Agent of={one.recorded_by} />, <When at={one.created_at} />
      </span>
      {mayEdit(session, one) && <To path={`/edit/${encodeURIComponent(one.id)}`}>{texts.write.edit.action}</To>}
      {may('write') && (
        <To path="/record" query={{ supersedes: one.id }}>
          {texts.write.record.action}
        </To>
      )}
      <To path={`/dossiers/${encodeURIComponent(one.id)}`}>{t.dossier}</To>
      <ToList path="/decisions">{t.allDecisions}</ToList>
    </p>
  )
}

export function Decision() {
  const { id, may } = useView()
  const loaded = useCall(id, (signal) => service.getDecision({ id, revisions: true, proposal: true }, { signal }))
  // A link to a part is followed once the part is there, and a folded part is opened.
  useLayoutEffect(() => {
    const part = loaded.answered && location.hash !== '' && document.getElementById(location.hash.slice(1))
    if (!part) return
    const folded = part.querySelector(':scope > details')
    if (folded instanceof HTMLDetailsElement) folded.open = true
    part.scrollIntoView()
  }, [id, loaded.answered])
  return (
    <Show of={loaded}>
      {(one) => (
        <>
          <StatusLine of={one} />
          <Superseded id={one.id} />
          <div class="railed">
            <Rail of={one} />
            <div class="panels">
              <Review record={one} />
              {one.context && (
                <Panel title={t.context} at="context">
                  <p class="prose">{one.context}</p>
                </Panel>
              )}
              {one.reasons.length > 0 && (
                <Panel title={t.reasons} at="reasons">
                  <List of={one.reasons} class="plain reasons">
                    {({ type, text, strength }) => (
                      <>
                        <p>
                          <strong>{type}</strong> {text}
                        </p>
                        <Track share={strength} />
                        <span class="quiet">{t.strength(percent(strength))}</span>
                      </>
                    )}
                  </List>
                </Panel>
              )}
              {one.alternatives_considered.length > 0 && (
                <Panel title={t.alternatives} at="alternatives">
                  <ul>
                    {one.alternatives_considered.map((other, at) => (
                      <li key={at}>{textOf(other)}</li>
                    ))}
                  </ul>
                </Panel>
              )}
              {one.related_to.length > 0 && (
                <Panel title={t.precedents} lead={t.precedentsLead} at="precedents">
                  <List of={one.related_to}>
                    {({ id: other, summary, distance }) => (
                      <>
                        <ToDecision id={other}>{summary}</ToDecision>{' '}
                        <span class="quiet">{distance === null ? t.byKeywords : `distance ${decimal(distance)}`}</span>
                      </>
                    )}
                  </List>
                </Panel>
              )}
              <History record={one} />
              <Missing of={one} />
              <Panel title={t.bridge} lead={<Term name="bridge">{t.bridgeLead}</Term>} at="bridge" folded>
                <Pairs
                  rows={[
                    [t.structure, prose(one.bridge.structure)],
                    [t.function, prose(one.bridge.function)],
                    [t.tolerance, one.bridge.tolerance.join(', ')],
                    [t.enforcement, one.bridge.enforcement.join(', ')],
                    [t.prevention, one.bridge.prevention.join(', ')],
                  ]}
                />
                <p class="quiet">{one.bridge_method === 'rule' ? t.bridgeByRules : t.bridgeGiven}</p>
              </Panel>
              <Panel title={t.record} at="record" folded>
                <Pairs rows={recordRows(one)} />
              </Panel>
              <EvidenceOf id={one.id} />
              <Panel title={t.linkedDecisions} lead={t.linksLead} at="links">
                <Graph key={one.id} id={one.id} />
                <Dismissed links={one.links} />
                {may('write') && <LinkForm key={one.id} id={one.id} />}
              </Panel>
              <Deliberation record={one} />
            </div>
          </div>
        </>
      )}
    </Show>
  )
}

/** Parts that have no panel if they are empty. */
const parts = [
  ['context', t.context, (one: GetDecisionResult) => Boolean(one.context)],
  ['reasons', t.reasons, (one: GetDecisionResult) => one.reasons.length > 0],
  ['alternatives', t.alternatives, (one: GetDecisionResult) => one.alternatives_considered.length > 0],
  ['precedents', t.precedents, (one: GetDecisionResult) => one.related_to.length > 0],
] as const

function Missing({ of: one }: { of: GetDecisionResult }) {
  const missing = parts.filter(([, , has]) => !has(one)).map(([, name]) => name.toLowerCase())
  if (missing.length === 0) return null
  return <p class="empty">{t.notRecorded(missing.join(', '))}</p>
}

/** Links to the parts of the page. */
function Rail({ of: one }: { of: GetDecisionResult }) {
  const entries = [
    ['review', t.review],
    ...parts.filter(([, , has]) => has(one)).map(([at, name]) => [at, name]),
    ['history', t.history],
    ['bridge', t.bridge],
    ['record', t.record],
    ['evidence', t.evidence],
    ['links', t.linkedDecisions],
    ['deliberation', t.deliberation],
  ] as const
  return (
    <nav class="rail" aria-label={t.onThisPage}>
      {entries.map(([at, name]) => (
        <a key={at} href={`#${at}`}>
          {name}
        </a>
      ))}
    </nav>
  )
}
