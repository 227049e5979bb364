/** Credentials: how they are read, what they allow, and that nothing of a token gets out. */
import { describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { clientAddress, createAuthenticator, parseTokens } from '../../src/core/caller.ts'

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const secret = 's3cret'

const login = (
  tokens: Parameters<typeof parseTokens>[0],
  admins: string[] | null = null,
  evidence: string[] | null = null,
) => createAuthenticator({ credentials: parseTokens(tokens), admins, evidence })

describe('entries', () => {
  test('are agent:token pairs, separated by commas; the first colon splits', () => {
    const authenticate = login(' alice:one , bob:t:w:o,my agent:x')
    expect(authenticate('Bearer alice:one')?.agent).toBe('alice')
    expect(authenticate('Bearer bob:t:w:o')?.agent).toBe('bob')
    expect(authenticate('Bearer my agent:x')?.agent).toBe('my agent')
    expect(authenticate('Bearer bob:t')).toBeNull()
  })

  test.each([
    ['', 'entry 1: the agent is empty'],
    [secret, 'entry 1: the agent is empty'],
    [`a:x,:${secret}`, 'entry 2: the agent is empty'],
    [`a:x, ,b:${secret}`, 'entry 2: the agent is empty'],
    [`a:${secret},`, 'entry 2: the agent is empty'],
    ['a:x,b:', 'entry 2: the token is empty'],
    ['a:  ', 'entry 1: the token is empty'],
    [`a:x,b:y,a:${secret}`, 'entry 3: the agent a is listed twice'],
    [`a\u0007:${secret}`, 'entry 1: the agent holds a colon or a control character'],
  ])('%j names the position and never a token', (given, message) => {
    expect(() => parseTokens(given)).toThrow(message)
    expect(() => parseTokens(given)).not.toThrow(secret)
  })

  test('of the YAML form may hold a hash in place of the token', () => {
    const authenticate = login([{ agent: 'alice', token_sha256: sha256(secret) }])
    expect(authenticate(`Bearer alice:${secret}`)?.agent).toBe('alice')
    expect(authenticate(`Bearer alice:${sha256(secret)}`)).toBeNull()
  })

  test.each([
    [{ agent: '', token: secret }, 'the agent is empty'],
    [{ agent: 'a:b', token: secret }, 'the agent holds a colon'],
    [{ agent: 'a' }, 'the token is empty'],
    [{ agent: 'a', token: secret, token_sha256: sha256(secret) }, 'both token and token_sha256 are given'],
    [{ agent: 'a', token_sha256: secret }, 'expected 64 lower-case hexadecimal digits'],
    [{ agent: 'a', token_sha256: sha256(secret).toUpperCase() }, 'expected 64 lower-case hexadecimal digits'],
  ])('of the YAML form: %j', (entry, message) => {
    expect(() => parseTokens([{ agent: 'ok', token: 'x' }, entry])).toThrow(`entry 2: `)
    expect(() => parseTokens([{ agent: 'ok', token: 'x' }, entry])).toThrow(message)
    expect(() => parseTokens([{ agent: 'ok', token: 'x' }, entry])).not.toThrow(secret)
  })

  test('hold no token, only its hash', () => {
    const [credential] = parseTokens(`alice:${secret}`)
    expect(JSON.stringify(credential)).not.toContain(secret)
    expect(credential!.hash.toString('hex')).toBe(sha256(secret))
  })
})

describe('scopes', () => {
  const scopesOf = (authenticate: ReturnType<typeof login>, header: string) => [...authenticate(header)!.scopes].sort()

  test('by default are read and write, and all for the first agent', () => {
    const authenticate = login('alice:1,bob:2')
    expect(scopesOf(authenticate, 'Bearer alice:1')).toEqual(['admin', 'evidence', 'read', 'write'])
    expect(scopesOf(authenticate, 'Bearer bob:2')).toEqual(['read', 'write'])
  })

  test('admin and evidence go to the agents that are named, and then to no other', () => {
    const authenticate = login('alice:1,bob:2,eve:3', ['bob'], ['eve', 'bob'])
    expect(scopesOf(authenticate, 'Bearer alice:1')).toEqual(['read', 'write'])
    expect(scopesOf(authenticate, 'Bearer bob:2')).toEqual(['admin', 'evidence', 'read', 'write'])
    expect(scopesOf(authenticate, 'Bearer eve:3')).toEqual(['evidence', 'read', 'write'])
    expect(scopesOf(login('alice:1', [], []), 'Bearer alice:1')).toEqual(['read', 'write'])
  })

  test('of the YAML form are those that stand there, all where none stand', () => {
    const entries = [
      { agent: 'alice', token: '1', scopes: ['read' as const] },
      { agent: 'bob', token: '2' },
      { agent: 'eve', token: '3', scopes: [] },
    ]
    const authenticate = login(entries, ['alice'], ['alice'])
    expect(scopesOf(authenticate, 'Bearer alice:1')).toEqual(['read'])
    expect(scopesOf(authenticate, 'Bearer bob:2')).toEqual(['admin', 'evidence', 'read', 'write'])
    expect(scopesOf(authenticate, 'Bearer eve:3')).toEqual([])
  })
})

describe('headers', () => {
  const authenticate = login('alice:one,bob:two')
  test.each(['Bearer alice:one', 'bearer alice:one', 'BEARER   alice:one'])('%j is accepted', (header) => {
    expect(authenticate(header)?.agent).toBe('alice')
  })
  test.each([
    ...[null, '', 'Bearer', 'Bearer ', 'Bearer alice', 'Bearer alice:', 'Bearer :one', 'Bearer alice:two'],
    ...['Bearer bob:one', 'Bearer alice:one ', 'Bearer Alice:one', 'Bearer alice :one', 'Basic alice:one', 'alice:one'],
    ...['Bearer alice:onex', 'Bearer alice:on', 'XBearer alice:one', 'Bearer\talice:one'],
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
    const many = login(Array.from({ length: 20_000 }, (_, index) => `agent${index}:token${index}`).join(','))
    const timeOf = (header: string) => {
      const times = Array.from({ length: 15 }, () => {
        const start = performance.now()
        many(header)
        return performance.now() - start
      })
      return times.sort((a, b) => a - b)[7]!
    }
    for (const header of ['Bearer agent0:token0', 'Bearer agent19999:token19999']) many(header)
    const [first, last, none] = ['agent0:token0', 'agent19999:token19999', 'agent0:wrong'].map((pair) =>
      timeOf(`Bearer ${pair}`),
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
