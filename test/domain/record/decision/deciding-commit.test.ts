/** Which commits decide something: choices, breaks, reverts, dependencies; not the work between them. */
import { describe, expect, test } from 'bun:test'
import { type CommitGiven, decidingCommit } from '../../../../src/domain/record/decision/deciding-commit.ts'
import * as fc from '../../../support/property.ts'

const of = (message: string, more: Omit<CommitGiven, 'message'> = {}) => decidingCommit({ message, ...more })

describe('a commit that decides something', () => {
  test.each([
    ['choice', 'Use undici instead of node-fetch', 'Use undici instead of node-fetch'],
    ['choice', 'feat: use oidc instead of a token (#412)', 'use oidc instead of a token'],
    ['choice', 'store: switch from LevelDB to SQLite', 'switch from LevelDB to SQLite'],
    ['choice', 'replace werkzeug.urls with urllib.parse', 'replace werkzeug.urls with urllib.parse'],
    ['choice', 'Drop Node 16', 'Drop Node 16'],
    ['choice', 'pin sphinx below 8', 'pin sphinx below 8'],
    ['choice', 'chore(ci): migrate to pnpm', 'migrate to pnpm'],
    ['choice', 'Stop supporting Internet Explorer', 'Stop supporting Internet Explorer'],
    ['choice', 'Enable strict mode by default', 'Enable strict mode by default'],
    ['breaking', 'feat(api)!: answers are lists', 'answers are lists'],
    ['breaking', 'fix: times are UTC\n\nBREAKING CHANGE: they were local', 'times are UTC'],
    ['design', 'refactor(cache): keep entries in one map', 'keep entries in one map'],
    ['design', 'perf: read files in a worker', 'read files in a worker'],
    ['design', 'ci: run tests on Node 26', 'run tests on Node 26'],
    ['design', 'build: publish both module formats', 'publish both module formats'],
    ['revert', 'Revert "Use Redis for sessions"', 'Revert "Use Redis for sessions"'],
    ['revert', 'revert: use Redis for sessions', 'use Redis for sessions'],
    ['revert', 'Partially revert #5644', 'Partially revert #5644'],
    ['choice', 'Merge pull request #12 from ann/sqlite\n\nSwitch to SQLite', 'Switch to SQLite'],
  ])('%s: %s', (kind, message, title) => {
    expect(of(message)).toMatchObject({ kind, title })
  })

  test('has its type, scope, pull request and body', () => {
    expect(of('Refactor(Store)!: rows are typed (#7)\r\n\r\nWhy: less to check.\r\n')).toEqual({
      kind: 'breaking',
      title: 'rows are typed',
      body: 'Why: less to check.',
      type: 'refactor',
      scope: 'store',
      pr: 7,
      reverts: null,
    })
  })

  test('names what it reverts only where its subject says that it reverts', () => {
    const line = 'This reverts commit 0123456789abcdef0123456789abcdef01234567.'
    expect(of(`Revert "Use Redis"\n\n${line}`)?.reverts).toBe('0123456789abcdef0123456789abcdef01234567')
    expect(of(`Use Redis instead of memory\n\n${line}`)).toMatchObject({ kind: 'choice', reverts: null })
    expect(of(`Revert "Use Redis"\n\nIt said: ${line}`)?.reverts).toBeNull()
  })

  test('changes what the project depends on, by manifest where the subject says nothing', () => {
    const change = (added: string[], removed: string[]) => ({ dependencies: { added, removed } })
    expect(of('wip', change(['zod'], []))).toMatchObject({ kind: 'dependency', title: 'Add zod' })
    expect(of('fix the build', change(['date-fns'], ['moment']))).toMatchObject({
      kind: 'dependency',
      title: 'Replace moment with date-fns',
    })
    expect(of('clean up', change([], ['a', 'b', 'c', 'd', 'e']))?.title).toBe('Remove a, b, c and 2 more')
    expect(of('Sum in the worker', change(['comlink'], []))?.title).toBe('Add comlink (Sum in the worker)')
    expect(of('clean up', change(['a', 'b', 'c', 'd'], ['e', 'f', 'g']))).toBeNull()
    expect(of('Validate input with zod', change(['zod'], []))?.title).toBe('Validate input with zod')
    expect(of('Validate input', change([], []))).toBeNull()
  })

  test('builds something in another way, and says why where it only adds, removes or updates', () => {
    expect(of('refactor: remove the adapter')).toBeNull()
    expect(
      of('refactor: remove the adapter\n\nThe service reads rows itself, so that a query is one call.')?.kind,
    ).toBe('design')
    expect(of('build: update to Angular 14.2.1')).toBeNull()
    expect(of('build: update to Angular 15')?.kind).toBe('design')
  })

  test('adds a decision record or changes stored data, by its files', () => {
    expect(of('Sessions are kept in Redis', { files: ['docs/adr/0007-sessions.md'] })?.kind).toBe('record')
    expect(of('Orders have a currency', { files: ['db/migrate/20260101_currency.rb'] })?.kind).toBe('migration')
    expect(of('fix typo', { files: ['db/migrate/20260101_currency.rb'] })).toBeNull()
    expect(of('Orders have a currency', { files: ['src/order.rb'] })).toBeNull()
  })
})

test.each([
  ['wip'],
  ['WIP: switch to SQLite'],
  ['fixup! Switch to SQLite'],
  ['fix: the button is blue again'],
  ['feat: add a dark theme'],
  ['docs: use curl instead of wget'],
  ['test: replace mocks with real servers'],
  ['chore: release 1.4.0'],
  ['build(deps): bump left-pad from 1.0.0 to 1.0.1'],
  ['Update dependencies'],
  ['refactor: rename variables'],
  ['refactor: remove dead code'],
  ['Drop unused imports'],
  ['ci: fix flaky job'],
  ['converters have access to session'],
  ['A page says so instead of loading for ever'],
  ["Merge branch 'main' into topic"],
  ['Merge next in master'],
  ['merge master -> gh-344'],
  ['ci: deflake integration tests'],
  ['Replace *shop* with Shop in docs'],
  ['Migrate some selection policy tests over to v2'],
  ['build: lock file maintenance'],
  ['Merge pull request #12 from ann/x\n\nfix typo'],
  ['move html escaping to dedicated section'],
  [''],
  ['\n\n'],
])('%j decides nothing', (message) => {
  expect(of(message)).toBeNull()
})

test('any message gets an answer whose title is text of the message', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (message) => {
      const found = of(message)
      expect(found === null || message.includes(found.title) || !message.isWellFormed()).toBe(true)
    }),
  )
})
