/** Settings may hold passwords, keys and tokens: none of them is in a message, on the screen or in the log, however it was mistyped. */

import { expect, setDefaultTimeout, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ConfigError, loadSettings, type SettingName, settings, shownValue } from '../../src/app/config/config.ts'
import { readKey } from '../../src/core/key-file.ts'
import { withoutSecrets } from '../../src/core/secrets.ts'
import { bareEnv, cstp, freePort, testDir } from '../support/process.ts'
import * as fc from '../support/property.ts'

setDefaultTimeout(120_000)

const planted = 'hunter2'
const odd = fc.string({ unit: fc.constantFrom(...` :/@?#&=%;'"\\,[]{}aZ9-._~é\n\t`), maxLength: 6 })
const secret = fc.tuple(odd, odd).map(([before, after]) => before + planted + after)
const one = <T>(...values: T[]) => fc.constantFrom(...values)
const name = one(
  'password',
  'sslpassword',
  'PASSWORD',
  'p%61ssword',
  'access_token',
  'sig',
  'X-Amz-Signature',
  'key',
  'a',
)
const scheme = one(
  'postgres://',
  'postgresql://',
  'https://',
  's3://',
  'postgres:/',
  'postgres:',
  'ftp://',
  'https:/',
  '',
)
const before = one('', '?schema=public&', '?sslmode=require&x=1;', '?')

/** Addresses and connection strings, right and mistyped, with something in them that nobody may see. */
const holding = fc.oneof(
  fc
    .tuple(scheme, one('u', ''), secret, one('h/db', 'h:5432/db?schema=x', '[::1', ''))
    .map(([start, user, word, rest]) => `${start}${user}:${word}@${rest}`),
  fc.tuple(scheme, secret, one('h/db', '')).map(([start, word, rest]) => `${start || 'x://'}${word}:p@${rest}`),
  fc
    .tuple(scheme, before, name, secret)
    .map(([start, first, key, word]) => `${start}h:5432/db${first || '?'}${key}=${word}`),
  fc.tuple(scheme, secret).map(([start, word]) => `${start || 'https://'}h/db#${word}`),
  fc
    .tuple(one('password', 'sslpassword', 'passphrase'), one('=', ' = '), secret)
    .map(([key, equals, word]) => `host=h ${key}${equals}'${word.replace(/['\\]/g, '\\$&')}' user=u`),
)

const addressed: SettingName[] = [
  ...(['store_url', 'provenance_db', 'embedding_url', 'public_url', 'webhook_url'] as const),
  ...(['data_dir', 'port', 'log_level', 'embedder'] as const),
]

interface Given {
  env?: Record<string, string>
  flags?: Record<string, string>
  yaml?: string
}

/** Everything that is shown of settings, or of what is wrong with them. */
async function shownOf(given: Given): Promise<string> {
  const { env = {}, flags = {}, yaml } = given
  const file: Record<string, string> = yaml === undefined ? {} : { CSTP_CONFIG: '/etc/cstp.yaml' }
  try {
    const found = await loadSettings({ env: { ...env, ...file }, flags, readFile: async () => yaml ?? '' })
    return (Object.keys(settings) as SettingName[])
      .map((key) => `${key}: ${shownValue(key, found.settings[key])}`)
      .join('\n')
  } catch (error) {
    if (error instanceof ConfigError) return error.message
    throw error
  }
}

test('no message about a setting and no shown value holds what is secret in an address', async () => {
  await fc.assert(
    fc.asyncProperty(holding, one(...addressed), one('env', 'flag', 'yaml', 'list'), async (text, key, source) => {
      const { env, flag, yaml } = settings[key]
      const tree = yaml.split('.').reduceRight<unknown>((inner, step) => ({ [step]: inner }), text)
      const list = `[{ a: ${JSON.stringify(text)} }]`
      const given: Record<typeof source, Given> = {
        env: { env: { [env]: text } },
        flag: { flags: { [flag]: text } },
        yaml: { yaml: JSON.stringify(tree) },
        list: { yaml: JSON.stringify(tree).replace(JSON.stringify(text), () => list) },
      }
      expect(await shownOf(given[source])).not.toContain(planted)
    }),
    { numRuns: 2_000 },
  )
})

test('a key where the path of its file belongs is refused, and not shown', async () => {
  const key = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const secret = key.split('\n')[1]!
  const shown = await shownOf({ env: { CSTP_EVIDENCE_KEY: key } })
  expect(shown).toContain('CSTP_EVIDENCE_KEY')
  expect(shown).toContain('expected the path of a file, not its content')
  expect(shown).not.toContain(secret)
  const read = readKey(`/etc/${key}`, '--witness-key')
  await expect(read).rejects.toThrow('--witness-key: expected the path of a file, received a key; it is not shown')
})

test('no message about a file of settings quotes what it holds', async () => {
  const mark = one(
    '*',
    '|',
    '>',
    '!',
    '!e!',
    '!<',
    '@',
    '`',
    '"',
    "'",
    '{',
    '[',
    '%',
    '? ',
    '- ',
    '& ',
    '&a *',
    ': ',
    ', ',
  )
  const value = fc
    .tuple(fc.array(mark, { maxLength: 3 }), fc.array(mark, { maxLength: 2 }))
    .map(([first, last]) => `${first.join('')}${planted}${last.join('')}`)
  await fc.assert(
    fc.asyncProperty(
      value,
      one('embedder:\n  api_key: ', 'auth: { tokens: ', 'github:\n  webhook_secret: '),
      async (text, place) => {
        expect(await shownOf({ yaml: `${place}${text}\n` })).not.toContain(planted)
      },
    ),
    { numRuns: 2_000 },
  )
})

test('what is harmless stays readable', () => {
  for (const [text, shown] of [
    [
      'postgres://u:p@db.example:5432/cstp?schema=a&connections=5',
      'postgres://****@db.example:5432/cstp?schema=a&connections=5',
    ],
    ['postgres://db/cstp?sslmode=require&password=x', 'postgres://db/cstp?sslmode=require&password=****'],
    ['https://a.example/v1?api-version=1&token=x', 'https://a.example/v1?****&token=****'],
    ['host=db password=x user=u', 'host=db password=**** user=u'],
    ['/srv/@team/rules', '/srv/@team/rules'],
    ['s3://bucket/prefix', 's3://bucket/prefix'],
    ['/srv/c#/rules', '/srv/c#/rules'],
    ['https://a.example', 'https://a.example'],
  ])
    expect(withoutSecrets(text!)).toBe(shown!)
})

test('no command shows the secrets of its settings, whatever fails', async () => {
  const dir = await testDir()
  const port = await freePort()
  const address = `postgres://u:${planted}@127.0.0.1:${port}/db?sslpassword=${planted}&options=${planted}&connections=2`
  const secrets = {
    CSTP_AUTH_TOKENS: `a:${planted}-0123456789abcdef`,
    CSTP_EMBEDDING_API_KEY: planted,
  }
  const server = { ...secrets, CSTP_STORE_URL: address }
  const file = join(dir, 'cstp.yaml')
  await writeFile(file, `store: { url: '${address}' }\nauth: { tokens: *${planted} }\n`)
  const runs: [string[], Record<string, string>][] = [
    [['config'], server],
    [['config', '--json'], { ...secrets, PROVENANCE_DB: address }],
    [['config', '--config', file], {}],
    [['doctor'], server],
    [['doctor', '--json'], { ...secrets, PROVENANCE_DB: address }],
    [['serve', '--port', '0'], server],
    [['serve', '--port', '0', '--log-level', 'debug'], server],
    [['serve', '--port', '0'], { ...secrets, CSTP_EMBEDDER: 'openai', CSTP_EMBEDDING_URL: `ftp://u:${planted}@h` }],
    [['migrate', '--from', dir, '--to', address], {}],
    [['migrate', '--from', address.replace('//u', '//[u'), '--to', dir], {}],
    [['migrate', address], {}],
    [['get', 'x', '--url', `http://u:${planted}@127.0.0.1:${port}`, '--token', planted], {}],
    [['call', 'getStats', '--url', `http:/u:${planted}@127.0.0.1:${port}`], {}],
  ]
  for (const [args, env] of runs) {
    const { status, out, err } = await cstp(args, bareEnv(dir, env))
    expect({ args, shown: (out + err).includes(planted) }).toEqual({ args, shown: false })
    expect({ args, says: (out + err).length > 0, status: args[0] === 'config' ? status : status > 0 }).toEqual({
      args,
      says: true,
      status: args[0] === 'config' ? status : true,
    })
  }
})
