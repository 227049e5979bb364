/** The input of a tool call: its commands and paths, contradictions, and what rules see of a large one. */

import { describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import type { ToolCall } from '../../../src/domain/hook/event.ts'
import { commandOf, contradictionIn, fileOf, folderOf, maxInput, shownInput } from '../../../src/domain/hook/input.ts'
import * as fc from '../../support/property.ts'

const call = (tool: string, input: unknown, mcp_server: string | null = null): ToolCall => ({
  tool,
  tool_use_id: null,
  input,
  mcp_server,
})

describe('commands', () => {
  test.each([
    ['Bash', { command: 'ls' }, 'ls'],
    ['exec_command', { cmd: 'ls -l', workdir: '/' }, 'ls -l'],
    ['exec_command', { cmd: 'import os', shell: '/usr/bin/python3' }, "/usr/bin/python3 -c 'import os'"],
    ['exec_command', { cmd: 'ls', shell: '/bin/bash' }, 'ls'],
    ['shell', { command: ['bash', '-lc', 'rm -rf /'] }, 'rm -rf /'],
    ['local_shell', { action: { type: 'exec', command: ['git', 'push', '--force'] } }, 'git push --force'],
    ['write_bash', { sessionId: 1, input: 'rm -rf /\n' }, 'rm -rf /\n'],
    ['write_stdin', { session_id: 1, chars: 'rm -rf /\n' }, 'rm -rf /\n'],
    ['batch', { tool_calls: [{ tool: 'bash', parameters: { command: 'rm -rf /' } }] }, 'rm -rf /'],
  ])('of %s %j', (tool, input, command) => {
    expect(commandOf(call(tool, input))).toBe(command)
  })

  test('of servers that run programs: with arguments, as a list, several at once', () => {
    expect(commandOf(call('mcp__box__run', { command: 'rm', args: ['-rf', '/'] }, 'box'))).toBe('rm -rf /')
    expect(commandOf(call('mcp__box__run', { commands: ['ls', 'rm -rf /'] }, 'box'))).toBe('ls\nrm -rf /')
    expect(commandOf(call('mcp__box__run', { command: ['rm', '-rf', 'a b'] }, 'box'))).toBe("rm -rf 'a b'")
  })

  test('the operation of an editor and the patch of another are none', () => {
    expect(commandOf(call('str_replace_editor', { command: 'view', path: 'a.ts' }))).toBeNull()
    expect(commandOf(call('apply_patch', { command: '*** Begin Patch' }))).toBeNull()
    expect(commandOf(call('Write', { file_path: 'a.sh', content: 'rm -rf /' }))).toBeNull()
  })

  test('run in the folder that the call names', () => {
    expect(folderOf(call('exec_command', { cmd: 'rm -rf *', workdir: '/' }))).toBe('/')
    expect(folderOf(call('run_shell_command', { command: 'ls', dir_path: 'src' }))).toBe('src')
    expect(folderOf(call('list_directory', { dir_path: 'src' }))).toBeNull()
  })
})

test('the file of each client’s tools', () => {
  for (const [key, path] of [
    ['file_path', 'a.ts'],
    ['filePath', 'a.ts'],
    ['absolute_path', '/a.ts'],
    ['notebook_path', 'a.ipynb'],
    ['target_file', 'a.ts'],
    ['path', 'a.ts'],
  ])
    expect(fileOf(call('Edit', { [key!]: path }))).toBe(path!)
})

describe('contradictions', () => {
  test.each([
    ['command and cmd', 'Bash', { command: 'ls', cmd: 'rm -rf /' }],
    ['two cases', 'Bash', { command: 'ls', Command: 'rm -rf /' }],
    ['two spellings', 'Edit', { file_path: 'a.ts', filePath: '/etc/passwd' }],
    ['two paths', 'Write', { file_path: 'a.ts', path: '/etc/passwd' }],
    ['deep inside', 'MultiEdit', { file_path: 'a.ts', edits: [{ filePath: 'b.ts', file_path: 'c.ts' }] }],
  ])('%s', (_, tool, input) => {
    expect(contradictionIn(call(tool, input))).toMatch(/^\w+ and \w+ of its input differ$/)
  })

  test('the same value twice, other fields, and data are none', () => {
    expect(contradictionIn(call('Bash', { command: 'ls', cmd: 'ls' }))).toBeNull()
    expect(contradictionIn(call('Bash', { command: 'ls', description: 'list', timeout: 5 }))).toBeNull()
    expect(contradictionIn(call('mcp__db__insert', { row: { name: 'a', Name: 'b' } }, 'db'))).toBeNull()
    expect(contradictionIn(call('mcp__fs__copy', { path: 'a', file_path: 'b' }, 'fs'))).toBeNull()
  })
})

describe('what rules see of an input', () => {
  test('is all of it up to the limit: its end, its 51st item, its sixth level', () => {
    const input = {
      content: 'a'.repeat(250_000),
      to: Array.from({ length: 300 }, (_, at) => `${at}@example.com`),
      a: { b: { c: { d: { e: { f: { g: 1 } } } } } },
    }
    expect(shownInput(input)).toEqual({ input, not_shown: [] })
  })

  test('beyond it says what is missing, with its digest, and leaves small fields whole', () => {
    const content = 'word '.repeat(100_000)
    const { input, not_shown } = shownInput({ file_path: 'a.txt', content, mode: { x: 1 } })
    const shown = input as { file_path: string; content: string; mode: unknown }
    expect(shown).toMatchObject({ file_path: 'a.txt', mode: { x: 1 } })
    const cut = shown.content.indexOf('…')
    const rest = content.slice(cut)
    const sha256 = createHash('sha256').update(rest).digest('hex')
    const count = String(rest.length).replace(/(\d{3})$/, ' $1')
    expect(shown.content.slice(cut)).toBe(`… ${count} characters not shown, sha256 ${sha256}`)
    expect(not_shown).toEqual([`input.content: ${count} characters not shown, sha256 ${sha256}`])
  })

  test('a secret at the cut is left out whole', () => {
    const { input } = shownInput({ content: `${'x '.repeat(200_000)}` })
    expect((input as { content: string }).content).toMatch(/x …/)
  })

  test('two inputs that differ anywhere are never seen as one', () => {
    const text = fc.string({ maxLength: 40 }).map((one) => one.repeat(4_000))
    const value = fc.letrec((tie) => ({
      node: fc.oneof(
        { maxDepth: 4 },
        text,
        fc.integer(),
        fc.array(tie('node'), { maxLength: 5 }),
        fc.dictionary(fc.string({ maxLength: 8 }), tie('node'), { maxKeys: 5 }),
      ),
    })).node
    fc.assert(
      fc.property(fc.tuple(value, value), ([a, b]) => {
        const [left, right] = [
          { value: a, end: 1 },
          { value: a, end: 2, more: b },
        ].map((one) => shownInput(one))
        expect(JSON.stringify(left)).not.toBe(JSON.stringify(right))
        for (const { input, not_shown } of [left!, right!]) {
          expect(JSON.stringify(input).length).toBeLessThan(2 * maxInput)
          expect(JSON.stringify(input).includes('characters not shown, sha256')).toBe(not_shown.length > 0)
        }
      }),
      { numRuns: 50 },
    )
  })

  test('deep nesting is cut, and said', () => {
    let deep: unknown = 1
    for (let level = 0; level < 400; level++) deep = [deep]
    const { not_shown } = shownInput({ deep })
    expect(not_shown).toHaveLength(1)
  })
})
