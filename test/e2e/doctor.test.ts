/** cstp doctor finds each thing that is wrong, says how to fix it, and changes nothing. */
import { heapStats } from 'bun:jsc'
import { Database } from 'bun:sqlite'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { chmodSync, chownSync, copyFileSync, cpSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type OutboxValue, outboxCollection } from '../../sdk/storage/keyed.ts'
import { loadSettings } from '../../src/app/config/config.ts'
import { examine } from '../../src/app/doctor/doctor.ts'
import { appendEvents } from '../../src/domain/ledger/evidence/chain.ts'
import { openSqliteEvidence } from '../../src/drivers/evidence/sqlite/driver.ts'
import { bareEnv, cstp } from '../support/process.ts'

let home: string
let seed: string
let dir: string

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'cstp-doctor-'))
  seed = join(home, 'seed')
  const line = (n: number) =>
    `${JSON.stringify({ decision: `Decide ${n}`, confidence: 0.7, category: 'c', date: '2026-07-01', source: `s${n}` })}\n`
  const lines = [1, 2, 3].map(line).join('')
  expect(await cstp(['import', '-', '--local'], bareEnv(seed), lines)).toMatchObject({ status: 0 })
  const log = await openSqliteEvidence(join(seed, 'provenance.db'))
  const event = {
    ts: '2026-07-01T00:00:00Z',
    source: 'ci',
    event_type: 'pr_opened',
    evidence_class: 'observed',
  } as const
  await appendEvents(
    log,
    [1, 2, 3].map((n) => ({ ...event, source: n === 3 ? 'webhook:github' : 'ci', payload: `{"pr_number":${n}}` })),
  )
  await log.ofPullRequest(1, 1, 1)
  await log.close()
})
afterAll(() => rm(home, { recursive: true, force: true }))
beforeEach(() => {
  dir = join(home, 'data')
  cpSync(seed, dir, { recursive: true })
  chmodSync(dir, 0o700)
})
afterEach(() => {
  for (const name of readdirSync(home)) if (name !== 'seed') rmSync(join(home, name), { recursive: true, force: true })
})

/** Findings as `check severity: what → fix`. */
async function look(more: Record<string, string> = {}): Promise<string[]> {
  const env = { CSTP_DATA_DIR: dir, CSTP_EMBEDDER: 'hash', ...more }
  const { settings } = await loadSettings({ env, flags: {}, readFile: async () => '' })
  const found: string[] = []
  for await (const { name, findings } of examine(settings, env))
    for (const { severity, what, fix } of findings) found.push(`${name} ${severity}: ${what} → ${fix}`)
  return found.filter((line) => !line.startsWith('settings warning: the embedder hash'))
}

const decisions = () =>
  readdirSync(join(dir, 'decisions'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.yaml'))
    .map((name) => join(dir, 'decisions', name))
    .sort()

function sql(text: string): void {
  const db = new Database(join(dir, 'cstp.db'))
  db.run(text)
  db.close()
}

/** Every decision waits for its vectors. */
const queue = (value: OutboxValue): void =>
  sql(
    `insert into keyed_records (collection, key, version, value, expires_ms)
     select '${outboxCollection}', id, 1, '${JSON.stringify(value)}', 0 from decisions`,
  )

/** Changes the log of evidence past what protects it. */
function tamper(change: string): void {
  const db = new Database(join(dir, 'provenance.db'))
  for (const { name } of db.query<{ name: string }, []>(`select name from sqlite_schema where type = 'trigger'`).all())
    db.run(`drop trigger ${name}`)
  db.run(change)
  db.close()
}

/** Lets the program sign a checkpoint of the log. */
async function signLog(): Promise<void> {
  expect((await cstp(['evidence', 'checkpoint', '--local'], bareEnv(dir))).status).toBe(0)
}

const pem = (type: 'ed25519' | 'x25519') =>
  (type === 'ed25519' ? generateKeyPairSync('ed25519') : generateKeyPairSync('x25519')).privateKey
    .export({ type: 'pkcs8', format: 'pem' })
    .toString()

async function key(text: string, mode = 0o600): Promise<void> {
  mkdirSync(join(dir, 'keys'), { recursive: true })
  await writeFile(join(dir, 'keys/evidence.pem'), text)
  chmodSync(join(dir, 'keys/evidence.pem'), mode)
}

async function rules(text: string | null): Promise<Record<string, string>> {
  mkdirSync(join(home, 'rules'))
  if (text !== null) await writeFile(join(home, 'rules/mine.yaml'), text)
  return { GUARDRAILS_PATHS: join(home, 'rules') }
}

test('a healthy folder, with everything in it', async () => {
  expect(await look()).toEqual([])
})

test('a folder that is not there yet', async () => {
  rmSync(dir, { recursive: true })
  expect(await look()).toEqual([expect.stringMatching(/^data directory note: .*data does not exist yet → cstp serve/)])
})

describe('finds what is wrong with', () => {
  const broken: [string, () => unknown, RegExp][] = [
    [
      'settings: open to the network',
      () => ({ CSTP_HOST: '0.0.0.0' }),
      /^settings warning: the service listens on 0\.0\.0\.0/,
    ],
    ['settings: no limit', () => ({ CSTP_RATE_LIMIT: '0' }), /^settings note: there is no rate limit/],
    [
      'settings: guardrails off',
      () => ({ CSTP_RECORD_GUARDRAILS: 'off' }),
      /^settings note: .*without checking the guardrails/,
    ],
    ['folder: open', () => chmodSync(dir, 0o755), /^data directory warning: .*mode 755.*→ chmod 700 \//],
    [
      'folder: a file',
      () => {
        rmSync(dir, { recursive: true })
        return writeFile(dir, '')
      },
      /^data directory error: .*is not a folder/,
    ],
    [
      'folder: not writable',
      () => ({ CSTP_DATA_DIR: '/proc/self' }),
      /^data directory error: \/proc\/self can't be written to/,
    ],
    ['folder: full', () => ({ CSTP_DATA_DIR: '/proc/self' }), /^data directory error: 0 MB are free/],
    [
      'folder: a restore cut off',
      () => mkdirSync(join(dir, '.restoring')),
      /^data directory error: a restore into .* was interrupted/,
    ],
    [
      'folder: a restore beside it cut off',
      () => mkdirSync(join(home, '.data.77.partial')),
      /^data directory note: .*\.data\.77\.partial .*→ rm -r /,
    ],
    ['token: half made', () => writeFile(join(dir, 'token.5.ab.tmp'), ''), /^data directory note: .*token\.5\.ab\.tmp/],
    [
      'token: readable',
      () => writeFile(join(dir, 'token'), 'x').then(() => chmodSync(join(dir, 'token'), 0o644)),
      /^data directory warning: .*token \(mode 644\) → chmod 600/,
    ],
    [
      'token: empty',
      () => writeFile(join(dir, 'token'), '', { mode: 0o600 }),
      /^data directory error: the file token is empty/,
    ],
    [
      'token: not used',
      async () => {
        await writeFile(join(dir, 'token'), 'x', { mode: 0o600 })
        return { CSTP_AUTH_TOKENS: 'a:token-of-the-agent' }
      },
      /^data directory note: CSTP_AUTH_TOKENS is set/,
    ],
    [
      'agents: one that vouches for itself',
      () => ({
        CSTP_AUTH_TOKENS: 'model:token-of-the-model,ann:token-of-ann-0001',
        CSTP_EVIDENCE_AGENTS: 'model',
        CSTP_ADMIN_AGENTS: 'model',
      }),
      /^settings warning: agent model may write and has admin, evidence: it could vouch/,
    ],
    [
      'database: no database',
      () => writeFile(join(dir, 'cstp.db'), 'x'.repeat(5_000)),
      /^databases error: .*cstp\.db can't be read: .*not a database.*restore a backup/,
    ],
    [
      'database: newer',
      () => sql('PRAGMA user_version = 99'),
      /^databases error: .*has version 99; .*→ use the newer program/,
    ],
    ['database: older', () => sql('PRAGMA user_version = 0'), /^databases note: .*has version 0; the next start/],
    [
      'database: none',
      () => rmSync(join(dir, 'cstp.db')),
      /^databases error: .*cstp\.db is missing, and the ledger in it had \d+ entries: no server starts → .*cstp restore/,
    ],
    [
      'database: none, and nothing says what it had',
      () => ['cstp.db', 'keys/thread.mark'].map((name) => rmSync(join(dir, name))),
      /^databases warning: cstp\.db is missing beside .*decisions and .*provenance\.db: audit trail, .* → .*restore a backup/,
    ],
    [
      'decisions: broken',
      () => writeFile(decisions()[0]!, 'id: 1\nconfidence: [\n'),
      /^decisions error: decisions\/2026\/07\/.* is broken: line \d/,
    ],
    [
      'decisions: taken away',
      () => rmSync(decisions()[0]!),
      /^decisions warning: .* was deleted, but its decision is still in the catalogue/,
    ],
    [
      'decisions: edited',
      async () => writeFile(decisions()[0]!, `${await readFile(decisions()[0]!, 'utf8')}\n`),
      /^decisions warning: .* was edited, and is not reloaded yet/,
    ],
    [
      'decisions: put there',
      () => sql(`delete from decisions where num = (select min(num) from decisions)`),
      /^decisions warning: .* is not in the catalogue yet/,
    ],
    [
      'decisions: catalogue changed',
      () =>
        sql(
          `update documents set doc = json_set(doc, '$.confidence', 0.1) where num = (select min(num) from documents)`,
        ),
      /^decisions error: .* differs from the catalogue/,
    ],
    [
      'decisions: elsewhere',
      () => renameSync(decisions()[0]!, join(dir, 'decisions/2026-07-01-decision-000000000000.yaml')),
      /^decisions error: .* → move it to 2026\/07\//,
    ],
    [
      'decisions: stray',
      () => copyFileSync(decisions()[0]!, join(dir, 'decisions/copy.yaml')),
      /^decisions error: decisions\/copy\.yaml is ignored: its name is not the id of a decision → move it out of decisions\/; cstp import/,
    ],
    [
      'decisions: owed',
      () => {
        rmSync(decisions()[0]!)
        sql('insert into pending_files select num, revision from decisions')
      },
      /^decisions note: .* is not written yet/,
    ],
    [
      'decisions: kept broken',
      () => copyFileSync(decisions()[0]!, `${decisions()[0]!}.broken`),
      /^decisions note: .*\.yaml\.broken is a copy of a broken file/,
    ],
    [
      'decisions: temporary',
      () => writeFile(`${decisions()[0]!}.123-abcdef.tmp`, ''),
      /^decisions note: .*\.tmp is a temporary file/,
    ],
    [
      'vectors: missing',
      () => sql('delete from embeddings where num = (select min(num) from embeddings)'),
      /^vectors error: 1 of 3 decisions have no vectors/,
    ],
    [
      'vectors: waiting',
      () => {
        sql('delete from embeddings')
        queue({ attempts: 0, error: null })
      },
      /^vectors note: 3 of 3 decisions wait for their vectors/,
    ],
    [
      'vectors: refused',
      () => {
        sql('delete from embeddings')
        queue({ attempts: 4, error: 'HTTP 503' })
      },
      /^vectors warning: 3 of 3 decisions wait for their vectors: HTTP 503/,
    ],
    [
      'vectors: of another embedder',
      () => ({ CSTP_EMBEDDER: 'local' }),
      /^vectors error: the vectors are from hash\/.*, but the settings name local\/ → cstp reindex/,
    ],
    [
      'vectors: of another length',
      () => sql(`update embeddings set structure = x'00'`),
      /^vectors error: 3 vectors have the wrong length/,
    ],
    [
      'vectors: half rebuilt',
      () => sql(`insert into generations (embedder, dimensions, state) values ('x', 1, 'building')`),
      /^vectors note: a reindex is under way/,
    ],
    [
      'evidence: changed',
      () => {
        tamper(`update events set payload = '{}' where seq = 2`)
      },
      /^evidence error: the chain of evidence is damaged: .*record 2/,
    ],
    [
      'evidence: taken out',
      () => {
        tamper('delete from events where seq = 2')
      },
      /^evidence error: the chain of evidence is damaged: .*record 2/,
    ],
    [
      'evidence: cut off',
      () => tamper('delete from events where seq = 3'),
      /^evidence error: .*the log was cut off: it ends at record 2, its head says 3/,
    ],
    [
      'evidence: a key of a webhook forgotten',
      () => tamper('delete from webhook_keys'),
      /^evidence error: record 3 of the evidence is not in the index of its pull request or delivery/,
    ],
    [
      'evidence: a key of a webhook moved',
      () => tamper(`update webhook_keys set value = '3'`),
      /^evidence error: record 3 of the evidence is not in the index/,
    ],
    [
      'evidence: a pull request forgotten',
      () => tamper('delete from pull_requests where pr_number = 2'),
      /^evidence error: record 2 of the evidence is not in the index/,
    ],
    [
      'evidence: pull requests never to be indexed',
      () => tamper('update indexed set seq = 1000'),
      /^evidence error: record 1000 of the evidence is not in the index/,
    ],
    [
      'evidence: newer',
      () => tamper('PRAGMA user_version = 7'),
      /^databases error: .*provenance\.db has version 7; .*→ use the newer program/,
    ],
    [
      'evidence: no database',
      () => writeFile(join(dir, 'provenance.db'), 'x'.repeat(5_000)),
      /^databases error: .*provenance\.db can't be read/,
    ],
    [
      'keys: lost',
      () => rmSync(join(dir, 'keys'), { recursive: true }),
      /^keys error: the evidence log has 3 records, but its key .* is missing.* → .*cstp evidence new-key/,
    ],
    [
      'keys: of another log',
      async () => {
        await signLog()
        return key(pem('ed25519'))
      },
      /^keys error: .*evidence\.pem is not the key of cstp\/[0-9a-f]{16}, which signed the evidence log/,
    ],
    ['keys: readable', () => key(pem('ed25519'), 0o644), /^keys warning: other users can read the key .* → chmod 600/],
    ['keys: no key', () => key('-----BEGIN'), /^keys error: .* expected an Ed25519 private key in .*evidence\.pem/],
    [
      'keys: another kind',
      () => key(pem('x25519')),
      /^keys error: .* expected an Ed25519 private key in .*evidence\.pem/,
    ],
    [
      'keys: named and not there',
      () => ({ CSTP_EVIDENCE_KEY: join(home, 'none.pem') }),
      /^keys error: .*none\.pem can't be read: no such file or directory/,
    ],
    [
      'guardrails: wrong',
      () => rules('- id: a\n  actoin: block\n'),
      /^guardrails error: .*mine\.yaml:\d+:\d+: .*→ correct the file/,
    ],
    [
      'guardrails: suspicious',
      () => rules('- id: a\n  description: d\n  action: block\n  condition_stakse: high\n'),
      /^guardrails warning: .*mine\.yaml:\d+: /,
    ],
    [
      'guardrails: a prompt that is not kept',
      () => rules('- { id: asked, action: log, condition_session.request: contains delete }\n'),
      /^guardrails note: asked reads session\.request, which hooks leave empty.* → set CSTP_HOOK_PROMPTS=text/,
    ],
    ['guardrails: none', () => rules(null), /^guardrails warning: no rule files in .*rules → name directories/],
    ['guardrails: no folder', () => ({ GUARDRAILS_PATHS: join(home, 'nowhere') }), /^guardrails error: /],
  ]
  for (const [name, damage, wanted] of broken) {
    test(name, async () => {
      const given = await damage()
      const env = typeof given === 'object' && given !== null ? (given as Record<string, string>) : {}
      expect((await look(env)).filter((line) => wanted.test(line))).not.toEqual([])
    })
  }

  test('damaged pages', async () => {
    const bytes = await readFile(join(dir, 'cstp.db'))
    bytes.fill(0xff, 4096 * 3)
    await writeFile(join(dir, 'cstp.db'), bytes)
    expect(await look()).toContainEqual(
      expect.stringMatching(/^databases error: .*cstp\.db (is damaged|can't be read)/),
    )
  })

  test.skipIf(process.getuid?.() !== 0)("somebody else's folder (only root can give one away)", async () => {
    chownSync(dir, 12_345, 12_345)
    expect(await look()).toContainEqual(
      expect.stringMatching(/^data directory warning: .* belongs to user 12345, and this is user 0/),
    )
  })
})

test('its memory does not grow with the decisions: pages of them are let go', async () => {
  const large = join(home, 'large')
  const count = 2_500
  const context = 'kept apart from what is searched '.repeat(100)
  const lines = Array.from({ length: count }, (_, n) =>
    JSON.stringify({
      decision: `Decide ${n}`,
      context: `${n} ${context}`,
      confidence: 0.7,
      category: 'c',
      source: `l${n}`,
    }),
  )
  expect(await cstp(['import', '-', '--local'], bareEnv(large), `${lines.join('\n')}\n`)).toMatchObject({ status: 0 })
  chmodSync(large, 0o700)
  dir = large
  /** Bytes in use, each time that 50 more rows were asked for one by one. */
  const held: number[] = []
  let calls = 0
  const { prepare } = Database.prototype
  const spy = spyOn(Database.prototype, 'prepare').mockImplementation(function (this: Database, ...given) {
    const statement = prepare.apply(this, given)
    const { get } = statement
    statement.get = (...values) => {
      if (++calls % 50 === 0) {
        Bun.gc(true)
        held.push(heapStats().heapSize)
      }
      return get.apply(statement, values)
    }
    return statement as never
  })
  try {
    expect(await look()).toEqual([])
  } finally {
    spy.mockRestore()
  }
  expect(calls).toBeGreaterThan(count)
  const middle = held.length / 2
  const [early, late] = [held.slice(0, middle), held.slice(middle)].map((some) => Math.max(...some) - held[0]!)
  expect(late!).toBeLessThan(1.4 * early!)
})

test('on the command line: readable at 80 columns, JSON for programs, and a status', async () => {
  const env = (more = {}) => bareEnv(dir, { COLUMNS: '80', ...more })
  rmSync(decisions()[0]!)
  const before = readdirSync(dirname(decisions()[0]!))
  const { status, out } = await cstp(['doctor'], env())
  expect(status).toBe(1)
  expect(Math.max(...out.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80)
  expect(out).toMatch(/✗ decisions\n {2}warning +decisions\/2026/)
  expect(out).toMatch(/→ restore the file/)
  expect(out).toEndWith('\n0 errors, 2 warnings.\n')
  expect(readdirSync(dirname(decisions()[0]!))).toEqual(before)

  const json = JSON.parse((await cstp(['doctor', '--json'], env())).out)
  expect(json).toMatchObject({ healthy: false, errors: 0, warnings: 2 })
  expect(json.findings.map(({ check }: { check: string }) => check)).toEqual(['settings', 'decisions'])

  const wrong = await cstp(['doctor'], env({ CSTP_PORT: 'http' }))
  expect(wrong).toMatchObject({ status: 1, out: expect.stringContaining('CSTP_PORT') })
})
