/** The plugin for Claude Code: its files belong together, and its version is that of the program. */
import { expect, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { version } from '../../src/core/version.ts'
import { root } from '../support/process.ts'

const json = async (path: string) => JSON.parse(await readFile(join(root, path), 'utf8'))

test('the marketplace has the plugin, with the version of the program', async () => {
  const { plugins } = await json('.claude-plugin/marketplace.json')
  expect(plugins).toMatchObject([{ name: 'cstp', source: './plugin' }])
  expect(await json('plugin/.claude-plugin/plugin.json')).toMatchObject({ name: 'cstp', version })
})

test('its hooks run the script that is beside them, and a call that can’t be judged is blocked', async () => {
  const { hooks } = await json('plugin/hooks/hooks.json')
  for (const [event, groups] of Object.entries<{ hooks: { command: string }[] }[]>(hooks))
    for (const { hooks: list } of groups)
      for (const { command } of list)
        expect([event, command.replace(/^sh -c '.*' claude-code 2>\/dev\/null \|\| | \|\| exit 2$/, '')]).toEqual([
          event,
          `node "$\{CLAUDE_PLUGIN_ROOT}/hooks/cstp-hook.mjs" claude-code --guard`,
        ])
  expect(hooks.PreToolUse[0].hooks[0].onFailure).toBe('block')
})

test('the skill and the MCP server name what the service has', async () => {
  const skill = await readFile(join(root, 'plugin/skills/decide/SKILL.md'), 'utf8')
  const { toolNames } = await import('../../src/calls/method.ts')
  const known: readonly string[] = toolNames
  for (const tool of ['pre_action', 'review_outcome', 'update_decision'])
    expect([skill.includes(tool), known.includes(tool)]).toEqual([true, true])
  const { command, args } = (await json('plugin/.mcp.json')).mcpServers.cstp
  expect([command, ...args]).toEqual(['node', `$\{CLAUDE_PLUGIN_ROOT}/hooks/cstp-hook.mjs`, 'mcp'])
})
