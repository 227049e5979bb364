/** cstp.getSessionContext: what an agent should know when it starts a task. */
import * as v from 'valibot'
import { text } from '../../sdk/schema/decision.ts'
import { readParams, whole } from '../../sdk/schema/params.ts'
import { defineMethod, trackedInput } from '../calls/method.ts'
import { noteRequest } from '../domain/guardrail/guard.ts'
import { parts, SessionContext, sessionContext } from '../domain/memory/session-context.ts'
import { toMarkdown } from '../domain/memory/session-markdown.ts'

const d = v.description
const params = v.object({
  task_description: v.optional(v.pipe(text(10_000), d('The task, to find precedents.'))),
  include: v.optional(v.pipe(v.array(v.picklist(parts)), d('Parts wanted; all if not given.'))),
  decisions_limit: v.pipe(v.optional(whole(1, 50), 10), d('Most precedents.')),
  ready_limit: v.pipe(v.optional(whole(1, 50), 5), d('Most things to be done.')),
  format: v.pipe(
    v.optional(v.picklist(['json', 'markdown']), 'json'),
    d('Data, or text that a model can use at once.'),
  ),
  token_budget: v.optional(v.pipe(whole(50, 1_000_000), d('Most tokens of the Markdown.'))),
  ...readParams,
})

export const getSessionContext = defineMethod({
  summary: 'Gives an agent what it should know when it starts a task: its record, precedents, rules, what is due.',
  params,
  result: v.object({
    ...v.partial(SessionContext).entries,
    markdown: v.optional(v.pipe(v.string(), d('All of it as text, with format markdown.'))),
    query_time_ms: v.number(),
  }),
  scope: 'read',
  effect: 'read',
  mcp: {
    name: 'get_session_context',
    title: 'Get session context',
    description:
      'Call it first in a session: your track record, precedents for the task, rules in force, what is due and what was learnt, as Markdown.',
    input: trackedInput(
      v.object({
        ...params.entries,
        format: v.pipe(v.optional(v.picklist(['json', 'markdown']), 'markdown'), d('Text to read, or data.')),
      }),
    ),
  },
  failure: 'internal_error',
  async handle(call, { task_description, include, decisions_limit, ready_limit, format, token_budget, track }) {
    const start = call.elapsed()
    if (track && task_description?.trim()) await noteRequest(call, task_description)
    const context = await sessionContext(call, {
      task: task_description?.trim() ? task_description : null,
      parts: include?.length ? include : parts,
      decisions_limit,
      ready_limit,
    })
    const query_time_ms = Math.round(call.elapsed() - start)
    if (format === 'json') return { ...context, query_time_ms }
    const { no_precedent, degraded, index } = context
    return { markdown: toMarkdown(context, token_budget ?? null), no_precedent, degraded, index, query_time_ms }
  },
})
