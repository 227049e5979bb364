/** A dossier as Markdown. Its texts are as others wrote them, so all of them are escaped and shortened; the JSON has the whole texts. */
import type { Dossier } from '../../sdk/schema/dossier.ts'
import { auditDigest } from '../core/canonical.ts'
import { markdownText, shorten } from '../core/quote.ts'

/** Most characters of one text that is shown. */
const longestText = 2_000
const inline = (text: string): string => markdownText(shorten(text, longestText))

/** Those of the facts that have a value. */
const facts = (...all: [name: string, value: string | null | undefined][]): string =>
  all.flatMap(([name, value]) => (value ? [`- **${name}**: ${inline(value)}`] : [])).join('\n')

function table(head: string[], rows: string[][]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map((row) => line(row.map(inline)))].join('\n')
}

/** @param blocks empty ones are left out */
const section = (title: string, ...blocks: (string | false)[]): string =>
  [`## ${title}`, ...blocks.filter(Boolean)].join('\n\n')

const minute = (at: string): string => `${at.slice(0, 16).replace('T', ' ')} UTC`
const percent = (share: number | null): string => (share === null ? 'not stated' : `${Math.round(share * 100)} %`)
const short = (hash: string): string => `${hash.slice(0, 16)}…`
const count = (list: readonly unknown[], one: string): string => `${list.length} ${list.length === 1 ? one : `${one}s`}`

function decided({ decision }: Dossier): string {
  const { project, reasons, alternatives_considered, reviewed_at, reviewed_by, self_reviewed } = decision
  const place = project && [project.name, project.feature, project.pr === null ? null : `pull request ${project.pr}`]
  const whose = self_reviewed ? 'its recorder' : 'another agent'
  const by = decision.attribution_basis ? `rule (${decision.attribution_basis})` : `${reviewed_by}, ${whose}`
  return section(
    'Decision',
    facts(
      ['Decision', decision.decision],
      ['Recorded', `${minute(decision.created_at)} by ${decision.recorded_by}`],
      ['Category', decision.category],
      ['Stakes', decision.stakes],
      ['Confidence', percent(decision.confidence_at_record)],
      ['Context', decision.context],
      ['Project', place?.filter((one) => one !== null).join(', ')],
      ['Outcome', decision.outcome ?? 'not known yet'],
      ['Settled', reviewed_at && `${minute(reviewed_at)} by ${by}`],
      ['Result', decision.actual_result],
      ['Lessons', decision.lessons],
    ),
    reasons.length > 0 &&
      table(
        ['Reason', 'Text'],
        reasons.map(({ type, text }) => [type, text]),
      ),
    alternatives_considered.length > 0 &&
      table(
        ['Alternative that was rejected'],
        alternatives_considered.map((one) => [typeof one === 'string' ? one : one.option]),
      ),
  )
}

/** States of an approval as answers. */
const answers = {
  pending: 'waits',
  approved: 'granted',
  denied: 'denied',
  expired: 'expired',
  consumed: 'granted, and used,',
}

function verdict({ decision, policy, approvals, withheld }: Dossier): string {
  const { verdict: said } = decision
  if (said === null) return section('Verdict', inline('It was recorded without an evaluation of rules.'))
  const rules = policy ? `${count(policy.guardrails, 'rule')} in force, all in the JSON` : 'the rules are not archived'
  return section(
    'Verdict',
    facts(
      ['Verdict', `${said.verdict}${said.allowed ? '' : ', not allowed'}`],
      ['Rules that fired', said.rules.length === 0 ? 'none' : said.rules.join(', ')],
      ['Evaluation', said.record_id],
      ['Rule set', `${short(said.policy_hash)}, ${rules}`],
      ['Approvals', withheld.includes('approvals') ? 'left out: the reader may not see them' : null],
    ),
    approvals.length > 0 &&
      table(
        ['Approval', 'Asked by', 'Answer', 'Reason'],
        approvals.map(({ id, requester, requested_at, state, decided_by, decided_at, reason }) => [
          id,
          `${requester}, ${minute(requested_at)}`,
          decided_at ? `${answers[state]} by ${decided_by}, ${minute(decided_at)}` : answers[state],
          reason ?? '',
        ]),
      ),
  )
}

/** What each audit entry reports, and its place in the ledger if an act of the dossier names the entry. */
function trail({ trail: lines, receipts, revisions, withheld }: Dossier): string {
  const acts = new Map(receipts.map((act) => [act.payload?.audit_sha256, act]))
  return section(
    'What happened',
    table(
      ['Time', 'What', 'By', 'Verdict', 'Proof'],
      lines.map((line) => {
        const act = acts.get(auditDigest(line))
        return [
          minute(line.at),
          line.method.replace('cstp.', ''),
          line.agent,
          line.allowed === null ? '' : line.allowed ? 'allowed' : 'stopped',
          act ? `ledger, entry ${act.index}` : '',
        ]
      }),
    ),
    withheld.includes('trail') && inline('Lines that the reader may not see were left out.'),
    revisions.length > 0 &&
      table(
        ['Update', 'By', 'Fields', 'SHA-256 of the values before'],
        revisions.map(({ updated_at, updated_by, fields, digest }) => [
          minute(updated_at),
          updated_by,
          fields.join(', '),
          short(digest),
        ]),
      ),
  )
}

const relations = { linked: 'linked', link: 'record of the link', pull_request: 'of its pull request' }

function evidence({ evidence: events, evidence_total, receipts }: Dossier): string {
  if (events.length === 0) return section('Evidence', inline('No event is linked to the decision.'))
  const rest = evidence_total - events.length
  const places = new Map(receipts.map(({ record_id, index }) => [record_id, index]))
  return section(
    'Evidence',
    table(
      ['Event', 'Reported time', 'Source', 'Class', 'Proof'],
      events.map(({ event_type, relation, ts, source, evidence_class, seq }) => [
        `${event_type} (${relations[relation]})`,
        ts,
        source,
        evidence_class,
        `ledger, entry ${places.get(`evidence/${seq}`) ?? ''}`,
      ]),
    ),
    rest > 0 && inline(`And ${rest} more, which are in the evidence bundle.`),
  )
}

function score({ score: counted, links, decision }: Dossier): string {
  return section(
    'Score and links',
    counted === null
      ? inline('It enters no score: no outcome that counts, or no confidence.')
      : facts(
          ['Brier score', `(${counted.confidence} − ${counted.value})² = ${counted.brier.toFixed(4)}`],
          ['Settled by', counted.settled_by],
        ),
    links.length > 0 &&
      table(
        ['Edge', 'Decision', 'By', 'Why'],
        links.map(({ source_id, target_id, edge_type, context, created_by }) =>
          source_id === decision.id
            ? [edge_type, target_id, created_by, context ?? '']
            : [`${edge_type} (from there)`, source_id, created_by, context ?? ''],
        ),
      ),
  )
}

const proof = (dossier: Dossier): string =>
  section(
    'What this rests on',
    ...dossier.claims.map(inline),
    facts(
      ['SHA-256 of the record', dossier.decision_sha256],
      ['SHA-256 of its content', dossier.content_sha256],
      ['Key of the log', dossier.verifier_key],
      ['Key of the ledger', dossier.thread_key],
      ['Receipts', `${count(dossier.receipts, 'act')} with payload, salt and proof, in the JSON`],
    ),
    inline(
      'This text proves nothing by itself. The JSON dossier is verified offline, with the key of the log from another source:',
    ),
    '````text\ncstp verify dossier.json --key <key of the log>\n````',
  )

export const dossierMarkdown = (dossier: Dossier): string =>
  `${[
    `# Dossier of ${dossier.decision.id}`,
    inline(`Generated ${dossier.generated_at} by cstp ${dossier.service_version}`),
    ...[decided, verdict, trail, evidence, score, proof].map((part) => part(dossier)),
  ].join('\n\n')}\n`
