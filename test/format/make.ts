/**
 * Writes `test/format/<version>/`: an artefact of each kind, as this program writes it. Run it once for each version of the data format, before
 * its first release: `bun test/format/make.ts`. It refuses to overwrite the artefacts of a version that exists; `--force` does, as long as no
 * release has written that version.
 */
import { createHash, generateKeyPairSync } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'bun'
import { dataFormat } from '../../src/core/format.ts'
import { folderOf, groups } from '../../src/generate/migrations.ts'
import { freshSchema, postgres, programOf } from '../support/postgres.ts'
import { bareEnv, cstp, everyScope, type RunningServer, root, run, startServer } from '../support/process.ts'

export const folderOfFormat = (format: number): string => join(import.meta.dir, String(format))

/** SHA-256 of the migrations that exist in this version, by path: they never change again. */
export const migrationHashes = (): Record<string, string> =>
  Object.fromEntries(
    groups.flatMap((group) =>
      readdirSync(folderOf(group))
        .filter((name) => name.endsWith('.sql'))
        .sort()
        .map((name) => [
          `${group}/${name}`,
          createHash('sha256')
            .update(readFileSync(join(folderOf(group), name)))
            .digest('hex'),
        ]),
    ),
  )

/** What {@link expectedOf} reads of a version. */
export interface Expected {
  migrations: Record<string, string>
  /** Full records, oldest first. */
  decisions: Record<string, unknown>[]
  events: number
  /** Verifier keys of the evidence log and of the thread. */
  evidence_key: string
  thread_key: string
}
export const expectedOf = (format: number): Expected =>
  JSON.parse(readFileSync(join(folderOfFormat(format), 'expected.json'), 'utf8'))

/** Records decisions with everything that a record can hold, and events, through a server. @returns the id of the richest one */
async function fill({ call }: RunningServer): Promise<string> {
  const project = { name: 'acme/shop', feature: 'checkout', pr: 7, files: ['src/pay.ts'] }
  await call('recordThought', { text: 'The provider fails for some seconds at a time' })
  await call('queryDecisions', { query: 'retries of payments' })
  const action = { description: 'Retry payments', category: 'reliability', confidence: 0.8 }
  await call('checkGuardrails', { action })
  const rich = await call('recordDecision', {
    decision: 'Retry calls of the payment provider with growing pauses',
    ...{ category: 'reliability', confidence: 0.8, stakes: 'high', context: 'Outages: “503”, several a week\n' },
    reasons: [{ type: 'pattern', text: 'Immediate retries prolonged outages', strength: 0.9 }],
    alternatives_considered: ['Fail at once', { option: 'Queue', why: 'too slow' }],
    bridge: { structure: 'Retry with backoff', function: 'Survive short outages', enforcement: ['a limit'] },
    ...{ project, tags: ['payments', 'résilience'], pattern: 'Pause longer after each failure' },
  })
  const id = String(rich.decision_id)
  const plain = await call('recordDecision', { decision: 'Fail at once', confidence: 0.4, category: 'reliability' })
  const other = String(plain.decision_id)
  await call('linkDecisions', { source_id: id, target_id: other, edge_type: 'supersedes', context: 'after the outage' })
  await call('reviewDecision', { decision_id: id, outcome: 'success', actual_result: 'Survived', lessons: 'Log them' })
  await call('updateDecision', { id: other, updates: { tags: ['old'] } })
  await call('preAction', { action: { ...action, description: 'Retry refunds too' }, options: { auto_record: true } })
  const event = (event_type: string, hour: number) => ({
    ...{ event_type, ts: `2026-06-30T${hour}:00:00Z` },
    payload: { pr_number: 7, repo: 'acme/shop', title: 'Retry' },
  })
  await call('ingestEvidence', { source: 'github', events: [event('pr_opened', 10), event('pr_merged', 12)] })
  await call('linkEvidence', { decision_id: id, event_seqs: [1, 2] })
  return id
}

async function command(args: string[], env: Record<string, string>): Promise<string> {
  const { status, out, err } = await cstp(args, env)
  if (status !== 0) throw new Error(`cstp ${args.join(' ')}: ${err}${out}`)
  return out
}

async function packed(folder: string): Promise<Uint8Array<ArrayBuffer>> {
  const tar = Bun.spawnSync(['tar', '-c', '--owner=0', '--group=0', '--sort=name', '-C', folder, '.'])
  if (!tar.success) throw new Error(tar.stderr.toString())
  return gzipSync(new Uint8Array(tar.stdout), { level: 9 })
}

async function make(): Promise<void> {
  const target = folderOfFormat(dataFormat)
  const isForced = process.argv.includes('--force')
  if (existsSync(target) && !isForced)
    throw new Error(`${target} exists: the artefacts of a released version never change`)
  const server = postgres()
  if (server === null) throw new Error('PostgreSQL is needed')
  rmSync(target, { recursive: true, force: true })
  mkdirSync(target, { recursive: true })
  const home = mkdtempSync(join(tmpdir(), 'cstp-format-'))
  const at = (name: string) => join(home, name)
  const put = (name: string, content: string | Uint8Array) => writeFileSync(join(target, name), content)
  try {
    const data = at('data')
    mkdirSync(data, { mode: 0o700 })
    const env = bareEnv(data, { HOME: home })
    const service = await startServer({ dir: data, env: { HOME: home } })
    const id = await fill(service)
    const { json_path } = await service.call('exportEvidenceBundle', { format: 'json' })
    put('bundle.json', readFileSync(String(json_path)))
    put('dossier.json', `${JSON.stringify(await service.call('getDossier', { id }))}\n`)
    put('receipts.json', `${JSON.stringify(await service.call('getReceipt', { decision_id: id }))}\n`)
    const { decisions } = await service.call('listDecisions', { order: 'asc' })
    const ids = (decisions as { id: string }[]).map((one) => one.id)
    const records = await Promise.all(ids.map((one) => service.call('getDecision', { id: one, track: false })))
    const { records: events } = await service.call('verifyEvidenceChain', {})
    const keyOf = async (of: string) => JSON.parse(await command([of, 'key', '--json', '--url', service.url], env))
    const keys = { evidence_key: await keyOf('evidence'), thread_key: await keyOf('log') }
    await service.kill()
    await command(['export', '--local', '--out', join(target, 'decisions.jsonl')], env)
    await command(['export', '--local', '--yaml', join(target, 'yaml')], env)
    await command(['backup', at('backup')], env)

    const url = freshSchema(server)
    const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' })
    const evidenceKey = join(at('postgres'), 'evidence.pem')
    mkdirSync(at('postgres'))
    writeFileSync(evidenceKey, pem, { mode: 0o600 })
    const shared = {
      CSTP_STORE_URL: url,
      CSTP_AUTH_TOKENS: 'local:t0ken-of-the-test',
      CSTP_EVIDENCE_KEY: evidenceKey,
    }
    const other = await startServer({ dir: at('pg'), env: { ...everyScope('local'), ...shared } })
    await fill(other)
    await other.kill()
    const schema = new URL(url).searchParams.get('schema')!
    const line = [programOf('pg_dump'), '--inserts', '--no-owner', `--schema=${schema}`, url.replace(/\?.*/, '')]
    const dump = await run(line, { cwd: root, env: { PATH: process.env.PATH ?? '' } })
    if (dump.status !== 0) throw new Error(dump.err)
    const text = dump.out.replaceAll(schema, 'cstp_fixture').replace(/^(?:--.*|\\(?:un)?restrict .*|)\n/gm, '')
    writeFileSync(join(at('postgres'), 'dump.sql'), text)
    for (const name of ['data', 'backup', 'postgres']) put(`${name}.tar.gz`, await packed(at(name)))

    const key = ({ verifier_key }: { verifier_key: string }) => verifier_key
    const expected: Expected = {
      ...{ migrations: migrationHashes(), decisions: records, events: Number(events) },
      ...{ evidence_key: key(keys.evidence_key), thread_key: key(keys.thread_key) },
    }
    put('expected.json', `${JSON.stringify(expected, null, 1)}\n`)
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

if (import.meta.main) {
  await make()
  process.exit(0)
}
