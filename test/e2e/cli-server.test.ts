/** Commands beside a server: real processes, real files, real HTTP. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet'
import { openRemote } from '../../src/cli/remote.ts'
import { bareEnv, cstp, root, type Service, serve, temporaryDir, testDir, testService } from '../support/process.ts'

// Each test starts several processes.
setDefaultTimeout(120_000)

const shop = join(root, 'docs/demo/decisions.jsonl')
const sorted = (lines: string): string[] => lines.trim().split('\n').sort()

describe('with a server', () => {
  let dir: string
  let service: Service
  let env: Record<string, string>
  const run = (args: string[], input?: string | Uint8Array) => cstp(args, env, input)

  beforeAll(async () => {
    dir = await temporaryDir()
    service = await serve(bareEnv(dir, { CSTP_EVIDENCE_AGENTS: 'local' }), ['--log-level', 'warn'])
    env = bareEnv(dir, { CSTP_PORT: new URL(service.url).port })
  })
  afterAll(async () => {
    await service.stop()
    await rm(dir, { recursive: true, force: true })
  })

  test('a dry run writes nothing; an import takes everything in once', async () => {
    const dry = await run(['import', shop, '--dry-run', '--json'])
    expect(JSON.parse(dry.out)).toMatchObject({ imported: 26, reviewed: 24, skipped: 0, incomplete: 0, dry_run: true })
    expect(JSON.parse((await run(['call', 'getStats'])).out)).toMatchObject({ total: 0 })

    const first = JSON.parse((await run(['import', shop, '--json'])).out)
    expect(first).toMatchObject({
      imported: 26,
      existing: 0,
      reviewed: 24,
      linked: 14,
      skipped: 0,
      incomplete: 0,
      problems: [],
    })
    const again = await run(['import', shop])
    expect(again.status).toBe(0)
    expect(again.out).toStartWith('0 imported, 26 existing, 0 reviewed, 0 linked, 0 skipped,')
    expect(JSON.parse((await run(['call', 'getStats'])).out)).toMatchObject({
      total: 26,
      by_status: { reviewed: 24, pending: 2 },
    })
  })

  test('an outcome and a link that come later are added to what is there', async () => {
    const line = {
      source: 'late',
      decision: 'Ship on Fridays',
      category: 'process',
      confidence: 0.4,
      date: '2025-01-01',
    }
    await run(['import', '-'], JSON.stringify(line))
    const known = { ...line, outcome: 'failure', links: [{ target: 'other', edge_type: 'relates_to' }] }
    const other = { ...line, source: 'other', decision: 'Ship on Mondays' }
    const { out } = await run(['import', '-', '--json'], `${JSON.stringify(known)}\n${JSON.stringify(other)}`)
    expect(JSON.parse(out)).toMatchObject({ imported: 1, existing: 1, reviewed: 1, linked: 1 })

    // The file that brought the target was another one.
    const third = {
      ...line,
      source: 'third',
      decision: 'Ship daily',
      links: [{ target: 'late', edge_type: 'supersedes' }],
    }
    const later = await run(['import', '-', '--json'], JSON.stringify(third))
    expect(JSON.parse(later.out)).toMatchObject({ imported: 1, linked: 1, incomplete: 0 })
  })

  test('bad lines are named and skipped; byte order mark, CRLF and blank lines are not', async () => {
    const good = (decision: string) => JSON.stringify({ decision, category: 'test', confidence: 0.5 })
    const lines = [
      `\ufeff${good('Begin with a mark')}`,
      '',
      '{"decision": "no end',
      JSON.stringify({ decision: 'x', category: 'test', confidence: 2 }),
      good('Another'),
      JSON.stringify({ decision: 'y', category: 'test', confidence: 0.5, tag: ['z'] }),
      JSON.stringify({ decision: 'z', category: 'test', confidence: 0.5, date: '2099-01-01' }),
      JSON.stringify({ decision: 'z', category: 'test', confidence: 0.5, lessons: 'none' }),
      good('Another'),
      JSON.stringify({
        decision: 'w',
        category: 'test',
        confidence: 0.5,
        links: [{ target: 'nowhere', edge_type: 'blocks' }],
      }),
      '  ',
      '[]',
    ]
    const { status, out, err } = await run(
      ['import', '-', '--json'],
      Buffer.concat([Buffer.from(lines.join('\r\n')), Buffer.from('\n\xff', 'latin1')]),
    )
    expect(status).toBe(1)
    const done = JSON.parse(out)
    expect(done).toMatchObject({ imported: 3, skipped: 8, incomplete: 1 })
    expect(err).toContain('line 3: is not JSON')
    expect(err).toContain('line 4: confidence: expected a number from 0 to 1, received 2')
    expect(err).toContain('line 6: tag: unknown parameter; did you mean tags?')
    expect(err).toContain('line 7: date: expected a time that is not in the future')
    expect(err).toContain('line 8: actual_result, lessons and notes need an outcome')
    expect(err).toContain('line 9: repeats an earlier line')
    expect(err).toContain('line 10: the link to nowhere was not imported')
    expect(err).toContain('line 12: expected an object')
    expect(err).toContain('line 13: is not UTF-8')
    expect(done.problems).toHaveLength(9)
  })

  test('what was exported makes the same decisions again', async () => {
    const copy = await testDir()
    const out = join(copy, 'out.jsonl')
    const { out: told } = await run(['export', '--out', out, '--json'])
    const exported = await readFile(out, 'utf8')
    const lines = sorted(exported)
    expect(JSON.parse(told)).toEqual({ exported: lines.length, out })
    expect(lines.length).toBeGreaterThanOrEqual(26)
    expect((await run(['export'])).out).toBe(exported)

    const there = bareEnv(copy)
    const taken = await cstp(['import', out, '--local', '--json'], there)
    expect(JSON.parse(taken.out)).toMatchObject({ imported: lines.length, skipped: 0, incomplete: 0 })
    expect(sorted((await cstp(['export', '--local'], there)).out)).toEqual(lines)
    expect(await readdir(copy)).not.toContain(expect.stringContaining('.tmp'))
  })

  test('Parquet has decisions, reviews and verdicts, and the figures of the calibration page follow from it', async () => {
    await run(['call', 'checkGuardrails', '{"action":{"description":"Send it"}}'])
    const out = join(await testDir(), 'figures')
    const exported = ['export', '--format', 'parquet', '--out', out]
    expect(await run(exported)).toMatchObject({ status: 0, err: '' })
    expect((await run(exported)).err).toContain(`${out} exists`)
    const rows = async (name: string) =>
      parquetReadObjects({ file: await asyncBufferFromFile(join(out, `${name}.parquet`)) })
    const decisions = await rows('decisions')
    const { out: stats } = await run(['call', 'getStats'])
    expect(decisions).toHaveLength(JSON.parse(stats).total)
    expect(decisions[0]).toMatchObject({ created_at: expect.any(Date), tags: expect.any(Array) })
    const scored = decisions.filter(({ score }) => score !== null)
    const mean = (of: (row: Record<string, number>) => number) =>
      scored.reduce((sum, row) => sum + of(row as Record<string, number>), 0) / scored.length
    const { overall } = JSON.parse((await run(['call', 'getCalibration', '{"window":"all"}'])).out)
    expect(overall.scored).toBe(scored.length)
    expect(overall.accuracy).toBeCloseTo(
      mean(({ score }) => score!),
      3,
    )
    expect(overall.brier_score).toBeCloseTo(
      mean(({ score, confidence }) => (confidence! - score!) ** 2),
      3,
    )
    const known = new Set(decisions.map(({ id }) => id))
    expect((await rows('outcomes')).filter(({ decision_id }) => known.has(decision_id)).length).toBeGreaterThan(20)
    const [verdict] = await rows('verdicts')
    expect(verdict).toMatchObject({ agent: 'local', method: 'cstp.checkGuardrails', verdict: 'allow', allowed: true })
  })

  const duckdb = process.env.CSTP_DUCKDB
  const isThere = duckdb === undefined ? ' (skipped: CSTP_DUCKDB does not name the folder of @duckdb/node-api)' : ''
  test.skipIf(duckdb === undefined)(`DuckDB reads the export, and the guide's query agrees${isThere}`, async () => {
    await run(['call', 'checkGuardrails', '{"action":{"description":"Send it"}}'])
    const out = join(await testDir(), 'figures')
    expect(await run(['export', '--format', 'parquet', '--out', out])).toMatchObject({ status: 0 })
    const { DuckDBInstance } = await import(join(duckdb!, '@duckdb/node-api/lib/index.js'))
    const connection = await (await DuckDBInstance.create(':memory:')).connect()
    const rows = async (sql: string): Promise<unknown[][]> => (await connection.runAndReadAll(sql)).getRowsJS()
    const columns = await rows(
      `describe select id, created_at, tags, confidence, score from '${out}/decisions.parquet'`,
    )
    const kinds = ['VARCHAR', 'TIMESTAMP WITH TIME ZONE', 'JSON', 'DOUBLE', 'DOUBLE']
    expect(columns.map(([, kind]) => kind)).toEqual(kinds)
    const guide = await readFile(join(root, 'docs/guide/calibration.md'), 'utf8')
    const [, query] = /duckdb\.sql\("""([\s\S]+?)"""\)/.exec(guide)!
    const found = await rows(query!.replace('figures/', `${out}/`))
    const { buckets } = JSON.parse((await run(['call', 'getCalibration', '{"window":"all"}'])).out)
    const shown = buckets.filter(({ decisions }: { decisions: number }) => decisions > 0)
    expect(found.map(([, , n]) => Number(n))).toEqual(shown.map(({ decisions }: { decisions: number }) => decisions))
    for (const [at, { predicted, actual }] of shown.entries()) {
      expect(found[at]![0]).toBeCloseTo(predicted, 3)
      expect(found[at]![1]).toBeCloseTo(actual, 3)
    }
    for (const name of ['outcomes', 'verdicts'])
      expect(Number((await rows(`select count(*) from '${out}/${name}.parquet'`))[0]![0])).toBeGreaterThan(0)
    connection.closeSync()
  })

  test('query shows a table that fits, JSON for programs, and honest silence', async () => {
    const table = await cstp(['query', 'shopping', 'basket', '--limit', '3'], { ...env, COLUMNS: '72' })
    expect(table.status).toBe(0)
    const [head, best] = table.out.split('\n')
    expect(head).toMatch(/^score +decision +.*outcome +.*id$/)
    expect(best).toMatch(/basket/)
    expect(Math.max(...table.out.split('\n').map((line) => Bun.stringWidth(line)))).toBeLessThanOrEqual(72)
    expect(table.out).not.toContain('\x1b')
    expect(table.out).toContain('superseded by ')

    const found = JSON.parse((await run(['query', 'basket', '--category', 'process', '--reviewed', '--json'])).out)
    expect(found).toMatchObject({ retrieval_mode: 'hybrid', query: 'basket' })
    expect(new Set(found.decisions.map((one: { category: string }) => one.category))).toEqual(new Set(['process']))
    expect((await run(['query', 'basket', '--category', 'nothing'])).out).toBe('No precedent: no decision matches.\n')
    expect((await run(['query', 'xyzzy', '--mode', 'semantic'])).out).toContain('distance')
    expect((await run(['query', 'basket', '--mode', 'keyword'])).out).toMatch(/^score [\s\S]*basket/)
    // One word of many is no precedent worth naming; what it leads to is shown all the same.
    const stray = ['query', 'basket weaving on the xyzzy islands of qwop', '--mode', 'keyword']
    expect(JSON.parse((await run([...stray, '--json'])).out)).toMatchObject({ precedent: 'weak' })
    expect((await run(stray)).out).toMatch(/^Weak: none of these fits clearly\.[\s\S]*basket/)
    expect(await run(['query', 'x', '--mode', 'psychic'])).toMatchObject({ status: 2 })
    expect(await run(['query', 'x', '--limit', 'few'])).toMatchObject({ status: 2 })
    expect(await run(['query', 'x', '--stakes', 'huge'])).toMatchObject({
      status: 2,
      err: 'cstp: --stakes is one of low, medium, high, critical; received "huge"\n',
    })
  })

  test('a decision from the first word to its outcome, with flags made from the declared parameters', async () => {
    const shown = async (...args: string[]) => {
      const { status, out, err } = await run(args)
      expect(err).toBe('')
      expect(status).toBe(0)
      return out
    }
    const given = [
      '--category',
      'tooling',
      '--confidence',
      '0.7',
      '--stakes',
      'high',
      '--tag',
      'ci,speed',
      '--review-in',
      '2w',
    ]
    const reasons = ['--reason', 'technical: one binary, no daemon', '--reason', 'risk: builds differ: by machine']
    const place = [
      '--project',
      'example/forge',
      '--pr',
      '700',
      '--file',
      'ci/build.ts',
      '--alternative',
      'Buy, not build',
    ]
    const args = ['record', '-', ...given, ...reasons, ...place]
    const first = await run(args, 'Cache builds by the hash of their inputs\n')
    expect(first.err).toBe('')
    const id = /^recorded ([0-9a-f]{8}) {2}Cache builds by the hash of their inputs$/m.exec(first.out)![1]!
    expect(JSON.parse(await shown('show', id, '--json'))).toMatchObject({
      decision: 'Cache builds by the hash of their inputs',
      confidence: 0.7,
      stakes: 'high',
      tags: ['ci', 'speed'],
      review_in: '2w',
      reasons: [
        { type: 'technical', text: 'one binary, no daemon' },
        { type: 'risk', text: 'builds differ: by machine' },
      ],
      alternatives_considered: ['Buy, not build'],
      project: { name: 'example/forge', feature: null, pr: 700, files: ['ci/build.ts'] },
      // Nothing that the command line read became deliberation.
      deliberation: null,
    })
    const page = await shown('show', id)
    expect(page).toMatch(/^Cache builds by the hash of their inputs\ntooling · high stakes · 70 % sure · pending\n/)
    for (const line of [/^project {7}example\/forge, pull request 700$/m, /^ {14}risk: builds differ: by machine$/m])
      expect(page).toMatch(line)

    const merged = { event_type: 'pr_merged', ts: new Date().toISOString() }
    const events = [{ ...merged, payload: { repo: 'example/forge', pr_number: 700 } }]
    await shown('call', 'ingestEvidence', JSON.stringify({ source: 'github', events }))
    expect(await shown('show', id, '--proposal')).toMatch(/^evidence {6}PR 700 was merged less than 14 days ago$/m)

    await shown('record', 'Build', 'each', 'time', '--category', 'tooling', '--confidence', '0.4')
    const rows = await shown('list', '--category', 'tooling', '--status', 'pending', '--limit', '1')
    expect(rows).toMatch(
      /^date +decision .*id\n\d{4}-\d{2}-\d{2} +Build each time .*\n\n1 to 1 of 2; the next: --offset 1\n$/,
    )
    const other = /([0-9a-f]{8})\n\n/.exec(rows)![1]!
    expect(await shown('link', id, 'supersedes', other, '--context', 'faster')).toBe(`${id} supersedes ${other}\n`)
    expect(await shown('show', id)).toMatch(new RegExp(`^links {9}supersedes ${other}: faster$`, 'm'))
    expect(await shown('unlink', id, 'supersedes', other)).toBe('The link is removed.\n')
    expect(await run(['unlink', id, 'supersedes', other])).toMatchObject({ status: 1, out: 'There is no such link.\n' })
    expect(await shown('review', id, 'success', '--lessons', 'Hash the compiler too')).toBe(
      `${id} is reviewed: success\n`,
    )
    expect(await shown('context', 'cache', 'builds')).toContain('succeeded, lesson "Hash the compiler too"')
    await shown('review', id, 'partial', '--result', 'Only on one machine')
    expect(await shown('show', id)).toMatch(/^other reviews .*: success; lesson: Hash the compiler too$/m)
    expect(await shown('show', 'late')).toStartWith('Ship on Fridays\n')
    expect(JSON.parse(await shown('call', 'getDecision', 'id=late')).source_key).toBe('late')
  })

  test('what a flag or a method cannot take is named, with what was meant', async () => {
    const wrong = async (...args: string[]) => {
      const { status, out, err } = await run(args)
      expect(out).toBe('')
      return [status, err]
    }
    const record = ['record', 'x', '--category', 'c', '--confidence']
    expect(await wrong(...record, 'much')).toEqual([2, 'cstp: --confidence needs a number, received "much"\n'])
    expect(await wrong(...record, '2')).toEqual([
      1,
      'cstp: Invalid params (-32602)\n  confidence: expected a number from 0 to 1, received 2\n',
    ])
    expect(await wrong(...record, '1', '--reason', 'because')).toEqual([
      2,
      'cstp: --reason needs a type and a text, such as "technical: the team knows it"; received "because"\n',
    ])
    expect(await wrong(...record, '1', '--confidance', '1')).toEqual([
      2,
      'cstp: unknown flag --confidance; did you mean --confidence?\n',
    ])
    expect(await wrong('call', 'getDecison', 'id=1')).toEqual([
      1,
      'cstp: Method not found; did you mean cstp.getDecision? (-32601)\n',
    ])
    expect(await wrong('call', 'getDecison', '--help')).toEqual([
      2,
      'cstp: unknown method "getDecison"; did you mean getDecision? (cstp help call lists them)\n',
    ])
    expect(await wrong('call', 'getDecision', 'id=1', 'revisions')).toEqual([
      2,
      'cstp: expected name=value, or the parameters as one JSON object; received "revisions"\n',
    ])
    expect(await wrong('evidence', 'verfy')).toEqual([
      2,
      'cstp: "verfy" is not one of checkpoint, prove, consistency, verify, key, new-key; see cstp help evidence\n',
    ])
    const method = await run(['call', 'getDecision', '--help'])
    expect(method.out).toMatch(/^ {2}revisions +boolean, default false\. /m)
    expect(method.out).not.toContain('--url')
    expect((await run(['help', 'evidence', 'prove'])).out).toContain('usage: cstp evidence prove <seq> [flags]')
  })

  test('call takes parameters from the line, a file and stdin, and tells errors readably', async () => {
    const id = JSON.parse((await run(['query', 'payment', '--json'])).out).decisions[0].id
    const given = JSON.stringify({ id })
    const file = join(dir, 'params.json')
    await writeFile(file, given)
    const answers = [
      await run(['call', 'getDecision', given]),
      await run(['call', 'cstp.getDecision', `@${file}`]),
      await run(['call', 'getDecision', '-'], given),
      await run(['call', 'getDecision', given, '--local']),
    ]
    for (const { status, out } of answers) {
      expect(status).toBe(0)
      expect(JSON.parse(out)).toMatchObject({ id })
    }
    const wrong = await run(['call', 'recordDecision', '{"decison": 1}'])
    expect(wrong).toMatchObject({ status: 1, out: '' })
    expect(wrong.err).toBe('cstp: Invalid params (-32602)\n  decison: unknown parameter; did you mean decision?\n')
    const forPrograms = await run(['call', 'getDecision', '{"id": "ffffffff"}', '--json'])
    expect(JSON.parse(forPrograms.err)).toMatchObject({ error: { code: -32007, data: { id: 'ffffffff' } } })
    expect(await run(['call', 'getStats', '{'])).toMatchObject({ status: 2 })
    expect((await run(['call', 'getStats', '--token', 'wrong'])).err).toContain('refused the credentials')
    expect((await run(['call', 'getStats', '--agent', 'bob'])).err).toContain('needs a token')
    const nobody = await run(['call', 'getStats', '--url', 'http://127.0.0.1:9'])
    expect(nobody).toMatchObject({ status: 1 })
    expect(nobody.err).toStartWith('cstp: nothing listens at http://127.0.0.1:9:')
  })

  test('reindex says how many', async () => {
    expect((await run(['reindex'])).out).toMatch(/^\d+ decisions indexed, in \d+\.\d s\n$/)
    expect(JSON.parse((await run(['reindex', '--local', '--json'])).out)).toMatchObject({ success: true, errors: 0 })
  })
})

test('an import waits where the server limits the rate', async () => {
  const dir = await testDir()
  const service = await testService(bareEnv(dir), ['--rate-limit', '1200', '--log-level', 'error'])
  // The burst is 200: the last twenty wait a second.
  const lines = Array.from({ length: 220 }, (_, index) => ({
    decision: `Number ${index}`,
    category: 'test',
    confidence: 0.5,
  }))
  const input = lines.map((line) => JSON.stringify(line)).join('\n')
  const { status, out } = await cstp(['import', '-', '--url', service.url, '--json'], bareEnv(dir), input)
  expect(JSON.parse(out)).toMatchObject({ imported: 220, skipped: 0 })
  expect(status).toBe(0)
})

test('commands of operators take the token of admin by themselves; a model behind cstp mcp never does', async () => {
  const dir = await testDir()
  const service = await testService(bareEnv(dir))
  const at = ['--url', service.url]
  expect((await cstp(['call', 'reindex', ...at], bareEnv(dir))).status).toBe(0)
  const { agent } = JSON.parse((await cstp(['call', 'listAudit', '{"limit":1}', ...at], bareEnv(dir))).out).entries[0]
  expect(agent).toBe('admin')
  const named = await cstp(['call', 'reindex', ...at, '--agent', 'local'], bareEnv(dir))
  expect(named.err).toContain('needs the scope admin (-32001)')
  const forEvidence = await cstp(['call', 'ingestEvidence', '{"source":"ci","events":[]}', ...at], bareEnv(dir))
  expect(forEvidence.err).toContain('needs the scope evidence (-32001)')
  const { send } = await openRemote({
    url: service.url,
    agent: undefined,
    token: undefined,
    data_dir: dir,
  })
  await expect(send('cstp.reindex', {})).rejects.toThrow('needs the scope admin')
  expect(await send('cstp.getStats', {})).toMatchObject({ total: 0 })
})

test('an agent without the scope admin gets this error once', async () => {
  const dir = await testDir()
  const service = await testService(
    bareEnv(dir, { CSTP_AUTH_TOKENS: 'boss:token-of-the-boss,worker:token-of-the-worker' }),
  )

  const { status, err, out } = await cstp(
    ['import', shop, '--url', service.url, '--agent', 'worker', '--token', 'token-of-the-worker'],
    bareEnv(dir),
  )
  expect({ status, out }).toEqual({ status: 1, out: '' })
  expect(err).toMatch(/^cstp: .*need the scope admin \(-32001\)\n$/)
})
