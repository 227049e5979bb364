/** cstp.listSessions: what agents' clients reported through their hooks, by session. */
import * as v from 'valibot'
import { CstpError } from '../../sdk/errors.ts'
import { nonEmptyText } from '../../sdk/schema/decision.ts'
import { boundMs, DateBound, shortened, whole } from '../../sdk/schema/params.ts'
import { defineMethod } from '../calls/method.ts'
import { seesAll } from '../core/caller.ts'
import { timestamp } from '../core/time.ts'
import { isUngated } from '../domain/hook/astray.ts'
import { callReporters } from '../domain/hook/event.ts'
import { type HookSession, listHookSessions } from '../domain/hook/session.ts'

const d = v.description
const count = v.number()

const Session = v.object({
  session_id: v.pipe(v.string(), d('Id of the session in its client.')),
  agent: v.pipe(v.string(), d('The authenticated agent.')),
  client: v.pipe(
    v.picklist(callReporters),
    d('The program that the agent runs in, or `gateway` for calls that passed the gateway.'),
  ),
  project: v.pipe(v.nullable(v.string()), d('As reported by the hook, from the remote of the repository.')),
  branch: v.pipe(v.nullable(v.string()), d('Branch of the repository, as reported by the hook.')),
  cwd: v.pipe(v.nullable(v.string()), d('Working directory at the first event.')),
  started_at: v.pipe(v.string(), d('Time of the first event, RFC 3339.')),
  last_at: v.pipe(v.string(), d('Time of the latest event, RFC 3339.')),
  actions: v.pipe(count, d('Completed tool calls.')),
  errors: v.pipe(count, d('Failed tool calls among them.')),
  verdicts: v.pipe(
    v.object({
      deny: v.pipe(count, d('Blocked by a rule or a breaker.')),
      defer: v.pipe(count, d('Deferred until more is known.')),
      step_up: v.pipe(count, d('Blocked until a person approves.')),
      modify: v.pipe(count, d('Allowed with a change made by a rule.')),
      allow: v.pipe(count, d('Allowed.')),
    }),
    d('Checked calls, by verdict.'),
  ),
  would_block: v.pipe(count, d('Calls that a rule in shadow mode would have blocked.')),
  ran_though_denied: v.pipe(count, d('Calls that ran although they were stopped: the client does not obey its hook.')),
  ran_other_than_judged: v.pipe(count, d('Calls that ran with another input than the one that was checked.')),
  ran_unjudged: v.pipe(count, d('Calls that ran and were never checked.')),
  ungated: v.pipe(
    v.boolean(),
    d(
      'Calls were reported, or reached this service over MCP, and none was checked, though hooks of this client were heard before: the hook that asks is missing or turned off.',
    ),
  ),
  hooks_changed: v.pipe(
    v.boolean(),
    d('Hooks of the folder were not as `cstp init` wrote them when the session began: the audit trail says which.'),
  ),
  seal: v.pipe(
    v.nullable(
      v.object({
        at: v.pipe(v.string(), d('RFC 3339.')),
        digest: v.pipe(
          v.string(),
          d('SHA-256 over all calls in order; the audit trail contains it too. Empty without calls.'),
        ),
      }),
    ),
    d('When the session ended; null while it is open.'),
  ),
})

const show = (one: HookSession): v.InferInput<typeof Session> => ({
  session_id: one.session_id,
  agent: one.agent,
  client: one.client,
  project: one.project,
  branch: one.branch,
  cwd: one.cwd,
  started_at: timestamp(one.started_ms),
  last_at: timestamp(one.last_ms),
  actions: one.actions,
  errors: one.errors,
  verdicts: { deny: 0, defer: 0, step_up: 0, modify: 0, allow: 0, ...one.verdicts },
  would_block: one.would_block,
  ran_though_denied: one.ran?.though_denied ?? 0,
  ran_other_than_judged: one.ran?.other_than_judged ?? 0,
  ran_unjudged: one.ran?.unjudged ?? 0,
  ungated: isUngated(one),
  hooks_changed: one.hooks_changed ?? false,
  seal: one.ended_ms === null ? null : { at: timestamp(one.ended_ms), digest: one.digest },
})

export const listSessions = defineMethod({
  summary: 'Lists the sessions reported by hooks, latest first: your own, or all with the scope admin or audit.',
  params: v.object({
    agent: v.optional(
      v.pipe(nonEmptyText(256), d('Agent of the sessions; sessions of other agents need the scope admin.')),
    ),
    since: v.optional(v.pipe(DateBound, d('Started on or after this day or time.'))),
    limit: v.pipe(v.optional(whole(1, 500), 50), d('Maximum number of sessions.')),
  }),
  result: v.object({ sessions: v.pipe(v.array(Session), d('The sessions.')), shortened }),
  scope: 'read',
  page: { list: 'sessions' },
  effect: 'read',
  cost: 8,
  async handle({ store, thread, caller }, { agent, since, limit }) {
    const isAll = seesAll(caller)
    if (agent !== undefined && agent !== caller.agent && !isAll)
      throw new CstpError('forbidden', 'the sessions of other agents need the scope admin', { scope: 'admin' })
    const since_ms = since === undefined ? 0 : (boundMs(since, false) ?? 0)
    await thread.settled()
    const query = { agent: agent ?? (isAll ? null : caller.agent), since_ms, limit }
    return { sessions: (await listHookSessions(store.keyed, query)).map(show) }
  },
})
