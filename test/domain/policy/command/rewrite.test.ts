/** Options of a command are replaced by safe ones where the line says them plainly, and nowhere else. */
import { expect, test } from 'bun:test'
import { withOptions } from '../../../../src/domain/policy/command/rewrite.ts'
import * as fc from '../../../support/property.ts'
import { judgeWith, project } from './command.ts'

const change = { program: 'git', subcommand: 'push', from: ['--force', '-f'], to: '--force-with-lease' }

test.each([
  ['git push --force', 'git push --force-with-lease'],
  ['git push -f origin main', 'git push --force-with-lease origin main'],
  ['git push -uf origin main', 'git push -u --force-with-lease origin main'],
  ['cd a && (git -C b push origin --force; ls) # x', 'cd a && (git -C b push origin --force-with-lease; ls) # x'],
  ['sudo -u me git push -f', 'sudo -u me git push --force-with-lease'],
  [
    'git commit -m "git push --force" && git push -f',
    'git commit -m "git push --force" && git push --force-with-lease',
  ],
  ['git push "$r" --force\ngit fetch -f', 'git push "$r" --force-with-lease\ngit fetch -f'],
  // Not plain, or not meant.
  ["bash -c 'git push --force'", null],
  ['git push "--force"', null],
  ['git push --forc', null],
  ['git $x --force', null],
  ['git push origin +main', null],
  ['git tag -f v1', null],
  ['echo git push --force', null],
  ['git push --force "', null],
])('%s becomes %p', (line, expected) => {
  expect(withOptions(line, change)).toBe(expected)
})

const { command, judge } = await judgeWith(['irreversible'])

test('a forced push in any surroundings runs with a lease or not at all', async () => {
  const words = fc.subarray(['-f', '--force', '-uf', 'origin', 'main', '+main', '--tags', '-q', "'--force'", '--forc'])
  const around = fc.constantFrom<(line: string) => string>(
    (line) => line,
    (line) => `cd sub && ${line} | tee log`,
    (line) => `(${line}) && git push -f`,
    (line) => `bash -c "${line}"`,
    (line) => `if true; then\n${line}; fi`,
    (line) => `x=$(${line})`,
    (line) => `git ${line.slice(4)} && $(echo git) push --force`,
  )
  await fc.assert(
    fc.asyncProperty(fc.shuffledSubarray(['-c a=b', '--no-pager']), words, around, async (global, rest, wrap) => {
      const line = wrap(['git', ...global, 'push', ...rest].join(' '))
      const { allowed, modified_action } = await command(line)
      const runs = (modified_action?.context as { command: string } | undefined)?.command ?? line
      if (allowed) expect({ line, runs, fired: (await command(runs)).fired }).toEqual({ line, runs, fired: [] })
    }),
    { numRuns: 300 },
  )
})

test('the field of the input that holds the line changes with it; a list of words is not changed', async () => {
  const line = 'git push --force'
  const shown = { command: line, cwd: project }
  const { verdict, modified_action, changes } = await judge({ ...shown, tool: 'Bash', input: { command: line, x: 1 } })
  expect(verdict).toBe('modify')
  expect(modified_action!.context).toMatchObject({
    command: 'git push --force-with-lease',
    input: { command: 'git push --force-with-lease', x: 1 },
  })
  expect(changes.map(({ field }) => field)).toEqual(['context.command', 'context.input.command'])
  const listed = await judge({ ...shown, tool: 'shell', input: { command: ['git', 'push', '--force'] } })
  expect(listed.changes.map(({ field }) => field)).toEqual(['context.command'])
})
