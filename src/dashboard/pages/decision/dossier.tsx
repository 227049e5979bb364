/** The printable dossier of one decision: every act that concerns it, in the order of the log, each with its proof checked here. */
import type { GetReceiptResult } from '../../../../sdk/client.ts'
import { Show, useCall } from '../../call.tsx'
import { time, whole, words } from '../../figures.ts'
import { type Checked, checkReceipt } from '../../merkle.ts'
import { ToDecision, useTitle, useView } from '../../route.tsx'
import { service } from '../../service.ts'
import { texts } from '../../texts.ts'
import { Panel, Timeline } from '../../ui.tsx'

const t = texts.dossier

type Receipt = GetReceiptResult['receipts'][number]

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

function Proof({ of }: { of: Checked }) {
  if (of.state === 'wrong') return <p class="notice bad">{t.notProved(of.reason)}</p>
  if (of.state === 'unchecked') return <p class="quiet">{t.unchecked}</p>
  return (
    <p class="proved">
      <span aria-hidden="true">✓ </span>
      {of.state === 'erased' ? t.provedErased(whole(of.size)) : t.proved(whole(of.size))}
    </p>
  )
}

const member = (payload: Receipt['payload'], name: string): string | null => {
  const value = payload?.[name]
  return typeof value === 'string' ? value : null
}

/** An act in the timeline. */
const actOf = (receipt: Receipt, checked: Checked) => {
  const [at, agent] = [member(receipt.payload, 'at'), member(receipt.payload, 'agent')]
  return {
    head: [at && time(at), agent].filter(Boolean).join(', '),
    body: (
      <>
        <p>
          <strong>{words(receipt.kind)}</strong> <span class="prose">{lineOf(receipt)}</span>
        </p>
        <Proof of={checked} />
        <details>
          <summary>{t.details}</summary>
          <pre tabIndex={0}>{JSON.stringify(receipt.payload, null, 2)}</pre>
          <pre tabIndex={0}>{receipt.proof}</pre>
        </details>
      </>
    ),
  }
}

export function Dossier() {
  const { id } = useView()
  const loaded = useCall(id, async (signal) => {
    const [record, { receipts, pending, withheld }] = await Promise.all([
      service.getDecision({ id }, { signal }),
      service.getReceipt({ decision_id: id }, { signal }),
    ])
    const checked = await Promise.all(receipts.map(checkReceipt))
    return { record, receipts, checked, pending, withheld }
  })
  useTitle(loaded.data?.record.decision)
  return (
    <Show of={loaded}>
      {({ record, receipts, checked, pending, withheld }) => {
        const wrong = checked.filter(({ state }) => state === 'wrong').length
        return (
          <>
            <p class="status">
              <ToDecision id={record.id}>{t.theDecision}</ToDecision>
              <code>{record.id}</code>
              <button type="button" class="screen" onClick={() => print()}>
                {t.print}
              </button>
            </p>
            <p class={`notice ${wrong > 0 ? 'bad' : 'good'}`} role="status">
              {wrong > 0
                ? t.someWrong(texts.amount.act(wrong), whole(receipts.length))
                : t.allProved(texts.amount.act(receipts.length))}{' '}
              {pending && t.pending}
              {withheld > 0 && t.withheld(texts.amount.act(withheld))}
            </p>
            <Panel title={t.acts} lead={t.actsLead} wide>
              <Timeline empty={t.none} of={receipts.map((receipt, at) => actOf(receipt, checked[at]!))} />
            </Panel>
          </>
        )
      }}
    </Show>
  )
}
