/** The workbench for rules that are not in force yet: a draft run over last week's checks and known outcomes, and findings of rules in shadow mode. */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { TryGuardrailsResult } from '../../../../sdk/client.ts'
import { Agent } from '../../agent.tsx'
import { Failure, useCall } from '../../call.tsx'
import { Combobox } from '../../combobox.tsx'
import { percent, whole } from '../../figures.ts'
import { goWith, useView } from '../../route.tsx'
import { service } from '../../service.ts'
import { texts } from '../../texts.ts'
import { Badge, figures, List, Panel, Table, When } from '../../ui.tsx'
import { Labelled } from '../write/fields.tsx'
import { type Completions, type Offer, offersAt } from './completion.ts'
import { PutInShadow } from './put-in-shadow.tsx'

const t = texts.workbench

type Backtest = NonNullable<TryGuardrailsResult['backtest']>
type Replay = NonNullable<TryGuardrailsResult['replay']>

/** Outcomes of the decisions that rules would have stopped, with the 95 % interval of their failure rate. */
function Outcomes({ of: { all, stopped, rules, uncertain } }: { of: Backtest }) {
  const rows = [
    ...rules.map((one) => [<code>{one.id}</code>, one] as const),
    [t.stopped, stopped] as const,
    [t.all, all] as const,
  ]
  return (
    <>
      <Table
        caption={t.backtest}
        heads={t.heads.map((name, at) => (at > 0 ? figures(name) : name))}
        rows={rows.map(([name, one]) => [
          name,
          whole(one.decisions),
          whole(one.failed),
          whole(one.succeeded),
          percent(one.failure_rate),
          one.failure_low === null ? '' : t.between(percent(one.failure_low), percent(one.failure_high)),
        ])}
      />
      {uncertain > 0 && <p class="quiet">{t.unknown(uncertain)}</p>}
    </>
  )
}

function Changes({ of: { evaluations, changed, examples, uncertain, fired } }: { of: Replay }) {
  return (
    <>
      <p role="status">{t.changed(changed, evaluations)}</p>
      <p class="quiet">{fired.map(({ id, evaluations }) => t.fired(id, evaluations)).join(', ')}</p>
      {examples.length > 0 && (
        <Table
          caption={t.replay}
          heads={t.changeHeads}
          rows={examples.map(({ at, agent, description, before, after, rules_after }) => [
            description,
            <Agent of={agent} />,
            <When at={at} />,
            <>
              <Badge of={before} /> → <Badge of={after} />
            </>,
            <code>{rules_after.join(' ')}</code>,
          ])}
        />
      )}
      {uncertain > 0 && <p class="quiet">{t.uncertain(uncertain)}</p>}
    </>
  )
}

/** What the draft would have done in the last week, and its costs and benefits, in one sentence. */
function sentence({ stopped: actions, agents }: Replay, { all, stopped }: Backtest): string {
  if (stopped.failure_rate === null || stopped.failure_low === null)
    return t.catchesNothing(actions, agents, all.decisions)
  const interval = t.between(percent(stopped.failure_low), percent(stopped.failure_high))
  return t.catches(
    [actions, agents],
    stopped.decisions,
    percent(stopped.failure_rate),
    interval,
    percent(all.failure_rate),
    stopped.failed,
    stopped.succeeded,
  )
}

/** A longer draft is not put into the address, which servers and browsers limit. */
const longestInAddress = 6_000
/** A draft is tried once nothing was typed for so long. */
const waits_ms = 400
const problemsId = 'draft-problems'

/** The lines of a field, marked where a problem is. */
const marked = (lines: readonly number[]) => ({
  backgroundImage: lines.map(() => 'linear-gradient(var(--warn-ground) 0 0)').join(),
  backgroundPosition: lines.map((line) => `0 calc(0.4rem + ${line - 1} * 1lh)`).join(),
})

/** The draft that is typed, with what fits at its end of typing. */
function Editor({
  value,
  known,
  problems,
  type,
}: {
  value: string
  known: Completions
  problems: readonly { line: number; message: string }[]
  type: (draft: string) => void
}) {
  const [offers, setOffers] = useState<Offer[]>([])
  const place = useRef<HTMLDivElement>(null)
  const box = () => place.current!.querySelector('textarea')!
  const look = (all = false) => setOffers(offersAt(box().value, box().selectionStart, known, all))
  const take = ({ from, insert }: Offer) => {
    const end = box().selectionStart
    box().setRangeText(insert, from, end, 'end')
    // What is compared with is typed before the closing quote.
    if (insert.endsWith('"')) box().selectionEnd = from + insert.length - 1
    type(box().value)
    look()
    box().focus()
  }
  return (
    <div ref={place}>
      <Labelled label={t.rules} hint={t.keys}>
        {(control) => (
          <Combobox
            {...control}
            label={t.suggestions}
            rows={9}
            class="code"
            wrap="off"
            spellcheck={false}
            maxLength={100_000}
            placeholder={t.draft}
            aria-describedby={`${control['aria-describedby']} ${problemsId}`}
            aria-invalid={problems.length > 0}
            style={marked(problems.map(({ line }) => line))}
            value={value}
            type={(draft) => {
              type(draft)
              look()
            }}
            onBlur={() => setOffers([])}
            onClick={() => setOffers([])}
            show={(open) => (open ? look(true) : setOffers([]))}
            entries={offers}
            pick={take}
          >
            {({ text, about }) => (
              <>
                <code>{text}</code> <span class="quiet">{about}</span>
              </>
            )}
          </Combobox>
        )}
      </Labelled>
      <p class="unseen" role="status">
        {offers.length > 0 && t.offers(offers.length)}
      </p>
      <div id={problemsId} role="status">
        {problems.map(({ line, message }) => (
          <p class="notice warn" key={`${line} ${message}`}>
            {t.wrong(line, message)}
          </p>
        ))}
      </div>
    </div>
  )
}

export function Workbench() {
  const { place } = useView()
  const asked = place.query.get('draft') ?? ''
  const [typed, setTyped] = useState(asked)
  const [draft, setDraft] = useState(asked)
  useEffect(() => {
    // The draft of a link to this page, while it is shown.
    if (asked === '' || asked === draft) return
    setTyped(asked)
    setDraft(asked)
  }, [asked])
  useEffect(() => {
    const timer = setTimeout(() => {
      if (typed === draft) return
      setDraft(typed)
      goWith(place, { draft: encodeURIComponent(typed).length > longestInAddress ? null : typed }, true)
    }, waits_ms)
    return () => clearTimeout(timer)
  }, [typed])
  // A link with a draft leads to the workbench.
  useEffect(() => {
    if (asked) document.getElementById('workbench')?.scrollIntoView()
  }, [])
  const known = useCall('shadow', (signal) => service.tryGuardrails({}, { signal }))
  const last = useRef<(TryGuardrailsResult & { tried: string }) | null>(null)
  const loaded = useCall(`draft ${draft}`, async (signal) => {
    // The past of a draft that was tried is not looked at again with each update of the page.
    if (draft.trim() === '' || last.current?.tried === draft) return draft.trim() === '' ? null : last.current
    last.current = { ...(await service.tryGuardrails({ rules: draft }, { signal })), tried: draft }
    return last.current
  })
  const result = loaded.data
  return (
    <>
      <Panel title={t.title} lead={t.lead} at="workbench">
        <Editor
          value={typed}
          type={setTyped}
          known={known.data?.completions ?? {}}
          problems={[...(result?.errors ?? []), ...(result?.findings ?? [])]}
        />
        <p class="actions">
          <button type="button" onClick={() => setTyped(t.draft)}>
            {t.example}
          </button>
          {(loaded.busy || typed !== draft) && <span class="quiet">{t.trying}</span>}
        </p>
        {loaded.error !== null && <Failure error={loaded.error} again={loaded.again} />}
        {result?.replay && result.backtest && (
          <>
            <p class="lead">{sentence(result.replay, result.backtest)}</p>
            <PutInShadow key={result.tried} rules={result.tried} behind={result.tried !== typed} />
            <List of={result.rules}>
              {({ id, action, applies }) => (
                <>
                  <Badge of={action} /> <code>{id}</code> {t.applies(applies)}
                </>
              )}
            </List>
            <h3>{t.replay}</h3>
            <Changes of={result.replay} />
            <h3>{t.backtest}</h3>
            <Outcomes of={result.backtest} />
          </>
        )}
      </Panel>
      {known.error !== null && <Failure error={known.error} again={known.again} />}
      {known.data?.shadow && (
        <Panel title={t.shadow} lead={t.shadowLead}>
          <Outcomes of={known.data.shadow} />
        </Panel>
      )}
    </>
  )
}
