/** Credentials: how they are read, what they allow, and that nothing of a token gets out. */
import { describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import {
  agentsOf,
  clientAddress,
  createAuthenticator,
  type Grants,
  parseTokens,
  type Scope,
} from '../../src/core/caller.ts'

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const secret = 's3cret-s3cret-s3cret'
/** A token as long as one has to be. */
const long = (text: string) => text.padEnd(16, '-')

const login = (tokens: Parameters<typeof parseTokens>[0], grants: Grants = {}) =>
  createAuthenticator(() => agentsOf(parseTokens(tokens), grants))

describe('entries', () => {
  test('are agent:token pairs, separated by commas; the first colon splits', () => {
    const authenticate = login(` alice:${long('one')} , bob:${long('t:w:o')},my agent:${long('x')}`)
    expect(authenticate(`Bearer alice:${long('one')}`)?.agent).toBe('alice')
    expect(authenticate(`Bearer bob:${long('t:w:o')}`)?.agent).toBe('bob')
    expect(authenticate(`Bearer my agent:${long('x')}`)?.agent).toBe('my agent')
    expect(authenticate('Bearer bob:t')).toBeNull()
  })

  test.each([
    ['', 'entry 1: the agent is empty'],
    [secret, 'entry 1: the agent is empty'],
    [`a:${long('x')},:${secret}`, 'entry 2: the agent is empty'],
    [`a:${long('x')}, ,b:${secret}`, 'entry 2: the agent is empty'],
    [`a:${secret},`, 'entry 2: the agent is empty'],
    [`a:${long('x')},b:`, 'entry 2: the token is empty'],
    ['a:  ', 'entry 1: the token is empty'],
    [`a:${long('x')},b:${long('y')},a:${secret}`, 'entry 3: the agent a is listed twice'],
    [`a:${long('x')},b:s3cret`, 'entry 2: the token of b has fewer than 16 characters'],
    [`a\u0007:${secret}`, 'entry 1: the agent contains a colon or a control character'],
  ])('%j names the position and never a token', (given, message) => {
    expect(() => parseTokens(given)).toThrow(message)
    expect(() => parseTokens(given)).not.toThrow('s3cret')
  })

  test('of the YAML form may hold a hash in place of the token', () => {
    const authenticate = login([{ agent: 'alice', token_sha256: sha256(secret) }])
    expect(authenticate(`Bearer alice:${secret}`)?.agent).toBe('alice')
    expect(authenticate(`Bearer alice:${sha256(secret)}`)).toBeNull()
  })

  test.each([
    [{ agent: '', token: secret }, 'the agent is empty'],
    [{ agent: 'a:b', token: secret }, 'the agent contains a colon'],
    [{ agent: 'a' }, 'the token is empty'],
    [{ agent: 'a', token: secret, token_sha256: sha256(secret) }, 'both token and token_sha256 are given'],
    [{ agent: 'a', token_sha256: secret }, 'expected 64 lower-case hexadecimal digits'],
    [{ agent: 'a', token_sha256: sha256(secret).toUpperCase() }, 'expected 64 lower-case hexadecimal digits'],
  ])('of the YAML form: %j', (entry, message) => {
    expect(() => parseTokens([{ agent: 'ok', token: long('x') }, entry])).toThrow(`entry 2: `)
    expect(() => parseTokens([{ agent: 'ok', token: long('x') }, entry])).toThrow(message)
    expect(() => parseTokens([{ agent: 'ok', token: long('x') }, entry])).not.toThrow(secret)
  })

  test('hold no token, only its hash', () => {
    const [credential] = parseTokens(`alice:${secret}`)
    expect(JSON.stringify(credential)).not.toContain(secret)
    expect(credential!.hash.toString('hex')).toBe(sha256(secret))
  })
})

describe('scopes', () => {
  const scopesOf = (authenticate: ReturnType<typeof login>, header: string) => [...authenticate(header)!.scopes].sort()

  test('are read and write for a token that names none, in any order and form', () => {
    for (const tokens of [
      `alice:${secret},bob:${secret}`,
      [
        { agent: 'alice', token: secret },
        { agent: 'bob', token: secret },
      ],
    ])
      for (const agent of ['alice', 'bob'])
        expect(scopesOf(login(tokens), `Bearer ${agent}:${secret}`)).toEqual(['read', 'write'])
  })

  test('of a role replace read and write, or are added to those that the token names', () => {
    const tokens: Exclude<Parameters<typeof parseTokens>[0], string> = [
      { agent: 'ann', token: secret, role: 'lead' },
      { agent: 'bea', token: secret, role: 'lead', scopes: ['audit'] },
      { agent: 'cyd', token: secret },
      { agent: 'dan', token: secret },
      { agent: 'eve', token: secret, scopes: ['read'] },
    ]
    const authenticate = login(tokens, { lead: ['cyd'], auditor: ['dan', 'eve'] })
    const lead: Scope[] = ['approve', 'curate', 'read']
    expect(tokens.map(({ agent }) => scopesOf(authenticate, `Bearer ${agent}:${secret}`))).toEqual([
      lead,
      ['approve', 'audit', 'curate', 'read'],
      lead,
      ['audit'],
      ['audit', 'read'],
    ])
  })

  test('go to the agents that are named, beside those of the token, and to no other', () => {
    const entries = [
      { agent: 'alice', token: secret, scopes: ['read' as const] },
      { agent: 'bob', token: secret },
      { agent: 'eve', token: secret, scopes: [] },
    ]
    const authenticate = login(entries, { admin: ['bob'], evidence: ['bob'], curate: [], approve: ['alice'] })
    expect(scopesOf(authenticate, `Bearer alice:${secret}`)).toEqual(['approve', 'read'])
    expect(scopesOf(authenticate, `Bearer bob:${secret}`)).toEqual(['admin', 'evidence', 'read', 'write'])
    expect(scopesOf(authenticate, `Bearer eve:${secret}`)).toEqual([])
  })
})

describe('headers', () => {
  const authenticate = login('alice:one-one-one-one-one,bob:two-two-two-two-two')
  test.each([
    'Bearer alice:one-one-one-one-one',
    'bearer alice:one-one-one-one-one',
    'BEARER   alice:one-one-one-one-one',
  ])('%j is accepted', (header) => {
    expect(authenticate(header)?.agent).toBe('alice')
  })
  test('that were right are known again, and none that only begins with the same hash', () => {
    const token = 'token-of-alice-0001'
    const remembering = login(`alice:${token},bob:two-two-two-two-two`)
    // The hashes of both begin with the same four bytes.
    const [right, wrong] = [`BeArER    alice:${token}`, 'Bearer alice:9259491']
    expect([right, wrong].map((header) => sha256(header).slice(0, 8))).toEqual(['9392cccc', '9392cccc'])
    for (let time = 0; time < 2; time++) {
      expect(remembering(right)?.agent).toBe('alice')
      expect(remembering(wrong)).toBeNull()
      expect(remembering('Bearer bob:two-two-two-two-two')?.agent).toBe('bob')
    }
    // More spellings than are remembered.
    for (let spaces = 1; spaces < 2_500; spaces++)
      expect(remembering(`Bearer${' '.repeat(spaces)}alice:${token}`)?.agent).toBe('alice')
    expect(remembering(right)?.agent).toBe('alice')
  })
  test.each([
    ...[
      null,
      '',
      'Bearer',
      'Bearer ',
      'Bearer alice',
      'Bearer alice:',
      'Bearer :one-one-one-one-one',
      'Bearer alice:two-two-two-two-two',
    ],
    ...[
      'Bearer bob:one-one-one-one-one',
      'Bearer alice:one-one-one-one-one ',
      'Bearer Alice:one-one-one-one-one',
      'Bearer alice :one-one-one-one-one',
      'Basic alice:one-one-one-one-one',
      'alice:one-one-one-one-one',
    ],
    ...[
      'Bearer alice:one-one-one-one-onex',
      'Bearer alice:one-one-one-one-on',
      'XBearer alice:one-one-one-one-one',
      'Bearer\talice:one-one-one-one-one',
    ],
  ])('%j is not', (header) => {
    expect(authenticate(header)).toBeNull()
  })

  test('a long one is refused', () => {
    for (const header of [
      `Bearer ${' '.repeat(100_000)}`,
      `Bearer ${'a'.repeat(100_000)}`,
      `Bearer ${':'.repeat(100_000)}`,
    ])
      expect(authenticate(header)).toBeNull()
  })

  test('every entry is compared, whichever matches', () => {
    const many = login(Array.from({ length: 20_000 }, (_, index) => `agent${index}:token-of-agent-${index}`).join(','))
    const timeOf = (header: string) => {
      const times = Array.from({ length: 15 }, () => {
        const start = performance.now()
        many(header)
        return performance.now() - start
      })
      return times.sort((a, b) => a - b)[7]!
    }
    for (const header of ['Bearer agent0:token-of-agent-0', 'Bearer agent19999:token-of-agent-19999']) many(header)
    const [first, last, none] = ['agent0:token-of-agent-0', 'agent19999:token-of-agent-19999', 'agent0:wrong'].map(
      (pair) => timeOf(`Bearer ${pair}`),
    )
    // Leaving off at the first match would be thousands of times faster.
    expect(first!).toBeGreaterThan(last! / 4)
    expect(none!).toBeGreaterThan(last! / 4)
  })
})

describe('the address that failed logins are counted for', () => {
  test.each([
    ['10.0.0.1', null, 0, '10.0.0.1'],
    ['10.0.0.1', '1.1.1.1', 0, '10.0.0.1'],
    ['10.0.0.1', null, 1, '10.0.0.1'],
    ['10.0.0.1', '1.1.1.1', 1, '1.1.1.1'],
    ['10.0.0.1', 'spoofed, 1.1.1.1', 1, '1.1.1.1'],
    ['10.0.0.1', 'spoofed, 1.1.1.1, 10.0.0.2', 2, '1.1.1.1'],
    ['10.0.0.1', '1.1.1.1', 3, '1.1.1.1'],
    ['10.0.0.1', 'spoofed,  ', 1, '10.0.0.1'],
  ])('connection %s, forwarded %j, %d hops: %s', (connection, forwarded, hops, expected) => {
    expect(clientAddress(connection, forwarded, hops)).toBe(expected)
  })
})
