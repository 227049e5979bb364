/** Drivers from outside: the examples of the documentation serve, and a module that is none is named with what was expected. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { loadDrivers } from '../../src/app/own-drivers.ts'
import { bareEnv, cstp, root, startServer, testDir } from '../support/process.ts'

setDefaultTimeout(120_000)

const example = join(root, 'docs/examples/driver/embedder.ts')
const stores = join(root, 'docs/examples/driver/store.ts')

test('the example serves: its vectors find decisions, and nothing else is taken for them', async () => {
  const dir = await testDir()
  const env = { CSTP_AUTH_TOKENS: 'local:secret-of-the-test', CSTP_DRIVERS: example }
  const server = await startServer({ dir, env })
  for (const decision of ['Keep sessions in PostgreSQL', 'Write the handbook in English'])
    await server.call('recordDecision', { decision, category: 'architecture', confidence: 0.8 })
  const found = await server.call('queryDecisions', {
    query: 'postgres session',
    retrieval_mode: 'semantic',
    limit: 1,
  })
  expect(found.decisions).toMatchObject([{ title: 'Keep sessions in PostgreSQL' }])
  await server.kill()
  const { out } = await cstp(['doctor', '--json'], bareEnv(dir, { ...env, CSTP_EMBEDDER: 'local' }))
  expect(JSON.parse(out).findings.filter(({ check }: { check: string }) => check === 'vectors')).toEqual([])
  const without = await cstp(['doctor', '--json'], bareEnv(dir, { CSTP_EMBEDDER: 'hash' }))
  expect(without.out).toContain('the vectors are from trigrams/512/1, but the settings name hash/')
})

test('a whole service runs on a store and an evidence log from outside', async () => {
  const dir = await testDir()
  const server = await startServer({ dir, env: { CSTP_DRIVERS: `${stores},${example}` } })
  const { call } = server
  const given = { decision: 'Keep sessions in PostgreSQL', category: 'architecture', confidence: 0.8 }
  const { decision_id } = await call('recordDecision', { ...given, stakes: 'high', tags: ['sessions'] })
  const { decision_id: other } = await call('recordDecision', { ...given, decision: 'Write the handbook in English' })
  await call('linkDecisions', { source_id: other, target_id: decision_id, edge_type: 'relates_to' })
  for (const retrieval_mode of ['semantic', 'keyword', 'hybrid']) {
    const found = await call('queryDecisions', { query: 'postgres session', retrieval_mode, limit: 1 })
    expect(found.decisions).toMatchObject([{ id: decision_id }])
  }
  const judged = { description: 'Drop the table', category: 'architecture', stakes: 'high', confidence: 0.1 }
  const { allowed, record_id } = await call('checkGuardrails', { action: judged })
  expect(allowed).toBe(false)
  await call('reviewDecision', { id: decision_id, outcome: 'success', actual_result: 'They survive a restart' })
  expect(await call('getDecision', { id: decision_id })).toMatchObject({ outcome: 'success' })
  expect(await call('getStats', {})).toMatchObject({ total: 2 })
  expect((await call('listAudit', { limit: 50 })).entries).not.toBeEmpty()
  const payload = { pr_number: 7, state: 'approved' }
  const event = { event_type: 'review', ts: '2026-07-31T10:00:00Z', payload }
  await call('ingestEvidence', { source: 'ci', events: [event] })
  expect(await call('verifyEvidenceChain', {})).toMatchObject({ intact: true, records: 1 })
  await call('eraseDecision', { id: other, basis: 'GDPR Art. 17', reason: 'It names a person' })
  for (const asked of [{ decision_id }, { record_id }])
    expect((await call('getReceipt', asked)).receipts).not.toBeEmpty()
  expect(await server.kill()).toBe(0)
  expect(existsSync(join(dir, 'cstp.db'))).toBe(false)
  expect(existsSync(join(dir, 'provenance.db'))).toBe(false)
})

test('commands that work on files say that they do not know those of a driver from outside', async () => {
  const dir = await testDir()
  const env = bareEnv(dir, { CSTP_DRIVERS: stores })
  const unknown = 'store and evidence of CSTP_DRIVERS: cstp does not know the files of these drivers, so it '
  const to = join(dir, 'copy')
  for (const [command, why] of [
    [['backup', to], "can't back them up: use their own tools"],
    [['restore', to], "can't restore them: use their own tools"],
    [['migrate', '--from', dir, '--to', to], "can't migrate them: unset CSTP_DRIVERS"],
  ] as const) {
    const { status, err } = await cstp([...command], env)
    expect(err).toContain(unknown + why)
    expect(status).toBe(2)
  }
  const { out } = await cstp(['doctor', '--json'], env)
  const { findings } = JSON.parse(out) as { findings: { check: string; severity: string; what: string }[] }
  expect(findings.filter(({ check }) => check === 'drivers')).toMatchObject([
    {
      severity: 'note',
      what: `${unknown}left out databases, decisions, erasures, vectors, search, evidence, sessions, thread`,
    },
  ])
  expect(findings.filter(({ severity }) => severity === 'error')).toEqual([])
})

test('a service on drivers from outside does not start once they lost the acts that it signed', async () => {
  const dir = await testDir()
  const env = { CSTP_DRIVERS: stores }
  const server = await startServer({ dir, env })
  await server.call('recordDecision', { decision: 'Use SQLite', category: 'architecture', confidence: 0.8 })
  await server.kill()
  const { status, err } = await cstp(['serve', '--port', '0'], bareEnv(dir, env))
  expect(status).not.toBe(0)
  expect(err).toContain('the store of CSTP_DRIVERS: ')
})

test.each([
  ['a module that does not exist', null, "can't be loaded: "],
  ['one that fails', 'throw new Error("no licence")', "can't be loaded: no licence"],
  [
    'one that exports nothing',
    'export const embedder = 1',
    'expected a default export with some of store, evidence, embedder, search',
  ],
  [
    'a port with a typo',
    'export default { embeder: async () => ({}) }',
    'embeder is not a port; did you mean embedder?',
  ],
  [
    'what is no port',
    'export default { printer: async () => ({}) }',
    'printer is not a port; known are store, evidence, embedder, search',
  ],
  ['a port that is not opened', 'export default { search: {} }', 'search: expected a function that opens it'],
  [
    'what is no driver',
    'export default { embedder: async () => ({ driver: "x", close() {} }) }',
    'what embedder opens lacks id,',
  ],
])('%s stops the start by name', async (_, text, why) => {
  const dir = await testDir()
  const module = join(dir, 'mine.ts')
  if (text !== null) await writeFile(module, text)
  const { status, err } = await cstp(['serve', '--port', '0'], bareEnv(dir, { CSTP_DRIVERS: module }))
  expect(status).toBe(2)
  expect(err).toContain(`CSTP_DRIVERS: ${module}: `)
  expect(err).toContain(why)
})

test('two modules for one port are both named', async () => {
  const dir = await testDir()
  const other = join(dir, 'other.ts')
  await writeFile(other, 'export default { embedder: async () => ({}) }')
  await expect(loadDrivers([example, other])).rejects.toThrow(`${other}: embedder is exported by ${example} too`)
})
