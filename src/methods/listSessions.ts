/** cstp.listSessions: what agents' clients reported through their hooks, by session. */
import * as v from 'valibot'
import { CstpError } from '../../sdk/errors.ts'
import { filledText } from '../../sdk/schema/decision.ts'
import { boundMs, DateBound, shortened, whole } from '../../sdk/schema/params.ts'
import { defineMethod } from '../calls/method.ts'
import { timestamp } from '../core/time.ts'
import { hookClients } from '../domain/hook/event.ts'
import { type HookSession, listHookSessions } from '../domain/hook/session.ts'

const d = v.description
const count = v.number()

const Session = v.object({
  session_id: v.pipe(v.string(), d('As its client names it.')),
  agent: v.pipe(v.string(), d('The authenticated agent.')),
  client: v.pipe(v.picklist(hookClients), d('The program that the agent runs in.')),
  project: v.pipe(v.nullable(v.string()), d('As the hook says: from the remote of its repository.')),
  branch: v.pipe(v.nullable(v.string()), d('Branch of the repository, from the same source.')),
  cwd: v.pipe(v.nullable(v.string()), d('Its directory at the first event.')),
  started_at: v.pipe(v.string(), d('First event, RFC 3339.')),
  last_at: v.pipe(v.string(), d('Latest event, RFC 3339.')),
  actions: v.pipe(count, d('Calls of tools that were done.')),
  errors: v.pipe(count, d('Those of them that failed.')),
  verdicts: v.pipe(
    v.object({
      deny: v.pipe(count, d('Stopped by a rule or a breaker.')),
      defer: v.pipe(count, d('Stopped until more is known.')),
      step_up: v.pipe(count, d('Stopped until a person approves.')),
      modify: v.pipe(count, d('Passed with a change that a rule makes.')),
      allow: v.pipe(count, d('Passed.')),
    }),
    d('Calls that were checked, by verdict.'),
  ),
  would_block: v.pipe(count, d('Calls that a rule in shadow mode would have stopped.')),
  seal: v.pipe(
    v.nullable(
      v.object({
        at: v.pipe(v.string(), d('RFC 3339.')),
        digest: v.pipe(
          v.string(),
          d('SHA-256 over all calls in their order; the trail has it too. Empty without calls.'),
        ),
      }),
    ),
    d('The end of the session; null while it is open.'),
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
  seal: one.ended_ms === null ? null : { at: timestamp(one.ended_ms), digest: one.digest },
})

export const listSessions = defineMethod({
  summary: 'Lists the sessions that hooks reported, the latest first: your own, or all with the scope admin.',
  params: v.object({
    agent: v.optional(v.pipe(filledText(256), d('Agent of the sessions; others than your own need the scope admin.'))),
    since: v.optional(v.pipe(DateBound, d('Begun on this day or instant, or later.'))),
    limit: v.pipe(v.optional(whole(1, 500), 50), d('Most sessions.')),
  }),
  result: v.object({ sessions: v.pipe(v.array(Session), d('The sessions.')), shortened }),
  scope: 'read',
  page: { list: 'sessions' },
  effect: 'read',
  failure: 'internal_error',
  async handle({ store, caller }, { agent, since, limit }) {
    const isAdmin = caller.scopes.has('admin')
    if (agent !== undefined && agent !== caller.agent && !isAdmin)
      throw new CstpError('forbidden', 'the sessions of other agents need the scope admin', { scope: 'admin' })
    const since_ms = since === undefined ? 0 : (boundMs(since, false) ?? 0)
    const query = { agent: agent ?? (isAdmin ? null : caller.agent), since_ms, limit }
    return { sessions: (await listHookSessions(store.keyed, query)).map(show) }
  },
})
