/** Shapes of secrets: each kind finds what is made up by its form, and leaves its neighbours alone; secretlint's rules are the judge. */

import { expect, test } from 'bun:test'
import { lintSource } from '@secretlint/core'
import { creator as recommended } from '@secretlint/secretlint-rule-preset-recommend'
import { certainShapes, inAddresses, likelyTokens, namedSecrets } from '../../src/core/secret-shapes.ts'
import { certainSecret, maskSecrets, redact } from '../../src/core/secrets.ts'
import * as fc from '../support/property.ts'
import { assignments, certainForms, likelyForms, secretOf } from '../support/secret-samples.ts'

/** What only looks like a certain secret. */
const harmless: Record<string, string[]> = {
  'private-key': ['-----BEGIN PUBLIC KEY-----\nabc\n-----END PUBLIC KEY-----', 'a PRIVATE KEY is needed'],
  'age-key': ['AGE-SECRET-KEY-1ABC'],
  'github-token': ['ghp_short', 'the ghp_ prefix', 'graph_node'],
  'gitlab-token': ['glpat-abc'],
  'slack-token': ['xoxo', 'xoxb-'],
  'slack-webhook': ['https://hooks.slack.com/services/'],
  'stripe-key': ['sk_live_key', 'is_live_now'],
  'google-api-key': ['AIza', `AIza${'a7'.repeat(20)}`],
  'npm-token': ['npm_config_cache'],
  'pypi-token': ['pypi-publish'],
  'huggingface-token': ['hf_hub', 'hf_transfer'],
  'telegram-token': ['12:AA', '10:30 AA'],
  'databricks-token': ['dapi', `dapi${'0f'.repeat(10)}`],
  'aws-access-key': ['AKIA', 'ASIAN MARKETS', 'AKIAIOSFODNN7EXAMPLE'],
  'openshift-token': [`sha256:${'0f'.repeat(32)}`],
  git: ['0f'.repeat(20), `commit ${'a1b2c3d4'.repeat(5)}`, 'https://github.com/acme/shop/pull/1234567890'],
}
const drawn = (forms: readonly string[]) => fc.oneof(...forms.map(secretOf))

test('every certain kind has a form', () => {
  expect(Object.keys(certainForms).sort()).toEqual([...new Set(certainShapes.map(({ kind }) => kind))].sort())
})

test.each(Object.entries(certainForms))(
  '%s is found anywhere in a text, and masked down to four characters',
  (kind, forms) => {
    for (const form of forms)
      fc.assert(
        fc.property(secretOf(form), fc.constantFrom('Use ', 'a="', '鍵', "(key='", 'x:'), (secret, before) => {
          const text = `${before}${secret} for the job`
          expect([text, certainSecret({ a: [text] })]).toMatchObject([text, { path: 'a.0' }])
          const masked = maskSecrets(text)
          expect([text, masked]).toEqual([text, expect.not.stringContaining(secret.slice(-16))])
          if (kind !== 'private-key') expect([text, masked]).toEqual([text, expect.stringMatching(/\[[\w-]+ ….{4}\]/)])
        }),
        { numRuns: 10 },
      )
  },
)

test.each(likelyForms)('%s is masked, and refuses no record', (form) => {
  fc.assert(
    fc.property(secretOf(form), (secret) => {
      expect(maskSecrets(`Use ${secret} here`)).not.toContain(secret.slice(-16))
      expect(certainSecret(`Use ${secret} here`)).toBeNull()
    }),
    { numRuns: 10 },
  )
})

test.each(assignments)('a value is a secret by its name: %s', (form) => {
  fc.assert(
    fc.property(fc.constantFrom('adafruit', 'acme', 'shop'), secretOf('<n32>'), (name, secret) => {
      const text = form
        .replaceAll('{i}', name)
        .replaceAll('{I}', name.toUpperCase())
        .replaceAll('{s}', () => secret)
      expect([text, maskSecrets(text)]).toEqual([text, expect.not.stringContaining(secret.slice(0, -4))])
    }),
    { numRuns: 10 },
  )
})

test('names without a value, and names of variables, stay', () => {
  for (const text of [
    'export TOKEN=$TOKEN',
    'a token, a secret and a key',
    'password: "$DB_PASSWORD"',
    'tokens: 12000',
  ])
    expect(maskSecrets(text)).toBe(text)
})

test('nothing that is as short as the name of a member is a secret', () => {
  const rows = [...certainShapes, ...likelyTokens, ...inAddresses, ...namedSecrets]
  const letters = fc.string({ unit: fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz_'), maxLength: 19 })
  fc.assert(
    fc.property(letters, (rest) => {
      for (const { hint, shape, accepts } of rows) {
        const text = `${hint}${rest}`.slice(0, 19)
        if (/^[a-z_]*$/.test(text)) expect((text.match(shape) ?? []).filter(accepts)).toEqual([])
      }
    }),
  )
})

test('what only looks like a certain secret is none', () => {
  for (const text of Object.values(harmless).flat()) expect([text, certainSecret(text)]).toEqual([text, null])
})

test('what the rules of secretlint find is found here too', async () => {
  const forms = [
    ...Object.values(certainForms).flat(),
    ...likelyForms,
    'mysql://u:<n12>@db.example/x',
    'https://<n20>:x-oauth-basic@github.com/',
  ]
  const config = { rules: [{ id: recommended.meta.id, rule: recommended }] }
  const found = new Set<string>()
  const oracle = fc.asyncProperty(fc.tuple(...forms.map(secretOf)), async (secrets) => {
    const content = secrets.map((secret) => `Use ${secret} for the job\n`).join('')
    const { messages } = await lintSource({
      source: { content, filePath: 'a.md', ext: '.md', contentType: 'text' },
      options: { config },
    })
    const masked = maskSecrets(content)
    for (const { ruleId, range } of messages) {
      found.add(ruleId)
      expect([ruleId, masked]).toEqual([ruleId, expect.not.stringContaining(content.slice(...range))])
    }
  })
  await fc.assert(oracle, { numRuns: 3 })
  expect([...found].length).toBeGreaterThan(20)
})

test('an example of the documentation is masked, and refuses no record', () => {
  expect(maskSecrets('AKIAIOSFODNN7EXAMPLE')).toBe('[aws-access-key …MPLE]')
  expect(certainSecret('AKIAIOSFODNN7EXAMPLE')).toBeNull()
})

test('a short value is masked whole', () => {
  expect(maskSecrets('password = hunter22')).toBe('password = [secret]')
})

test('what is masked stays as it is', () => {
  const text = fc
    .array(
      fc.oneof(
        drawn(Object.values(certainForms).flat()),
        fc.string(),
        fc.constantFrom(' ', 'token=', 'Bearer ', '://u:'),
      ),
    )
    .map((parts) => parts.join(''))
  fc.assert(
    fc.property(text, (given) => {
      const { value } = redact(given)
      expect(redact(value).value).toBe(value)
      expect(certainSecret(value)).toBeNull()
    }),
    { numRuns: 500 },
  )
})
