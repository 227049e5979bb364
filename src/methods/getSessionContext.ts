/** cstp.getSessionContext: what an agent should know when it starts a task. */
import * as v from 'valibot'
import { text } from '../../sdk/schema/decision.ts'
import { readParams, whole } from '../../sdk/schema/params.ts'
import { defineMethod, trackedInput } from '../calls/method.ts'
import { parts, SessionContext, sessionContext } from '../domain/learn/memory/session-context.ts'
import { toMarkdown } from '../domain/learn/memory/session-markdown.ts'
import { noteRequest } from '../domain/policy/facts/session.ts'

const d = v.description
const params = v.object({
  task_description: v.optional(v.pipe(text(10_000), d('The task, used to find precedents.'))),
  project: v.optional(
    v.pipe(text(256), d('Project, as owner/repo: its rules, and without a task its decisions in force.')),
  ),
  include: v.optional(v.pipe(v.array(v.picklist(parts)), d('Parts to return; by default all.'))),
  decisions_limit: v.pipe(v.optional(whole(1, 50), 10), d('Maximum number of precedents.')),
  ready_limit: v.pipe(v.optional(whole(1, 50), 5), d('Maximum number of due actions.')),
  format: v.pipe(v.optional(v.picklist(['json', 'markdown']), 'json'), d('JSON data, or Markdown for a model.')),
  token_budget: v.optional(v.pipe(whole(50, 1_000_000), d('Maximum size of the Markdown, in tokens.'))),
  ...readParams,
})

export const getSessionContext = defineMethod({
  summary: 'Returns what an agent needs at the start of a task: precedents, rules, its track record and due actions.',
  params,
  result: v.object({
    ...v.partial(SessionContext).entries,
    markdown: v.optional(v.pipe(v.string(), d('The whole result as text; only with format markdown.'))),
    query_time_ms: v.number(),
  }),
  scope: 'read',
  effect: 'read',
  cost: 16,
  mcp: {
    name: 'get_session_context',
    title: 'Get session context',
    description:
      'Call this first in a session. Returns your track record, precedents for the task, rules in force, due actions and lessons, as Markdown.',
    input: trackedInput(
      v.object({
        ...params.entries,
        format: v.pipe(v.optional(v.picklist(['json', 'markdown']), 'markdown'), d('Markdown text, or JSON data.')),
      }),
    ),
  },
  async handle(call, given) {
    const start = call.elapsed()
    const { task_description, project, include, decisions_limit, ready_limit, format, token_budget, track } = given
    if (track && task_description?.trim()) await noteRequest(call, task_description)
    const { context, for_model } = await sessionContext(call, {
      task: task_description?.trim() ? task_description : null,
      project: project?.trim() || null,
      parts: include?.length ? include : parts,
      decisions_limit,
      ready_limit,
    })
    const query_time_ms = Math.round(call.elapsed() - start)
    if (format === 'json') return { ...context, query_time_ms }
    const { precedent, no_precedent, degraded, index } = context
    return {
      markdown: toMarkdown(for_model, token_budget ?? null),
      precedent,
      no_precedent,
      degraded,
      index,
      query_time_ms,
    }
  },
})
