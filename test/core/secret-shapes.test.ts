/** Shapes of secrets: each kind has samples that it finds and neighbours that it leaves alone. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { redact } from '../../src/core/redact.ts'
import { certainSecret, maskSecrets, secretShapes } from '../../src/core/secrets.ts'

/** Characters as random as those of a key; put together here, so that no scanner takes a sample for a secret. */
const some = (length: number, alphabet = 'aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0z') =>
  Array.from({ length }, (_, at) => alphabet[(at * 7 + length) % alphabet.length]).join('')
const hex = (length: number) => some(length, '0123456789abcdef')
const upper = (length: number) => some(length, 'ABCDEFGHJKLMNPQR23456789')
const letters = (length: number) => some(length, 'abcdefghijklmnoPQRSTUVWXYZ')

/** By kind: what is certainly one, and what only looks like it. */
const samples: Record<string, { certain: string[]; harmless: string[] }> = {
  'private-key': {
    certain: [
      `-----BEGIN RSA PRIVATE KEY-----\n${some(64)}\n-----END RSA PRIVATE KEY-----`,
      `-----BEGIN PRIVATE KEY-----\n${some(20)}`,
    ],
    harmless: ['-----BEGIN PUBLIC KEY-----\nabc\n-----END PUBLIC KEY-----', 'a PRIVATE KEY is needed'],
  },
  'age-key': { certain: [`AGE-SECRET-KEY-1${upper(58)}`], harmless: ['AGE-SECRET-KEY-1ABC'] },
  'github-token': {
    certain: [`ghp_${some(36)}`, `ghs_${some(36)}`, `github_pat_${some(82)}`],
    harmless: ['ghp_short', 'the ghp_ prefix', 'graph_node'],
  },
  'gitlab-token': { certain: [`glpat-${some(20)}`], harmless: ['glpat-abc'] },
  'slack-token': { certain: [`xoxb-${some(12)}-${some(24)}`], harmless: ['xoxo', 'xoxb-'] },
  'slack-webhook': {
    certain: [`https://hooks.slack.com/services/T${upper(8)}/B${upper(8)}/${some(24)}`],
    harmless: ['https://hooks.slack.com/services/'],
  },
  'stripe-key': { certain: [`sk_live_${some(24)}`, `rk_live_${some(24)}`], harmless: ['sk_live_key', 'is_live_now'] },
  'anthropic-key': { certain: [`sk-ant-api03-${some(80)}`], harmless: ['sk-ant-api03'] },
  'openai-key': { certain: [`sk-proj-${some(48)}`], harmless: ['sk-proj-x'] },
  'google-api-key': { certain: [`AIza${some(35)}`], harmless: ['AIza', `AIza${some(40)}`] },
  'npm-token': { certain: [`npm_${some(36)}`], harmless: ['npm_config_registry'] },
  'pypi-token': { certain: [`pypi-AgE${some(60)}`], harmless: ['pypi-publish'] },
  'huggingface-token': { certain: [`hf_${letters(34)}`], harmless: ['hf_hub', 'hf_transfer'] },
  'sendgrid-key': { certain: [`SG.${some(22)}.${some(43)}`], harmless: ['SG.a.b'] },
  'digitalocean-token': { certain: [`dop_v1_${hex(64)}`], harmless: ['dop_v1_x'] },
  'shopify-token': { certain: [`shpat_${hex(32)}`], harmless: ['shpat_x'] },
  'telegram-token': { certain: [`123456789:AA${some(33)}`], harmless: ['12:AA', '10:30 AA'] },
  'azure-storage-key': { certain: [`AccountKey=${some(86)}==`], harmless: ['AccountKey=x'] },
  'vault-token': { certain: [`hvs.${some(30)}`], harmless: ['hvs.x'] },
  'databricks-token': { certain: [`dapi${hex(32)}`], harmless: ['dapi', `dapi${hex(20)}`] },
  'linear-key': { certain: [`lin_api_${some(40)}`], harmless: ['lin_api_x'] },
  'postman-key': { certain: [`PMAK-${hex(24)}-${hex(34)}`], harmless: ['PMAK-x'] },
  'aws-access-key': { certain: [`AKIA${upper(16)}`, `ASIA${upper(16)}`], harmless: ['AKIA', 'ASIAN MARKETS'] },
}
const certainKinds = [...new Set(secretShapes.filter(({ certain }) => certain).map(({ kind }) => kind))]

test('every certain kind has samples', () => {
  expect(Object.keys(samples).sort()).toEqual(certainKinds.sort())
})

describe.each(Object.entries(samples))('%s', (kind, { certain, harmless }) => {
  test('is found anywhere in a text, and masked down to its kind and four characters', () => {
    for (const secret of certain) {
      const text = `Use ${secret} for the job`
      const value = secret.slice(-4)
      expect([text, certainSecret({ a: [text] })]).toEqual([
        text,
        { path: 'a.0', shown: expect.stringContaining(`[${kind}`) },
      ])
      const masked = maskSecrets(text)
      expect(masked).not.toContain(secret.slice(-20))
      if (kind !== 'private-key') expect(masked).toContain(`[${kind} …${value}]`)
    }
  })

  test('what only looks like it is no certain secret', () => {
    for (const text of harmless) expect([text, certainSecret(text)]).toEqual([text, null])
  })
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
        fc.constantFrom(...Object.values(samples).flatMap(({ certain }) => certain)),
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
