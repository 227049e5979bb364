/** The dossier of a decision as sections of facts, lists and tables. */
import type { Dossier } from '../../sdk/schema/dossier.ts'

/** A part of a section. Texts are as others wrote them: the output escapes them. */
export type Block =
  | { facts: [name: string, value: string][] }
  | { table: { head: string[]; rows: string[][] } }
  | { text: string }
  | { code: string }

export interface Section {
  title: string
  blocks: Block[]
}

const minute = (at: string): string => `${at.slice(0, 16).replace('T', ' ')} UTC`
const percent = (share: number | null): string => (share === null ? 'not stated' : `${Math.round(share * 100)} %`)
const short = (hash: string): string => `${hash.slice(0, 16)}…`
const count = (list: readonly unknown[], one: string): string => `${list.length} ${list.length === 1 ? one : `${one}s`}`

/** The facts that have a value. */
const known = (facts: [string, string | null | undefined][]): Block => ({
  facts: facts.filter((fact): fact is [string, string] => fact[1] !== null && fact[1] !== undefined && fact[1] !== ''),
})

function decided({ decision }: Dossier): Section {
  const { project, reasons, alternatives_considered, reviewed_by, self_reviewed } = decision
  const place = project && [project.name, project.feature, project.pr === null ? null : `pull request ${project.pr}`]
  const whose = self_reviewed ? 'its recorder' : 'another agent'
  const blocks: Block[] = [
    known([
      ['Decision', decision.decision],
      ['Recorded', `${minute(decision.created_at)} by ${decision.recorded_by}`],
      ['Category', decision.category],
      ['Stakes', decision.stakes],
      ['Confidence', percent(decision.confidence_at_record)],
      ['Context', decision.context],
      ['Project', place?.filter((one) => one !== null).join(', ')],
      ['Outcome', decision.outcome ?? 'not known yet'],
      [
        'Settled',
        decision.reviewed_at &&
          `${minute(decision.reviewed_at)} by ${decision.attribution_basis ? `rule (${decision.attribution_basis})` : `${reviewed_by}, ${whose}`}`,
      ],
      ['Result', decision.actual_result],
      ['Lessons', decision.lessons],
    ]),
  ]
  if (reasons.length > 0)
    blocks.push({
      table: { head: ['Reason', 'Text'], rows: reasons.map(({ type, text }) => [type, text]) },
    })
  if (alternatives_considered.length > 0)
    blocks.push({
      table: {
        head: ['Alternative that was rejected'],
        rows: alternatives_considered.map((one) => [typeof one === 'string' ? one : one.option]),
      },
    })
  return { title: 'Decision', blocks }
}

/** States of an approval as answers. */
const answers = {
  pending: 'waits',
  approved: 'granted',
  denied: 'denied',
  expired: 'expired',
  consumed: 'granted, and used,',
}

function verdict({ decision, policy, approvals, withheld }: Dossier): Section {
  const { verdict: said } = decision
  if (said === null) return { title: 'Verdict', blocks: [{ text: 'It was recorded without an evaluation of rules.' }] }
  const rules = policy ? `${count(policy.guardrails, 'rule')} in force, all in the JSON` : 'the rules are not archived'
  return {
    title: 'Verdict',
    blocks: [
      known([
        ['Verdict', `${said.verdict}${said.allowed ? '' : ', not allowed'}`],
        ['Rules that fired', said.rules.length === 0 ? 'none' : said.rules.join(', ')],
        ['Evaluation', said.record_id],
        ['Rule set', `${short(said.policy_hash)}, ${rules}`],
        ['Approvals', withheld.includes('approvals') ? 'left out: the reader may not see them' : null],
      ]),
      ...(approvals.length === 0
        ? []
        : [
            {
              table: {
                head: ['Approval', 'Asked by', 'Answer', 'Reason'],
                rows: approvals.map(({ id, requester, requested_at, state, decided_by, decided_at, reason }) => [
                  id,
                  `${requester}, ${minute(requested_at)}`,
                  decided_at ? `${answers[state]} by ${decided_by}, ${minute(decided_at)}` : answers[state],
                  reason ?? '',
                ]),
              },
            },
          ]),
    ],
  }
}

/** What each audit entry reports, and its place in the thread if an act of the dossier names the entry. */
function trail(
  { trail: lines, receipts, revisions, withheld }: Dossier,
  actOf: (line: Dossier['trail'][number]) => string | null,
): Section {
  const blocks: Block[] = [
    {
      table: {
        head: ['Time', 'What', 'By', 'Verdict', 'Proof'],
        rows: lines.map((line) => {
          const act = receipts.find(({ record_id }) => record_id === actOf(line))
          return [
            minute(line.at),
            line.method.replace('cstp.', ''),
            line.agent,
            line.allowed === null ? '' : line.allowed ? 'allowed' : 'stopped',
            act ? `ledger, entry ${act.index}` : '',
          ]
        }),
      },
    },
  ]
  if (withheld.includes('trail')) blocks.push({ text: 'Lines that the reader may not see were left out.' })
  if (revisions.length > 0)
    blocks.push({
      table: {
        head: ['Update', 'By', 'Fields', 'SHA-256 of the values before'],
        rows: revisions.map(({ updated_at, updated_by, fields, digest }) => [
          minute(updated_at),
          updated_by,
          fields.join(', '),
          short(digest),
        ]),
      },
    })
  return { title: 'What happened', blocks }
}

const relations = { linked: 'linked', link: 'record of the link', pull_request: 'of its pull request' }

function evidence({ evidence: events, evidence_total, receipts }: Dossier): Section {
  if (events.length === 0) return { title: 'Evidence', blocks: [{ text: 'No event is linked to the decision.' }] }
  const rest = evidence_total - events.length
  const places = new Map(receipts.map(({ record_id, index }) => [record_id, index]))
  return {
    title: 'Evidence',
    blocks: [
      {
        table: {
          head: ['Event', 'Reported time', 'Source', 'Class', 'Proof'],
          rows: events.map(({ event_type, relation, ts, source, evidence_class, seq }) => [
            `${event_type} (${relations[relation]})`,
            ts,
            source,
            evidence_class,
            `ledger, entry ${places.get(`evidence/${seq}`) ?? ''}`,
          ]),
        },
      },
      ...(rest > 0 ? [{ text: `And ${rest} more, which are in the evidence bundle.` }] : []),
    ],
  }
}

function score({ score: counted, links, decision }: Dossier): Section {
  const ends = links.map(({ source_id, target_id, edge_type, context, created_by }) => [
    source_id === decision.id ? edge_type : `${edge_type} (from there)`,
    source_id === decision.id ? target_id : source_id,
    created_by,
    context ?? '',
  ])
  return {
    title: 'Score and links',
    blocks: [
      counted === null
        ? { text: 'It enters no score: no outcome that counts, or no confidence.' }
        : {
            facts: [
              ['Brier score', `(${counted.confidence} − ${counted.value})² = ${counted.brier.toFixed(4)}`],
              ['Settled by', counted.settled_by],
            ],
          },
      ...(ends.length === 0 ? [] : [{ table: { head: ['Edge', 'Decision', 'By', 'Why'], rows: ends } }]),
    ],
  }
}

function proof({ verifier_key, thread_key, decision_sha256, content_sha256, receipts, claims }: Dossier): Section {
  return {
    title: 'What this rests on',
    blocks: [
      ...claims.map((text) => ({ text })),
      {
        facts: [
          ['SHA-256 of the record', decision_sha256],
          ['SHA-256 of its content', content_sha256],
          ['Key of the log', verifier_key],
          ['Key of the ledger', thread_key],
          ['Receipts', `${count(receipts, 'act')} with payload, salt and proof, in the JSON`],
        ],
      },
      {
        text: 'This text proves nothing by itself. The JSON dossier is verified offline, with the key of the log from another source:',
      },
      { code: 'cstp verify dossier.json --key <key of the log>' },
    ],
  }
}

/** @param actOf the id of the act that names an audit entry, if it is known */
export const dossierSections = (
  dossier: Dossier,
  actOf: (line: Dossier['trail'][number]) => string | null,
): Section[] => [
  decided(dossier),
  verdict(dossier),
  trail(dossier, actOf),
  evidence(dossier),
  score(dossier),
  proof(dossier),
]
