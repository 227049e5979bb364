/** The audit trail: who called what, what stopped it, and all details of each line. */

import { Fragment } from 'preact'
import type { ListAuditParams } from '../../../../sdk/client.ts'
import { Agent } from '../../agent.tsx'
import { Show, useCall } from '../../call.tsx'
import { allRows, Csv } from '../../csv.tsx'
import { none, time } from '../../figures.ts'
import { FilterBar, keptOf } from '../../form.tsx'
import { To, ToDecision, useArrival, useView } from '../../route.tsx'
import { service } from '../../service.ts'
import { texts } from '../../texts.ts'
import { useTitles } from '../../titles.ts'
import { type AuditEntry, actionIn, approvalIn, evaluated, otherDetail, ruleWords, stoppedBy } from '../../trail.ts'
import { Badge, Panel, Table, When } from '../../ui.tsx'
import { yamlOf } from '../../yaml.ts'

const t = texts.trail
const sessionMethods = ['dashboard.login', 'dashboard.logout']

/** A call may concern hundreds; its details name all. */
const shownIds = (ids: readonly string[]) => ids.slice(0, 3)

/** What the call of a line was about, and behind the name of its method all of its details. */
function Called({ entry, titleOf }: { entry: AuditEntry; titleOf: (id: string) => string }) {
  const { method, detail, request_id, ids } = entry
  const action = actionIn(detail)
  const approval = approvalIn(detail)
  return (
    <div class="called">
      <span>
        {shownIds(ids).map((id, at) => (
          <Fragment key={id}>
            {at > 0 && ', '}
            <ToDecision id={id}>{action || titleOf(id)}</ToDecision>
          </Fragment>
        ))}{' '}
        {ids.length === 0 && action}
        {approval && <To path={`/approvals/${approval}`}>{t.request(approval)}</To>}{' '}
        <span class="quiet">{otherDetail(entry)}</span>
      </span>
      <details>
        <summary>
          <code>{method}</code>
        </summary>
        <pre>{yamlOf({ request_id, ids, ...(detail !== null && { detail }) })}</pre>
      </details>
    </div>
  )
}

/** What stopped the action, and what only warned. */
function Rules({ entry }: { entry: AuditEntry }) {
  const [stopped, { warnings }] = [stoppedBy(entry), evaluated(entry.detail)]
  if (stopped.length + warnings.length === 0) return null
  return (
    <>
      {stopped.length > 0 && <div>{t.stopped(<code>{stopped.map(ruleWords).join(', ')}</code>)}</div>}
      {warnings.length > 0 && <div class="quiet">{t.warned(<code>{warnings.join(', ')}</code>)}</div>}
    </>
  )
}

const trailFilters = [
  { name: 'agent', label: t.agent },
  { name: 'method', label: t.method },
  { name: 'rule', label: t.rule },
]

const fields = [
  'seq',
  'at',
  'agent',
  'method',
  'allowed',
  ['stopped_by', stoppedBy],
  ['warned_by', ({ detail }: AuditEntry) => evaluated(detail).warnings],
  ['action', ({ detail }: AuditEntry) => actionIn(detail)],
  ['detail', otherDetail],
  ['decision_ids', ({ ids }: AuditEntry) => ids],
  'request_id',
] as const

/** Every entry that matches, not only the page that is shown. */
const csvRows = (query: ListAuditParams) =>
  allRows(async (from) => {
    const { entries, next_cursor } = await service.listAudit({
      ...query,
      limit: 500,
      ...(from > 0 && { cursor: from }),
    })
    return { rows: entries, next: next_cursor }
  })

/** The audit trail: every write and every check, newest first. */
export function Trail() {
  const { place, trail } = useView()
  const kept = keptOf(place, ['agent', 'method', 'rule', 'allowed', 'logins'])
  const { allowed: verdict, logins, ...names } = kept
  const before = place.query.get('before') ?? ''
  const cursor = Number.parseInt(before, 10)
  const status = useArrival<HTMLParagraphElement>(before)
  const query = {
    ...Object.fromEntries(Object.entries(names).filter(([, text]) => text !== '')),
    ...(verdict && { allowed: verdict === 'yes' }),
    ...trail,
    ...(cursor > 0 && { cursor }),
    // Logins and logouts would hide the rest.
    ...(logins === '' && names.method === '' && { without: sessionMethods }),
  }
  const loaded = useCall(JSON.stringify(query), (signal) => service.listAudit({ ...query, limit: 25 }, { signal }))
  // Reviews, links and updates have no text of an action.
  const titleOf = useTitles(
    (loaded.data?.entries ?? []).flatMap(({ ids, detail }) => (actionIn(detail) === '' ? shownIds(ids) : [])),
  )
  const isWhole = Object.values(kept).every((one) => one === '')
  return (
    <Panel
      title={t.caption}
      folded={isWhole && before === '' && 'narrow'}
      lead={trail.agent !== undefined ? t.ownOnly(trail.agent) : trail.allowed === false && t.stopsOnly}
    >
      <FilterBar
        fields={trailFilters}
        choice={{
          name: 'allowed',
          label: t.verdict,
          options:
            trail.allowed === false
              ? [['', t.blocked]]
              : [
                  ['', 'any'],
                  ['no', t.blocked],
                  ['yes', texts.verdicts.allowed!],
                ],
        }}
        cursor="before"
      />
      <Show of={loaded}>
        {({ entries, next_cursor }) => (
          <>
            <p class="quiet" role="status" tabIndex={-1} ref={status}>
              {entries.length > 0 && t.range(texts.amount.call(entries.length), time(entries[0]!.at))}
            </p>
            <Table
              caption={t.caption}
              empty={isWhole ? t.nothing : t.noMatch}
              heads={t.heads}
              rows={entries.map((entry) => [
                <Called entry={entry} titleOf={titleOf} />,
                <Agent of={entry.agent} />,
                <When at={entry.at} />,
                entry.allowed === null ? (
                  none
                ) : entry.allowed ? (
                  <Badge of="allowed" />
                ) : (
                  <To path={`/blocks/${entry.seq}`}>
                    <Badge of="blocked" />
                  </To>
                ),
                <Rules entry={entry} />,
              ])}
            />
            {entries.length > 0 && <Csv name="audit-trail" fields={fields} rows={() => csvRows(query)} />}
            <p class="screen">
              <To path={place.path} query={{ ...kept, logins: logins === '' ? 'yes' : null }}>
                {logins === '' ? t.withLogins : t.withoutLogins}
              </To>
            </p>
            {next_cursor !== null && (
              <nav class="pager" aria-label={t.pages}>
                <To path={place.path} query={{ ...kept, before: next_cursor }} rel="next">
                  {t.older}
                </To>
              </nav>
            )}
          </>
        )}
      </Show>
    </Panel>
  )
}
