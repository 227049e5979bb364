/** Which calls of tools decide something, and which only look like it. */
import { expect, test } from 'bun:test'
import { consequenceOf, simpleCommands } from '../../../src/domain/hook/consequence.ts'
import { fileOf } from '../../../src/domain/hook/input.ts'
import * as fc from '../../support/property.ts'

const shell = (command: unknown, tool = 'Bash') => ({ tool, tool_use_id: null, input: { command }, mcp_server: null })
const of = (command: unknown, output: unknown = '', tool?: string) =>
  consequenceOf(shell(command, tool), output, (text) => text)

test.each([
  ['git commit -m "a; b"', 'commit'],
  ['npm test && git -C /shop commit -am x', 'commit'],
  ['cd /shop; GIT_AUTHOR_NAME="a b" git commit -F msg', 'commit'],
  ['gh pr create --title x --body y', 'pull_request'],
  ['gh pr merge 7 --squash', 'pull_request'],
  ['kubectl -n shop apply -f deploy.yaml', 'deployment'],
  ['terraform apply -auto-approve', 'deployment'],
  ['npx vercel --prod', 'deployment'],
  ['npm publish', 'deployment'],
  ['npx prisma migrate deploy', 'migration'],
  ['python manage.py migrate', 'migration'],
  ['bundle exec rails db:migrate', 'migration'],
  ['npm install left-pad', 'dependency_change'],
  ['yarn add -D vitest', 'dependency_change'],
  ['sudo pip install requests', 'dependency_change'],
  ['go get example.com/x@v1', 'dependency_change'],
  ['cargo add serde', 'dependency_change'],
])('%s is a %s', (command, kind) => {
  expect(of(command)?.kind).toBe(kind as never)
})

test.each([
  'git status',
  'git log --grep commit',
  'echo "git commit"',
  'grep -r "npm install left-pad" docs',
  'npm install',
  'npm ci',
  'npm run deploy-docs-check',
  'pip install -r requirements.txt',
  'cat migrations/1.sql',
  'terraform plan',
  'kubectl get pods',
])('%s decides nothing', (command) => {
  expect(of(command)).toBeNull()
})

test('what the tool printed ties the call to its commit and its pull request', () => {
  expect(of('git commit -m x', { stdout: '[main 1a2b3c4] x\n 1 file changed' })).toMatchObject({
    sha: '1a2b3c4',
    pr: null,
  })
  expect(of('git commit -m x', ['[feat/a (root-commit) 1a2b3c4d] x'])).toMatchObject({ sha: '1a2b3c4d' })
  expect(of('gh pr create', 'https://github.com/acme/shop/pull/41\n')).toMatchObject({ pr: 41, sha: null })
})

test('tools of MCP servers, arguments as a list, and files', () => {
  const call = { tool: 'mcp__github__create_pull_request', tool_use_id: null, input: {}, mcp_server: 'github' }
  expect(consequenceOf(call, '', (text) => text)?.kind).toBe('pull_request')
  expect(consequenceOf({ ...call, mcp_server: null, tool: 'create_pull_request' }, '', (text) => text)).toBeNull()
  expect(of(['git', 'commit', '-m', 'x'], '', 'shell')?.kind).toBe('commit')
  expect(fileOf({ ...call, tool: 'Edit', input: { file_path: 'a.ts' } })).toBe('a.ts')
  expect(fileOf(shell('cat a.ts'))).toBeNull()
})

test('no line takes long or throws, and no text of a command is lost between its parts', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 300 }), (line) => {
      of(line, line)
      expect(simpleCommands(`x${line}`).join('').length).toBeLessThanOrEqual(line.length + 1)
    }),
    { numRuns: 1_000 },
  )
  // Each of these would take years if a pattern could match it in many ways.
  for (const part of ['-a ', '" ', "' ", 'A=b ', 'npx -x ', 'kubectl -n a ', '\\', '(('])
    of(`git ${part.repeat(6_000)}`)
})
