/** How each client's hooks are read and answered: the same calls in its own words, and its own JSON whatever it sends. */
import { describe, expect, test } from 'bun:test'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import Ajv from 'ajv'
import { adapters } from '../../../src/domain/hook/clients.ts'
import {
  type HookClient,
  type HookEvent,
  type HookOutcome,
  hookClients,
  silent,
} from '../../../src/domain/hook/event.ts'
import * as fc from '../../support/property.ts'

const at = { session_id: 's1', cwd: '/shop' }
const bash = { tool_name: 'Bash', tool_input: { command: 'ls' }, tool_use_id: 't1' }

/** What each client sends before a tool, and what it means to all of them. */
const before: [HookClient, object, Partial<Extract<HookEvent, { kind: 'before_tool' }>['call']>][] = [
  ['claude-code', { ...at, ...bash, hook_event_name: 'PreToolUse' }, { tool: 'Bash', tool_use_id: 't1' }],
  ['claude-code', { ...at, hook_event_name: 'PreToolUse', tool_name: 'mcp__git_hub__x_y' }, { mcp_server: 'git_hub' }],
  ['opencode', { ...at, ...bash, hook_event_name: 'PreToolUse' }, { tool: 'Bash' }],
  ['codex', { ...at, ...bash, hook_event_name: 'PreToolUse', model: 'm', transcript_path: null }, { tool: 'Bash' }],
  ['gemini', { ...at, hook_event_name: 'BeforeTool', tool_name: 'mcp_jira_create' }, { mcp_server: 'jira' }],
  [
    'gemini',
    { ...at, hook_event_name: 'BeforeTool', tool_name: 'mcp_my_jira_create', mcp_context: { server_name: 'my_jira' } },
    { mcp_server: 'my_jira' },
  ],
  [
    'cursor',
    { conversation_id: 's1', hook_event_name: 'beforeShellExecution', command: 'ls', cwd: '/shop' },
    { tool: 'Shell', input: { command: 'ls' } },
  ],
  [
    'cursor',
    {
      conversation_id: 's1',
      hook_event_name: 'beforeMCPExecution',
      tool_name: 'q',
      tool_input: '{"a":1}',
      url: 'http://x',
    },
    { input: { a: 1 }, mcp_server: 'http://x' },
  ],
  [
    'copilot',
    { ...at, hook_event_name: 'PreToolUse', tool_name: 'bash', tool_input: '{"command":"ls"}' },
    { input: { command: 'ls' } },
  ],
  ['copilot', { ...at, hook_event_name: 'PreToolUse', tool_name: 'git-hub-get_issue' }, { mcp_server: 'git-hub' }],
  [
    'opencode',
    { ...at, hook_event_name: 'PreToolUse', tool_name: 'cstp_ready', mcp_context: { server_name: 'cstp' } },
    { mcp_server: 'cstp' },
  ],
]

test.each(before)('%s: a call of a tool', (client, body, call) => {
  expect(adapters[client].read(body)).toMatchObject({ kind: 'before_tool', place: { session_id: 's1' }, call })
})

/** The denial, as each client obeys it. */
const denials: [HookClient, object][] = [
  [
    'claude-code',
    { hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'deny', permissionDecisionReason: 'no' } },
  ],
  [
    'codex',
    { hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'deny', permissionDecisionReason: 'no' } },
  ],
  [
    'opencode',
    { hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'deny', permissionDecisionReason: 'no' } },
  ],
  ['gemini', { decision: 'deny', reason: 'no' }],
  ['cursor', { permission: 'deny', user_message: 'no', agent_message: 'no' }],
  ['copilot', { permissionDecision: 'deny', permissionDecisionReason: 'no' }],
]

test.each(denials)(
  '%s: silence for allow, its own denial for a block, also of what can’t be read',
  (client, denial) => {
    const { write } = adapters[client]
    expect(write('before_tool', silent)).toEqual({})
    expect(write('before_tool', { kind: 'deny', reason: 'no' })).toEqual(denial as never)
    expect(write('unreadable', { kind: 'deny', reason: 'no' })).toEqual(denial as never)
  },
)

test('a changed input goes to the clients that take it without skipping the user’s own prompt; the others are denied with it', () => {
  const change = { kind: 'change', input: { command: 'b' }, reason: 'a, b', deny: 'call b' } as const
  const answers = hookClients.map((client) => [client, adapters[client].write('before_tool', change)] as const)
  expect(Object.fromEntries(answers)).toMatchObject({
    'claude-code': { hookSpecificOutput: { updatedInput: { command: 'b' }, additionalContext: 'a, b' } },
    codex: { hookSpecificOutput: { permissionDecision: 'allow', updatedInput: { command: 'b' } } },
    gemini: { hookSpecificOutput: { tool_input: { command: 'b' } }, systemMessage: 'a, b' },
    cursor: { permission: 'deny', agent_message: 'call b' },
    copilot: { permissionDecision: 'deny', permissionDecisionReason: 'call b' },
    opencode: { hookSpecificOutput: { permissionDecision: 'deny', permissionDecisionReason: 'call b' } },
  })
})

test('text for the model goes where its client takes it', () => {
  const text = { kind: 'context', text: 'precedents' } as const
  expect(adapters.copilot.write('session_start', text)).toEqual({ additionalContext: 'precedents' })
  expect(adapters.copilot.write('before_tool', { kind: 'warn', text: 'careful' })).toEqual({
    additionalContext: 'careful',
  })
  expect(adapters.cursor.write('session_start', text)).toEqual({ additional_context: 'precedents' })
  expect(adapters.cursor.write('before_tool', { kind: 'warn', text: 'careful' })).toEqual({})
})

test('a command that failed is no success, however its client reports it', () => {
  const after: [HookClient, object, boolean][] = [
    ['claude-code', { hook_event_name: 'PostToolUse', ...bash, tool_response: { stdout: 'ok' } }, true],
    ['claude-code', { hook_event_name: 'PostToolUseFailure', ...bash, error: 'no' }, false],
    [
      'codex',
      { hook_event_name: 'PostToolUse', ...bash, tool_response: 'Process exited with code 1\nOutput:\n' },
      false,
    ],
    ['codex', { hook_event_name: 'PostToolUse', ...bash, tool_response: { exit_code: 0 } }, true],
    [
      'gemini',
      { hook_event_name: 'AfterTool', ...bash, tool_response: { llmContent: 'Output: x\nExit Code: 2' } },
      false,
    ],
    ['gemini', { hook_event_name: 'AfterTool', ...bash, tool_response: { llmContent: 'Output: x' } }, true],
    ['copilot', { hook_event_name: 'PostToolUse', ...bash, tool_result: { result_type: 'denied' } }, false],
    ['copilot', { hook_event_name: 'PostToolUse', ...bash, tool_result: { result_type: 'success' } }, true],
    ['cursor', { hook_event_name: 'postToolUseFailure', ...bash, error_message: 'no' }, false],
  ]
  for (const [client, body, ok] of after) expect([body, adapters[client].read(body)]).toMatchObject([body, { ok }])
})

const names = [
  'PreToolUse',
  'PostToolUse',
  'PostToolUseFailure',
  'SessionStart',
  'UserPromptSubmit',
  'Stop',
  'SessionEnd',
  'BeforeTool',
  'AfterTool',
  'BeforeAgent',
  'AfterAgent',
  'preToolUse',
  'beforeShellExecution',
  'beforeMCPExecution',
  'postToolUse',
  'sessionStart',
  'stop',
  'sessionEnd',
  'beforeSubmitPrompt',
  'Notification',
]
const anyBody = fc.oneof(
  fc.jsonValue(),
  fc.record(
    {
      hook_event_name: fc.oneof(fc.constantFrom(...names), fc.jsonValue()),
      session_id: fc.jsonValue(),
      tool_name: fc.oneof(fc.constantFrom('Bash', 'mcp__a__b'), fc.jsonValue()),
      tool_input: fc.jsonValue(),
      tool_use_id: fc.jsonValue(),
      tool_response: fc.jsonValue(),
      tool_result: fc.jsonValue(),
      prompt: fc.jsonValue(),
      command: fc.jsonValue(),
      loop_count: fc.jsonValue(),
    },
    { requiredKeys: [] },
  ),
)
const outcomes: HookOutcome[] = [
  silent,
  { kind: 'context', text: 'known' },
  { kind: 'deny', reason: 'no' },
  { kind: 'warn', text: 'careful' },
  { kind: 'go_on', reason: 'record it' },
]

test('any body is read, and one that asks for a tool is never taken for less', () => {
  fc.assert(
    fc.property(fc.constantFrom(...hookClients), anyBody, (client, body) => {
      const event = adapters[client].read(body)
      const asked = (body as { hook_event_name?: unknown } | null)?.hook_event_name
      const gates = { cursor: 'preToolUse', gemini: 'BeforeTool' } as Partial<Record<HookClient, string>>
      if (asked === (gates[client] ?? 'PreToolUse')) expect(['before_tool', 'unreadable']).toContain(event.kind)
    }),
    // No number can be made of such an object.
    { numRuns: 2_000, examples: [['cursor', { hook_event_name: 'stop', loop_count: { toString: false } }]] },
  )
})

describe('Codex’s own schemas', async () => {
  const folder = join(import.meta.dir, 'codex-schemas')
  const suffix = '.command.output.schema.json'
  const files = (await readdir(folder)).filter((file) => file.endsWith(suffix))
  const ajv = new Ajv({ strict: false })
  const schemas = new Map(
    await Promise.all(
      files.map(async (file) => {
        const schema = JSON.parse(await readFile(join(folder, file), 'utf8'))
        return [file.replace(suffix, ''), ajv.compile(schema)] as const
      }),
    ),
  )
  test.each([
    ['session_start', 'session-start'],
    ['prompt', 'user-prompt-submit'],
    ['before_tool', 'pre-tool-use'],
    ['after_tool', 'post-tool-use'],
    ['stop', 'stop'],
  ] as const)('every answer to %s', (kind, file) => {
    const valid = schemas.get(file)!
    for (const outcome of outcomes) {
      const answer = adapters.codex.write(kind, outcome)
      expect([answer, valid(answer), valid.errors]).toEqual([answer, true, null])
    }
  })
})
