/** Texts as people and agents write them: in those of the first table nobody may read the secret, those of the second stay as they are. */
import { expect, test } from 'bun:test'
import type { CstpError } from '../../sdk/errors.ts'
import { certainSecret, maskSecrets, withoutSecretTexts } from '../../src/core/secrets.ts'
import { type MethodName, memoryProgram } from '../support/program.ts'

/** The same random characters in each run, of an alphabet. */
function made(length: number, alphabet = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'): string {
  let [text, state] = ['', length * 2_654_435_761]
  while (text.length < length) {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_507) + text.length) >>> 0
    text += alphabet[state % alphabet.length]
  }
  return text
}
const hex = (length: number) => made(length, '0123456789abcdef')
const upper = (length: number) => made(length, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789')
const digits = (length: number) => made(length, '123456789')
const base64 = (text: string) => Buffer.from(text).toString('base64')

type Row = [text: string, secret: string]
const row = (before: string, secret: string, after = ''): Row => [`${before}${secret}${after}`, secret]

const github = `ghp_${made(36)}`
const aws = `AKIA${upper(16)}`

/** Refused where secrets are refused. */
const certain: Row[] = [
  row('Push with ', github),
  row('The fine-grained one is ', `github_pat_${made(82)}`, '.'),
  row('GITLAB_TOKEN=', `glpat-${made(20)}`),
  row('Slack bot: ', `xoxb-${digits(12)}-${digits(12)}-${made(24)}`),
  row('curl -X POST https://hooks.slack.com/services/', `T${upper(8)}/B${upper(8)}/${made(24)}`),
  row('https://discord.com/api/webhooks/', `${digits(19)}/${made(68)}`),
  row('https://discordapp.com/api/v10/webhooks/', `${digits(18)}/${made(68)}`, ' for alerts'),
  row('STRIPE_SECRET_KEY=', `sk_live_${made(24)}`),
  row('The signing secret of the endpoint is ', `whsec_${made(32)}`),
  row('CSTP_WEBHOOK_SECRET="', `whsec_${made(43)}=`, '"'),
  row('export CSTP_TOKEN=', `cstp_${hex(64)}`),
  row('Authorization: Bearer coder:', `cstp_${hex(64)}`),
  row('"client_secret": "', `GOCSPX-${made(28)}`, '"'),
  row('key=', `AIza${made(35)}`, '&q=x'),
  row('The console shows ', `ya29.${made(120)}`),
  row('ANTHROPIC_API_KEY=', `sk-ant-api03-${made(93)}AA`),
  row('OPENAI_API_KEY: ', `sk-proj-${made(60)}T3BlbkFJ${made(60)}`),
  row('HF_TOKEN=', `hf_${made(34, 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ')}`),
  row('GROQ ', `gsk_${made(52)}`),
  row('//npm.example.com/:_authToken=', `npm_${made(36)}`),
  row('password = ', `pypi-AgEIcHlwaS5vcmc${made(70)}`),
  row('aws_access_key_id = ', aws),
  row('sendgrid: ', `SG.${made(22)}.${made(43)}`),
  row('DefaultEndpointsProtocol=https;AccountName=shop;AccountKey=', `${made(86)}==`),
  row('AZURE_CLIENT_SECRET=', `${made(3)}8Q~${made(34)}`),
  row('VAULT_TOKEN=', `hvs.${made(95)}`),
  row('token = "', `dapi${hex(32)}`, '"'),
  row('docker login -u shop -p ', `dckr_pat_${made(27)}`),
  row('TAILSCALE: ', `tskey-auth-${made(16)}-${made(32)}`),
  row('SUPABASE_ACCESS_TOKEN=', `sbp_${hex(40)}`),
  row('REPLICATE_API_TOKEN=', `r8_${made(37)}`),
  row('NETLIFY_AUTH_TOKEN=', `nfp_${made(40)}`),
  row('LANGSMITH=', `lsv2_pt_${hex(32)}_${hex(10)}`),
  row('-----BEGIN RSA PRIVATE KEY-----\n', made(640), '\n-----END RSA PRIVATE KEY-----'),
  row('ssh key in one line: ', `b3BlbnNzaC1rZXktdjE${made(400)}`),
  row('age: ', `AGE-SECRET-KEY-1${upper(58)}`),
  // Split over literals, lines and characters that nobody sees.
  [`token = "${github.slice(0, 14)}" + "${github.slice(14)}"`, github.slice(14)],
  [`token = "${github.slice(0, 14)}"\n        "${github.slice(14)}"`, github.slice(14)],
  [`['${aws.slice(0, 9)}', '${aws.slice(9)}'].join('')`, aws.slice(9)],
  [`curl -H "X: ${github.slice(0, 20)}\\\n  ${github.slice(20)}"`, github.slice(20)],
  [`wrapped:\n  ${github.slice(0, 24)}\n  ${github.slice(24)}`, github.slice(24)],
  [`${github.slice(0, 20)}\u200b${github.slice(20)}`, github.slice(20)],
  // In base64, and twice.
  row('data: ', base64(github)),
  row('echo ', base64(`export GITHUB_TOKEN=${github}\n`), ' | base64 -d | sh'),
  row('blob ', base64(base64(`key ${aws} of the shop`))),
  row('netrc in CI: ', base64(`machine api.github.com login bot password ${github}`)),
]

/** Masked in whatever is stored. */
const likely: Row[] = [
  row('Connect to postgres://shop:', 'kR7pQz2w', '@db.internal:5432/shop'),
  row('DATABASE_URL=mysql://root:', 'toor-toor', '@127.0.0.1/shop'),
  row('redis://:', 'p4ssw0rdOfRedis', '@cache:6379/0'),
  row('amqp://guest:', 'S3cr3t!', '@mq/'),
  row('mongodb+srv://app:', 'Zx81Spectrum', '@cluster0.abcde.mongodb.net'),
  row('git clone https://', made(40), '@github.com/acme/shop'),
  row('git clone https://oauth2:', made(26), '@gitlab.example/acme/shop.git'),
  row('ftp://anna:', 'katze7', '@files.example/'),
  row('AWS_SECRET_ACCESS_KEY=', made(40)),
  [`${aws}\n${made(40)}`, made(40)],
  row('aws_session_token = ', `${made(300)}==`),
  row('Authorization: Bearer ', made(40)),
  row("-H 'Authorization: Bearer ", made(24), "'"),
  row('it sends Bearer ', `${made(12)}.${made(30)}`),
  row('Authorization: Basic ', base64('anna:katze7!')),
  row('X-Api-Key: ', made(32)),
  row('Cookie: theme=dark; session=', made(32), '; lang=de'),
  row('Set-Cookie: sid=', `s%3A${made(32)}.${made(43)}`, '; Path=/; HttpOnly'),
  row("curl -b 'connect.sid=", made(40), "' https://shop.example"),
  row('curl --cookie "JSESSIONID=', hex(32), '" https://shop.example'),
  row('https://shop.blob.core.windows.net/c/f?sv=2022-11-02&sp=r&sig=', `${made(43)}%3D`),
  row('https://b.s3.amazonaws.com/k?X-Amz-Expires=900&X-Amz-Signature=', hex(64)),
  row('https://storage.googleapis.com/b/o?X-Goog-Expires=900&X-Goog-Signature=', hex(256)),
  row('https://d111.cloudfront.net/f?Expires=1700000000&Signature=', made(200), '&Key-Pair-Id=K2'),
  row('mysql -u root -p', 'hunter2', ' shop'),
  row('mysqldump --single-transaction -u shop -p', "'Tr0ub4dor'", ' shop').map((one) => one.replaceAll("'", '')) as Row,
  row("mariadb -h db -ushop -p'", 'swordfish', "' shop"),
  row('sshpass -p ', 'swordfish', ' ssh anna@host'),
  row("sshpass -p'", 'Tr0ub4dor&3', "' scp a host:"),
  row('machine api.heroku.com\n  login anna@example.com\n  password ', 'c4l1f0rn1a'),
  row('machine ftp.example login anna password ', 'swordfish'),
  row('db.internal:5432:shop:anna:', 'swordfish'),
  row('DB_PASS=', 'swordfish'),
  row('export DB_PASSWORD=', 'changeme'),
  row('MYSQL_PWD=', 'swordfish', ' mysql shop'),
  row('SMTP_PASS: ', "'s3ndm41l'").map((one) => one.replaceAll("'", '')) as Row,
  row('PGPASSWORD=', 'letmein', ' psql -h db'),
  row('redis-cli -h cache -a ', 'swordfish', ' ping'),
  row('docker login registry.example -u ci -p ', 'swordfish'),
  row('ldapsearch -D cn=admin -w ', 'swordfish', ' -b dc=x'),
  row('mongosh -u app -p ', 'swordfish', ' db/shop'),
  row('openssl enc -aes-256-cbc -pass pass:', 'Sw0rdfish', ' -in a'),
  row('"password": "', 'correct-horse-battery', '"'),
  row("password: '", 'swordfish', "'"),
  row('The admin password is ', 'Tr0ub4dor&3', ' until Friday'),
  row('Server=db;Database=shop;User Id=sa;Password=', 'Sw0rdf1sh!', ';'),
  row('Endpoint=sb://shop.servicebus.windows.net/;SharedAccessKeyName=all;SharedAccessKey=', `${made(43)}=`),
  row('deploy --api-token ', made(24)),
  row('client_secret=', made(24), '&grant_type=client_credentials'),
  row('jwt ', `eyJ${made(30)}.eyJ${made(60)}.${made(43)}`),
  row('sk_test_', made(24)),
  row('DISCORD_TOKEN: ', `M${made(23)}.${made(6)}.${made(38)}`),
  row('fcm ', `${made(11)}:APA91${made(134)}`),
  row('refresh: ', `1//0${made(60)}`),
  row('data:\n  blob: ', base64('{"password":"Tr0ub4dor&3"}')),
]

const harmless: string[] = [
  'Use tokens of the design system instead of colours',
  'The token: what a parser returns for each word',
  'Token: short-lived, signed by the service',
  'A password: at least 12 characters, checked against known leaks',
  'password: argon2id with 64 MiB, no pepper',
  'Passwords are hashed with bcrypt, cost 12',
  'secret: rotate every 90 days',
  'Secret: 2024-01-31 is the date of the last rotation',
  'Rotate the api key: the old one stays valid for 24h',
  'API key: required in the header X-Api-Key',
  'Basic authentication is enough for the internal service',
  'Basic JavaScript knowledge is assumed',
  'We chose Basic over Premium',
  'The Bearer scheme of RFC6750 is used',
  'Bearer authentication-based access for clients',
  'Authorization: by role, not by user',
  'authorization: required',
  'Cookie: we show a banner in the EU',
  'Cookie: SameSite=Lax by default',
  'Set-Cookie: theme=dark; Path=/; Max-Age=31536000; SameSite=Strict',
  'cookies: httpOnly=true, secure=true',
  'token = getToken()',
  'const token = process.env.GITHUB_TOKEN',
  'password = os.environ["DB_PASSWORD"]',
  'export TOKEN=$TOKEN',
  'password: "$DB_PASSWORD"',
  ['DB_PASS=$', '{DB_PASS}'].join(''),
  'DB_PASSWORD=<your password>',
  'password: ********',
  'password: xxxxxxxx',
  '{"token": "string", "secret": "string"}',
  'token: string',
  'function sign(secret: string, token: string): string',
  'type Secret = { token: string; password: string | null }',
  'token_count: 12000',
  'max_tokens=4096',
  'tokens: 12000',
  'Budget: 200k tokens per task',
  'primary key: (tenant_id, order_id)',
  'key: value',
  'sort key: created_at',
  'pk_customer_orders_2024_archive',
  'sk-learn-compatible-estimators',
  'pk-user-organization-membership',
  'mysql -u root -p shop',
  'mysql --port 3306 -h db',
  'docker run -p 8080:80 nginx',
  'docker compose -p shop up',
  'ssh -p 2222 anna@host',
  'mkdir -p src/core && cp -p a b',
  'login: anna, no password needed',
  'After login the password page is skipped',
  'https://example.com:8443/path',
  'https://user@example.com/path',
  'postgres://db.internal:5432/shop',
  'redis://cache:6379/0',
  'git@github.com:acme/shop.git',
  'ssh://git@github.com/acme/shop',
  'mailto:anna@example.com',
  'see src/drivers/search/lancedb/layers.ts:87:3: error',
  'commit 1a2b3c4d5e6f7a8b9c0d1e2f3a4b5c6d7e8f9a0b',
  `sha256:${'0f'.repeat(32)}`,
  `integrity sha512-${'Ab1/'.repeat(21)}Zw==`,
  'uuid 123e4567-e89b-12d3-a456-426614174000',
  'decision 2026-07-01-decision-0123456789ab',
  'ghp_ is the prefix of classic tokens',
  'AKIAIOSFODNN7 is cut',
  'the whsec_ prefix marks webhook secrets',
  'cstp_auth_failures_total{reason="token"}',
  'cstp_outbox_depth and cstp_verdicts_total',
  'npm_config_cache and npm_lifecycle_event',
  'hf_hub_download and hf_transfer',
  'AIza is how Google keys begin',
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk',
  'VGhpcyBpcyBhIGhhcm1sZXNzIHNlbnRlbmNlIGluIGJhc2U2NA==',
  'echo aGVsbG8gd29ybGQsIHRoaXMgaXMgZmluZQo= | base64 -d',
  'The quick brown fox\njumps over the lazy dog\nand sleeps',
  'imports = ["alpha", "beta" + "gamma"]',
  'pass: 12 tests, fail: 0',
  'compass: north; bypass: allowed for admins',
  'Pass --token to authenticate, or set CSTP_TOKEN',
  '--password is read from stdin',
  'the password is stored hashed',
  'the token was rotated yesterday',
  'the secret is kept in Vault',
  'credentials: include',
  "fetch(url, { credentials: 'same-origin' })",
  'Signature=valid, Key-Pair-Id=none',
  'sig=ok',
  'private_key: encrypted at rest',
  'signing key: Ed25519, one per server',
  'storage key: users/{id}/avatar.png',
  'encryption key: AES-256-GCM, derived per tenant',
  'JWT (RS256) with a lifetime of 15m',
  'BEGIN PUBLIC KEY is fine to publish',
  'kid: 2024-key-1',
]

test('at least eighty secrets, and at least eighty harmless texts', () => {
  expect(certain.length + likely.length).toBeGreaterThanOrEqual(80)
  expect(harmless.length).toBeGreaterThanOrEqual(80)
})

test.each(certain)('refused, and masked where it is allowed: %s', (text, secret) => {
  expect(certainSecret({ decision: text })).not.toBeNull()
  expect(maskSecrets(text)).not.toContain(secret)
})

test.each(likely)('masked, and no reason to refuse: %s', (text, secret) => {
  expect(certainSecret(text) === null || text.includes('AKIA')).toBe(true)
  expect(maskSecrets(text)).not.toContain(secret)
})

test.each(harmless)('neither refused nor changed: %s', (text) => {
  expect(certainSecret(text)).toBeNull()
  expect(maskSecrets(text)).toBe(text)
})

test('a member whose name says that it is a secret is masked by what it holds', () => {
  expect(withoutSecretTexts({ context: { api_key: 'Zx81Spectrum', token: 'required', amount: 12 } })).toEqual({
    context: { api_key: '[secret]', token: 'required', amount: 12 },
  } as never)
})

test('none of them is in an answer, an error included: where it is recorded, asked, checked or misplaced', async () => {
  const program = await memoryProgram()
  const told = async (name: MethodName, params: object): Promise<string> => {
    try {
      return JSON.stringify(await program.call(name, params as never))
    } catch (error) {
      const { message, data } = error as CstpError
      return JSON.stringify({ message, data })
    }
  }
  const plan = { category: 'tooling', stakes: 'low', confidence: 0.8 }
  for (const secrets of ['reject', 'mask'] as const) {
    program.services.secrets = secrets
    for (const [text, secret] of [...certain, ...likely]) {
      const calls: [MethodName, object][] = [
        ['recordDecision', { decision: text, confidence: 0.8, category: 'tooling' }],
        ['recordDecision', { decision: 'Use it', confidence: 0.8, category: 'tooling', context: text, tags: [text] }],
        ['recordDecision', { decision: 'Use it', confidence: text, category: 'tooling', [text]: text }],
        ['preAction', { action: { ...plan, description: text } }],
        ['preAction', { action: { ...plan, description: 'Use it', context: { note: text } } }],
        ['checkGuardrails', { action: { ...plan, description: text, context: { [text]: text } } }],
        ['queryDecisions', { query: text }],
        ['queryDecisions', { query: 'it', filters: { stakes: text } }],
        ['getSessionContext', { task_description: text, format: 'markdown' }],
        ['recordThought', { text }],
        ['getDecision', { id: text }],
        ['listDecisions', { search: text, project: text }],
        ['reviewDecision', { id: text, outcome: text }],
        ['getCircuitState', { scope: text }],
      ]
      for (const [name, params] of calls) {
        const answer = await told(name, params)
        expect([name, text, answer.includes(JSON.stringify(secret).slice(1, -1)) ? answer : null]).toEqual([
          name,
          text,
          null,
        ])
      }
    }
  }
})
