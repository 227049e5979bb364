/** Rules in `.cstp/guardrails` of a repository: they stop more calls in each mode but shadow, and nothing else. */
import { describe, expect, test } from 'bun:test'
import { replay } from '../../src/domain/policy/trial/replay.ts'
import { contextOf, denied, openHooks } from '../support/hooks.ts'
import { forEachBackend } from '../support/program.ts'

const own = `
- id: no-publish
  action: block
  conditions: [{ type: command, program: npm, subcommand: publish }]
  message: A release is made by the pipeline
`
const operator = `
- id: no-force
  action: block
  conditions: [{ type: command, program: git, flags: { any: [--force] } }]
  message: No forced pushes
`
const shared = (text: string | null, file = 'rules.yaml') => [{ file, text }]

describe('rules of a repository', () => {
  forEachBackend((open) => {
    const opened = async () => {
      const program = await open()
      await program.rules(operator)
      const { event } = openHooks(program)
      const call = (command: string, project_rules: unknown, mode: 'enforce' | 'guard' | 'shadow' = 'enforce') =>
        event('PreToolUse', { tool_name: 'Bash', tool_input: { command }, tool_use_id: 't1', project_rules }, { mode })
      return { program, call }
    }

    test('stop a call with their reason under a name of their own, and the verdict can be repeated', async () => {
      const { program, call } = await opened()
      for (const mode of ['enforce', 'guard'] as const) {
        const reason = denied(await call('npm publish', shared(own), mode))
        expect(reason).toContain('project/no-publish: A release is made by the pipeline')
        expect(await call('npm test', shared(own), mode)).toEqual({})
      }
      expect(await call('npm publish', shared(own), 'shadow')).toEqual({})
      expect(await call('npm publish', [])).toEqual({})
      const rows = (await program.store.audit.list({ limit: 100 })).filter(({ method }) => method.startsWith('POST /h'))
      expect(rows.map(({ allowed }) => allowed).sort()).toEqual([false, false, true, true, true, true])
      const set = await program.services.policy.current()
      for (const entry of rows)
        expect(await replay(set, async () => set, entry)).toMatchObject({ by_its_rules: { outcome: 'same' } })
    })

    test('loosen nothing: a rule of the same name is another one, and no rule changes a call or asks for approval', async () => {
      const { call } = await opened()
      const same = own.replaceAll('no-publish', 'no-force')
      expect(denied(await call('git push --force', shared(same)))).toContain('no-force: No forced pushes')
      const change = 'modify: { set: { context.command: rm -rf ~ } }'
      for (const wrong of [
        own.replace('action: block', `action: modify\n  ${change}`),
        own.replace('action: block', 'action: step_up'),
        own.replace('action: block', 'action: block\n  requires: [{ approval: me }]'),
        'circuit_breakers: [{ scope: global, failure_threshold: 1, window_ms: 1000, cooldown_ms: 1000 }]',
        '- id: a b',
        `${own}\n`.repeat(700),
      ]) {
        const said = contextOf(await call('npm publish', shared(wrong)))
        expect(said).toContain('rules in .cstp/guardrails of this repository are not applied: ')
        expect(denied(await call('git push --force', shared(wrong)))).toContain('no-force')
      }
      expect(contextOf(await call('ls', shared(null)))).toContain('rules.yaml is no regular file')
      expect(contextOf(await call('ls', Array(17).fill({ file: 'a.yaml', text: '[]' })))).toContain(
        'more than 16 files',
      )
      for (const odd of ['x', [7], [{}], { a: 1 }])
        expect(denied(await call('git push --force', odd))).toContain('no-f')
    })

    test('hold nobody up with expressions over texts', async () => {
      const { call } = await opened()
      // No automaton has as many states as this expression needs, and each rule reads the text once.
      const rule = (at: number) =>
        `- { id: r${at}, action: block, message: No, conditions: [{ type: cel, expression: 'matches(action.context.command, "(x|y)*x(x|y){${90 + at}}z")' }] }`
      const rules = (count: number) => Array.from({ length: count }, (_, at) => rule(at)).join('\n')
      const text = `z${Array.from({ length: 100_000 }, (_, at) => ((at * at) % 7 < 3 ? 'x' : 'y')).join('')}`
      expect(denied(await call('ls', shared(rules(1))))).toBeNull()
      const spent = process.cpuUsage()
      expect(denied(await call(`echo ${text}`, shared(rules(8))))).toContain(
        'matches() would read more text than it may',
      )
      expect(process.cpuUsage(spent).user).toBeLessThan(2_000_000)
      expect(JSON.stringify(await call('ls', shared(rules(9))))).toContain('more than 8 uses of matches()')
    })

    test('learn nothing of what was decided, and in shadow mode stop nothing', async () => {
      const { call } = await opened()
      const asks = own.replace(
        '{ type: command, program: npm, subcommand: publish }',
        '{ type: semantic, threshold: 0.5 }',
      )
      expect(denied(await call('npm test', shared(asks)))).toContain('cannot ask about the past')
      expect(await call('npm publish', shared(own.replace('action: block', 'mode: shadow')))).toEqual({})
    })
  })
})
