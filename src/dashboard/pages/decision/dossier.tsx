/** The dossier of one decision as a page to read and to print: decision, policy, approval, evidence, outcome, score, each act with its proof checked here; and the signed file. */
import type { GetDossierResult } from '../../../../sdk/client.ts'
import { Failure, Show, useCall, useJob } from '../../call.tsx'
import { saveFile } from '../../csv.tsx'
import { decimal, percent, time, whole, words } from '../../figures.ts'
import { Act, Field, Form } from '../../form.tsx'
import { type Checked, checkReceipt, type LogKey, readLogKey, sha256, signaturesOf } from '../../merkle.ts'
import { To, ToDecision, useTitle, useView } from '../../route.tsx'
import { service } from '../../service.ts'
import { texts } from '../../texts.ts'
import { Badge, List, Pairs, Panel, prose, Timeline } from '../../ui.tsx'
import { keyHere } from '../../workspace.ts'

const t = texts.dossier

type Receipt = GetDossierResult['receipts'][number]

/** Members of an act that its line shows: those that readers look for first. */
const shownMembers = [
  'decision',
  'outcome',
  'verdict',
  'state',
  'edge_type',
  'tool',
  'method',
  'actual_result',
  'reason',
] as const
function lineOf({ payload }: Receipt): string {
  if (payload === null) return t.erased
  const { record } = payload
  const said = record !== null && typeof record === 'object' ? (record as Record<string, unknown>) : payload
  return shownMembers.flatMap((name) => (typeof said[name] === 'string' ? [said[name]] : [])).join(' · ')
}

/** What is proved of an act, each with its own mark. */
function Proof({ of, signed, by }: { of: Checked; signed: boolean | null; by: string | null }) {
  if (of.state === 'wrong') return <p class="notice bad">{t.notProved(of.reason)}</p>
  if (of.state === 'unchecked') return <p class="quiet">{t.unchecked}</p>
  if (signed === false) return <p class="notice bad">{t.notSigned(by ?? '')}</p>
  return (
    <p class="proved facts">
      {of.state === 'erased' ? <span>{t.contentErased}</span> : <Proved>{t.content}</Proved>}
      <Proved>{t.inLog(whole(of.size))}</Proved>
      {signed && <Proved>{t.signature}</Proved>}
    </p>
  )
}
const Proved = ({ children }: { children: string }) => (
  <span>
    <span aria-hidden="true">✓ </span>
    {children}
  </span>
)

const keptKey = 'cstp:log-key'

/** The key that checks signatures: pasted, or the one that the service shows, and pinned in this browser from then on. */
function Key({ shown, pinned, change }: { shown: string; pinned: LogKey | null; change: () => void }) {
  const { error, busy, run } = useJob<void>()
  const pin = (text: string) =>
    run(async () => {
      await readLogKey(text)
      localStorage.setItem(keyHere(keptKey), text.trim())
      change()
    })
  const forget = () => {
    localStorage.removeItem(keyHere(keptKey))
    change()
  }
  return (
    <>
      {pinned && localStorage.getItem(keyHere(keptKey)) !== shown && <p class="notice warn">{t.otherKey}</p>}
      <p class="quiet">{pinned ? t.pinned(pinned.name) : t.notPinned}</p>
      {pinned ? (
        <p class="actions">
          <button type="button" onClick={forget}>
            {t.forget}
          </button>
        </p>
      ) : (
        <Form class="bar" submit={(read) => pin(read('key'))} aria-label={t.key}>
          <Field grow label={t.key} name="key" placeholder={t.keyHint} required />
          <Act busy={busy}>{t.pin}</Act>
          <Act busy={busy} onClick={() => pin(shown)}>
            {t.pinShown}
          </Act>
          {error !== null && <Failure error={error} />}
        </Form>
      )}
    </>
  )
}

const member = (payload: Receipt['payload'], name: string): string | null => {
  const value = payload?.[name]
  return typeof value === 'string' ? value : null
}

/** An act in the timeline. */
const actOf = (receipt: Receipt, proof: Parameters<typeof Proof>[0]) => {
  const [at, agent] = [member(receipt.payload, 'at'), member(receipt.payload, 'agent')]
  return {
    head: [at && time(at), agent].filter(Boolean).join(', '),
    body: (
      <>
        <p>
          <strong>{words(receipt.kind)}</strong> <span class="prose">{lineOf(receipt)}</span>
        </p>
        <Proof {...proof} />
        <details>
          <summary>{t.details}</summary>
          <pre tabIndex={0}>{JSON.stringify(receipt.payload, null, 2)}</pre>
          <pre tabIndex={0}>{receipt.proof}</pre>
        </details>
      </>
    ),
  }
}

/** What the dossier says, in the order in which it happened. */
function Story({ of }: { of: GetDossierResult }) {
  const { decision, policy, trail, approvals, evidence, score } = of
  const judged = trail.find(({ allowed }) => allowed !== null)
  return (
    <>
      <Panel title={texts.decision.decision}>
        <p class="lead" dir="auto">
          {decision.decision}
        </p>
        <Pairs
          rows={[
            [texts.decision.agent, `${decision.recorded_by}, ${time(decision.created_at)}`],
            [texts.decision.confidence, percent(decision.confidence)],
            [texts.decision.stakes, <Badge of={decision.stakes} />],
            [texts.decision.context, prose(decision.context)],
            [texts.decision.reasons, prose(decision.reasons.map(({ text }) => text).join('\n'))],
          ]}
        />
      </Panel>
      <Panel title={t.policy}>
        {policy === null ? (
          <p>{t.noPolicy}</p>
        ) : (
          <Pairs
            rows={[
              [t.verdict, judged && <Badge of={judged.allowed ? 'allowed' : 'blocked'} />],
              [t.rulesFired, judged?.rules.join(', ')],
              [t.inForce, policy.periods.map(({ from, until }) => t.from(time(from), until && time(until))).join('; ')],
              [t.policyHash, <code>{policy.policy_hash}</code>],
            ]}
          />
        )}
      </Panel>
      {approvals.length > 0 && (
        <Panel title={texts.decision.approval}>
          <List of={approvals}>
            {({ id, state, decided_by, decided_at, reason }) => (
              <>
                <To path={`/approvals/${id}`}>{id}</To> <Badge of={state} /> {decided_by}{' '}
                {decided_at && <span class="quiet">{time(decided_at)}</span>} {prose(reason)}
              </>
            )}
          </List>
        </Panel>
      )}
      <Panel title={texts.decision.evidence}>
        <List of={evidence} empty={t.noEvidence}>
          {({ seq, event_type, evidence_class, source, ts }) => (
            <>
              <Badge of={evidence_class} /> <strong>{event_type}</strong>{' '}
              <To path="/proof" query={{ proof: seq }}>
                {whole(seq)}
              </To>{' '}
              <span class="quiet">{texts.decisionEvidence.from(source, time(ts))}</span>
            </>
          )}
        </List>
      </Panel>
      <Panel title={t.outcomeAndScore}>
        <Pairs
          rows={[
            [texts.decision.outcome, <Badge of={decision.outcome ?? 'pending'} />],
            [
              t.settledBy,
              decision.reviewed_by && `${decision.reviewed_by}, ${decision.reviewed_at && time(decision.reviewed_at)}`,
            ],
            [texts.decision.actual, prose(decision.actual_result)],
            [texts.decision.lessons, prose(decision.lessons)],
            [t.score, score && t.scored(percent(score.confidence), decimal(score.value, 1), decimal(score.brier))],
          ]}
        />
      </Panel>
    </>
  )
}

/** The signed file, and the line that verifies it without this service, with its digest. */
const File = ({ name, bytes, digest }: { name: string; bytes: Uint8Array<ArrayBuffer>; digest: string | null }) => (
  <>
    <p class="actions">
      <button
        type="button"
        class="main"
        onClick={() => saveFile(name, new Blob([bytes], { type: 'application/json' }))}
      >
        {t.download}
      </button>
      <button type="button" onClick={() => print()}>
        {t.print}
      </button>
    </p>
    <p>
      <code>{t.verifyLine(name)}</code>
      {digest && (
        <>
          {' '}
          <span class="quiet">
            {t.digest} <code>{digest}</code>
          </span>
        </>
      )}
    </p>
  </>
)

export function Dossier() {
  const { id } = useView()
  const loaded = useCall(id, async (signal) => {
    const [dossier, { pending, withheld }] = await Promise.all([
      service.getDossier({ id }, { signal }),
      service.getReceipt({ decision_id: id }, { signal }),
    ])
    const checked = await Promise.all(dossier.receipts.map(checkReceipt))
    const bytes = new TextEncoder().encode(`${JSON.stringify(dossier)}\n`)
    const file = {
      name: `${dossier.decision.id}.dossier.json`,
      bytes,
      digest: crypto.subtle ? await sha256(bytes) : null,
    }
    const pinned = localStorage.getItem(keyHere(keptKey))
    const key = pinned === null || !crypto.subtle ? null : await readLogKey(pinned).catch(() => null)
    // A browser without Ed25519 leaves signatures to cstp verify.
    const signed = key && (await signaturesOf(dossier, key).catch(() => null))
    return { dossier, checked, file, pending, withheld, key, signed }
  })
  useTitle(loaded.data?.dossier.decision.decision)
  return (
    <Show of={loaded}>
      {({ dossier, checked, file, pending, withheld, key, signed }) => {
        const { decision, receipts } = dossier
        const wrong = checked.filter(({ state }, at) => state === 'wrong' || signed?.[at] === false).length
        return (
          <>
            <p class="status">
              <ToDecision id={decision.id}>{t.theDecision}</ToDecision>
              <code>{decision.id}</code>
              <span>{t.generated(time(dossier.generated_at))}</span>
            </p>
            <p class={`notice ${wrong > 0 ? 'bad' : 'good'}`} role="status">
              {wrong > 0
                ? t.someWrong(texts.amount.act(wrong), whole(receipts.length))
                : t.allProved(texts.amount.act(receipts.length))}{' '}
              {pending && t.pending}
              {withheld > 0 && t.withheld(texts.amount.act(withheld))}
            </p>
            <Key shown={dossier.verifier_key} pinned={key} change={loaded.again} />
            {key && !signed && <p class="notice warn">{t.noEd25519}</p>}
            <File {...file} />
            <Story of={dossier} />
            <Panel title={t.acts} lead={t.actsLead}>
              <Timeline
                empty={t.none}
                of={receipts.map((receipt, at) =>
                  actOf(receipt, { of: checked[at]!, signed: signed?.[at] ?? null, by: key?.name ?? null }),
                )}
              />
            </Panel>
            <p class="quiet">
              {t.signedBy} <code>{dossier.verifier_key}</code>
            </p>
          </>
        )
      }}
    </Show>
  )
}
