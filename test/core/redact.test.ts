/** Copies for the audit trail: secrets are hidden, everything else stands as it was. */

import { describe, expect, test } from 'bun:test'
import { redact } from '../../src/core/secrets.ts'
import { cpuClock } from '../support/cpu.ts'
import * as fc from '../support/property.ts'

const hidden = '[redacted]'

describe('hidden', () => {
  test.each([
    'Log in with ghp_0123456789abcdefghijABCDEFGHIJ456789',
    'key AKIAIOSFODNN7EXAMPLE is old',
    'Authorization: Bearer abcdef0123456789',
    'connect to postgres://app:hunter22@db.internal/orders',
    'password = "correct horse"',
    'api_key: 0123456789abcdef',
    `stripe ${['sk', 'live', '0123456789abcdefABCD'].join('_')}`,
    'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJl',
    '-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END OPENSSH PRIVATE KEY-----',
    'xoxb-1234567890-abcdef',
  ])('in %j', (text) => {
    const { value, redacted } = redact({ description: text })
    expect(redacted).toBe(true)
    const shown = (value as { description: string }).description
    expect(shown).toMatch(/\[[a-z-]+(?: ….{4})?\]/)
    for (const secret of [
      '0123456789abcdefg',
      '0123456789abcde',
      'AKIAIOSFODNN7',
      'hunter22',
      'correct',
      'b3BlbnNz',
      'c2lnbmF0',
    ])
      expect(shown).not.toContain(secret)
  })

  test('by name, at any depth and with any content', () => {
    const { value, redacted } = redact({
      apiKey: 'a',
      db_password: 5,
      credentials: { user: 'u', list: ['x', { y: 'z' }] },
      accessToken: null,
      has_token: true,
      keep: { tokens: 12, passage: 'text', author: 'ada' },
    })
    expect(redacted).toBe(true)
    expect(value).toEqual({
      apiKey: hidden,
      db_password: hidden,
      credentials: { user: hidden, list: [hidden, { y: hidden }] },
      accessToken: null,
      has_token: true,
      keep: { tokens: 12, passage: 'text', author: 'ada' },
    })
  })

  test('in keys', () => {
    const { value, redacted } = redact({ ghp_0123456789abcdefghijABCDEFGHIJ456789: 1 })
    expect(JSON.stringify(value)).not.toContain('0123456789abcdef')
    expect(redacted).toBe(true)
  })
})

test('what holds no secret stays as it is', () => {
  const word = fc.constantFrom(
    'deploy',
    'the',
    'amount',
    'of',
    '5000',
    'Zürich',
    'path/to/file.ts',
    'a=b',
    'https://acme.example/x',
  )
  const plain = fc.object({ key: word, values: [word, fc.integer(), fc.boolean(), fc.constant(null)], maxDepth: 3 })
  fc.assert(
    fc.property(plain, (given) => {
      expect(redact(given)).toEqual({ value: given, redacted: false })
    }),
  )
})

test('crafted texts of the largest size take no time', () => {
  for (const part of [
    'eyJ-',
    'eyJaaaaaaaaa.',
    '-----BEGIN ',
    '-----BEGIN A PRIVATE KEY',
    'Bearer ',
    'sk-',
    '://a:',
    'password=',
    'password:   ',
    'secret',
    'curl ',
    'curl -u a:',
    '--a-token ',
    '--',
    'Authorization: ',
    'Authorization',
    'secret := string = ',
    'token\\\\',
    'https://a',
    'pat.a',
    'ops_eyJ',
    'x,"',
  ]) {
    const used_ms = cpuClock()
    redact({ text: part.repeat(Math.floor(65_536 / part.length)) })
    expect([part, used_ms() < 300]).toEqual([part, true])
  }
})
