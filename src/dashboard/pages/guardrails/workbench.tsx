/** The workbench for rules that are not in force yet: a draft run over last week's checks and known outcomes, and findings of rules in shadow mode. */
import { useEffect, useRef } from 'preact/hooks'
import type { TryGuardrailsResult } from '../../../../sdk/client.ts'
import { Failure, Show, useCall, useJob } from '../../call.tsx'
import { percent, whole } from '../../figures.ts'
import { Act, Field, Form } from '../../form.tsx'
import { goWith, useView } from '../../route.tsx'
import { service } from '../../service.ts'
import { texts } from '../../texts.ts'
import { Badge, Empty, figures, List, Panel, Table, When } from '../../ui.tsx'
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
            <When at={at} />,
            agent,
            description,
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

export function Workbench() {
  const field = useRef<HTMLTextAreaElement>(null)
  const { place } = useView()
  const { result, error, busy, run } = useJob<TryGuardrailsResult & { tried: string }>()
  const attempt = (rules: string) => run(async () => ({ ...(await service.tryGuardrails({ rules })), tried: rules }))
  const draft = place.query.get('draft')
  // The draft of a link, or of a page that has written it, is tried at once.
  useEffect(() => {
    if (draft) attempt(draft)
  }, [draft])
  const submit = (rules: string) => {
    if (rules === draft || encodeURIComponent(rules).length > longestInAddress) attempt(rules)
    else goWith(place, { draft: rules })
  }
  return (
    <Panel title={t.title} lead={t.lead} at="workbench" wide>
      <Form submit={(read) => submit(read('rules'))}>
        <Field label={t.rules}>
          <textarea
            ref={field}
            name="rules"
            rows={9}
            class="code"
            spellcheck={false}
            required
            maxLength={100_000}
            placeholder={t.draft}
            defaultValue={draft ?? ''}
          />
        </Field>
        <p class="actions">
          <Act busy={busy} main>
            {t.tryIt}
          </Act>
          <button
            type="button"
            onClick={() => {
              if (field.current) field.current.value = t.draft
            }}
          >
            {t.example}
          </button>
        </p>
      </Form>
      {error !== null && <Failure error={error} />}
      {result?.errors.map(({ line, column, message }) => (
        <p class="notice bad" role="alert" key={`${line} ${column} ${message}`}>
          {t.wrong(line, message)}
        </p>
      ))}
      {result?.findings.map(({ line, message }) => (
        <p class="notice warn" key={`${line} ${message}`}>
          {t.wrong(line, message)}
        </p>
      ))}
      {result?.replay && result.backtest && (
        <>
          <p class="lead">{sentence(result.replay, result.backtest)}</p>
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
          <PutInShadow key={result.tried} rules={result.tried} />
        </>
      )}
    </Panel>
  )
}

/** What the rules in shadow mode would have stopped in the last week. */
export function Shadow() {
  const loaded = useCall('shadow', (signal) => service.tryGuardrails({}, { signal }))
  return (
    <Panel title={t.shadow} lead={t.shadowLead} wide>
      <Show of={loaded}>{({ shadow }) => (shadow ? <Outcomes of={shadow} /> : <Empty>{t.noShadow}</Empty>)}</Show>
    </Panel>
  )
}
