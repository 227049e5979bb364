/** Tools of servers behind the gateway: those that wait for a person, with what changed word by word, and those that were accepted. */
import type { AcceptPinsParams, ListPinsResult } from '../../../sdk/client.ts'
import { Failure, Show, useCall, useJob } from '../call.tsx'
import { none, whole } from '../figures.ts'
import { Act, Field, Form, Pager, pageIn, useResult } from '../form.tsx'
import { refreshPage } from '../fresh.tsx'
import { useView } from '../route.tsx'
import { service } from '../service.ts'
import { texts } from '../texts.ts'
import { Badge, Empty, List, Panel, Table, When } from '../ui.tsx'
import { wordChanges } from '../word-changes.ts'

const t = texts.pins
type Pin = ListPinsResult['pins'][number]
const size = 50

const textOf = (value: unknown): string =>
  value === null ? t.absent : typeof value === 'string' ? value : JSON.stringify(value, null, 1)

/** The kind of a change is said beside its colour. */
const Changed = ({ before, after }: { before: unknown; after: unknown }) => (
  <p class="prose changes">
    {wordChanges(textOf(before), textOf(after)).map(({ kind, text }, at) =>
      kind === 'same' ? (
        `${text} `
      ) : kind === 'removed' ? (
        <del key={at}>
          <span class="unseen">{t.removed} </span>
          {text}{' '}
        </del>
      ) : (
        <ins key={at}>
          <span class="unseen">{t.added} </span>
          {text}{' '}
        </ins>
      ),
    )}
  </p>
)

/** A tool that waits. Who accepts it accepts what is shown: if it has changed since, the service refuses. */
function Waiting({ of, show }: { of: Pin; show: (text: string) => void }) {
  const { may } = useView()
  const { error, busy, run } = useJob<void>()
  const { server, tool, state, description, findings, changes, seen_at, accepted_at, accepted_by } = of
  return (
    <article class="pin">
      <h3>
        <code>{tool}</code> {t.of(server)} <Badge of={state} />
      </h3>
      <p class="quiet">
        {t.since} <When at={seen_at} />
        {accepted_at !== null && `. ${t.before(accepted_by)}`}
      </p>
      {findings.map((one) => (
        <p class="notice bad" key={one}>
          {t.contains(one)}
        </p>
      ))}
      {state === 'new' && description !== null && <p class="prose">{description}</p>}
      {changes.map(({ field, before, after }) => (
        <section key={field} aria-label={field}>
          <h4>{field}</h4>
          <Changed before={before} after={after} />
        </section>
      ))}
      {may('admin') && (
        <Form
          aria-label={t.acceptOf(tool, server)}
          submit={(read) =>
            run(async () => {
              const params: AcceptPinsParams = { server, tool, seen_at, reason: read('reason').trim() || null }
              await service.acceptPins(params)
              show(t.accepted(tool, server))
              refreshPage()
            })
          }
        >
          <Field label={t.reasonFor(tool)} name="reason" maxLength={2_000} />
          <Act busy={busy}>{t.accept(tool)}</Act>
        </Form>
      )}
      {error && <Failure error={error} />}
    </article>
  )
}

export function Pins() {
  const view = useView()
  const [result, show] = useResult()
  const page = pageIn(view.place)
  const loaded = useCall(`pins ${page}`, (signal) =>
    service.listPins({ limit: size, offset: (page - 1) * size }, { signal }),
  )
  return (
    <>
      <p>
        {t.what}
        {!view.may('admin') && ` ${t.needsAdmin}`}
      </p>
      {result}
      <Show of={loaded}>
        {({ pins, total }) => {
          const waiting = pins.filter(({ state }) => state !== 'accepted')
          const accepted = pins.filter(({ state }) => state === 'accepted')
          if (total === 0) return <Empty>{t.none}</Empty>
          return (
            <>
              <Panel title={t.waiting(whole(waiting.length))}>
                <List of={waiting} empty={t.noneWaits}>
                  {(one) => <Waiting key={`${one.server} ${one.tool} ${one.seen_at}`} of={one} show={show} />}
                </List>
              </Panel>
              <Panel title={t.acceptedTools}>
                <Table
                  caption={t.acceptedTools}
                  empty={t.noneAccepted}
                  heads={t.heads}
                  rows={accepted.map(({ server, tool, accepted_at, accepted_by }) => [
                    server,
                    <code>{tool}</code>,
                    accepted_at === null ? none : <When at={accepted_at} />,
                    accepted_by ?? t.atFirst,
                  ])}
                />
              </Panel>
              {total > size && <Pager page={page} last={Math.ceil(total / size)} name={t.pages} />}
            </>
          )
        }}
      </Show>
    </>
  )
}
