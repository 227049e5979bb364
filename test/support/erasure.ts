/** A server that receives one decision in every possible way, each time with a word that occurs nowhere else. */
import { type Dirent, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openRuled, type Ruled } from './ruled.ts'

export const word = 'quuxzebra'
/** A sentence with the word, as agents write them. */
const said = (about: string): string => `The ${about} is about ${word} and nothing else`

const rules = `- id: ask-first
  action: step_up
  condition_context.danger: true
  message: A person must agree to this
  step_up: { approvers: [root] }
`

export interface Told {
  server: Ruled['server']
  /** The decision, one that a hook saw, and one of somebody else that leads to the first. */
  ids: { recorded: string; observed: string; linked: string }
  close(): Promise<void>
}

/** Files below a folder that hold a text. */
export function holding(folder: string, text: string): string[] {
  const entries: Dirent[] = readdirSync(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => path.includes(text) || bytesOf(path).includes(text))
}

/** Nothing of a file that went while its folder was read. */
function bytesOf(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0)
    throw error
  }
}

/** @param env settings of the server */
export async function tellAll(env: Record<string, string> = {}): Promise<Told> {
  const { server, close, post } = await openRuled(rules, env)
  const { call } = server
  const project = { name: `${word}/app`, feature: word, pr: 7, files: [`src/${word}.ts`] }
  const action = { description: said('action'), category: word, context: { danger: true, note: said('note') } }

  // What its agent asked and thought before.
  const agent_id = `as-${word}`
  await call('queryDecisions', { query: said('question'), agent_id })
  await call('recordThought', { text: said('thought'), agent_id })
  await call('checkGuardrails', { action: { ...action, context: { note: said('note') } } })
  const { approval } = (await call('checkGuardrails', { action })) as { approval: { id: string } }
  await call('decideApproval', { id: approval.id, decision: 'approve', reason: said('approval') }, 'root')
  const { decision_id: recorded } = await call('recordDecision', {
    decision: said('action'),
    confidence: 0.8,
    category: word,
    context: `${said('context')}\n${said('note')}`,
    reasons: [{ type: word, text: said('reason'), strength: 0.5 }],
    alternatives_considered: [said('alternative'), { option: said('option'), reason: said('objection') }],
    reasoning_trace: [said('trace')],
    bridge: { structure: said('structure'), function: said('function'), enforcement: [said('feature')] },
    tags: [word],
    pattern: said('pattern'),
    project,
    agent_id,
    idempotency_key: `key of ${word}`,
  })
  const id = recorded as string

  // What came of it.
  await call('updateDecision', { id, updates: { decision: said('second wording'), context: said('new context') } })
  await call('recordThought', { decision_id: id, text: said('afterthought') })
  await call('reviewDecision', { id, outcome: 'failure', lessons: said('lesson'), notes: said('remark') }, 'bob')
  await call('getCompacted', {})
  const { decision_id: linked } = await call(
    'recordDecision',
    { decision: 'Keep the queue in memory for now', confidence: 0.6, category: 'architecture' },
    'bob',
  )
  await call(
    'linkDecisions',
    { source_id: linked, target_id: id, edge_type: 'depends_on', context: said('link') },
    'bob',
  )
  await call('linkDecisions', { source_id: id, target_id: linked, edge_type: 'refines', context: said('other link') })
  await call('unlinkDecisions', { source_id: id, target_id: linked, edge_type: 'refines', reason: said('mistake') })
  const former = { source_id: linked, target_id: id, edge_type: 'blocks' }
  await call('linkDecisions', { ...former, context: said('former link') }, 'bob')
  await call('unlinkDecisions', former, 'bob')
  // Bob found it, and has not decided yet.
  await call('queryDecisions', { query: said('second wording') }, 'bob')
  await call('compact', { category: word }, 'root')

  // The same by a hook: what was asked, what was done, what was said.
  const place = {
    session_id: 'the-session',
    cwd: '/srv/shop',
    transcript_path: '/tmp/t.jsonl',
    permission_mode: 'default',
  }
  const hook = (hook_event_name: string, body: object) =>
    post('/hooks/claude-code', { ...place, hook_event_name, ...body })
  const tool = { tool_name: 'Bash', tool_input: { command: `git commit -m "${said('commit')}"` }, tool_use_id: 'u1' }
  await hook('SessionStart', { source: 'startup' })
  await hook('UserPromptSubmit', { prompt: said('prompt') })
  await hook('PreToolUse', tool)
  await hook('PostToolUse', { ...tool, tool_response: { stdout: `[main 1234567] Drop ${said('commit')}` } })
  await hook('Stop', { last_assistant_message: said('summary') })
  const { decisions } = (await call('listDecisions', { limit: 10 })) as { decisions: { id: string; source?: string }[] }
  const observed = decisions.map((one) => one.id).find((one) => one !== id && one !== linked)!
  return { server, ids: { recorded: id, observed, linked: linked as string }, close }
}
