/** Drivers from outside: the example of the documentation serves, and a module that is none is named with what was expected. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { loadDrivers } from '../../src/app/own-drivers.ts'
import { bareEnv, cstp, inTemporaryDir, root, startServer } from '../support/process.ts'

setDefaultTimeout(120_000)

const example = join(root, 'docs/examples/driver/embedder.ts')

test('the example serves: its vectors find decisions, and nothing else is taken for them', () =>
  inTemporaryDir(async (dir) => {
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
  }))

test.each([
  ['a module that does not exist', null, "can't be loaded: "],
  ['one that fails', 'throw new Error("no licence")', "can't be loaded: no licence"],
  ['one that exports nothing', 'export const embedder = 1', 'expected a default export with embedder or search'],
  [
    'a port with a typo',
    'export default { embeder: async () => ({}) }',
    'embeder is not a port; did you mean embedder?',
  ],
  [
    'a port that stays inside',
    'export default { store: async () => ({}) }',
    'store is not a port; known are embedder, search',
  ],
  ['a port that is not opened', 'export default { search: {} }', 'search: expected a function that opens it'],
  [
    'what is no driver',
    'export default { embedder: async () => ({ driver: "x", close() {} }) }',
    'what embedder opens lacks id,',
  ],
])('%s stops the start by name', (_, text, why) =>
  inTemporaryDir(async (dir) => {
    const module = join(dir, 'mine.ts')
    if (text !== null) await writeFile(module, text)
    const { status, err } = await cstp(['serve', '--port', '0'], bareEnv(dir, { CSTP_DRIVERS: module }))
    expect(status).toBe(2)
    expect(err).toContain(`CSTP_DRIVERS: ${module}: `)
    expect(err).toContain(why)
  }),
)

test('two modules for one port are both named', () =>
  inTemporaryDir(async (dir) => {
    const other = join(dir, 'other.ts')
    await writeFile(other, 'export default { embedder: async () => ({}) }')
    await expect(loadDrivers([example, other])).rejects.toThrow(`${other}: embedder is exported by ${example} too`)
  }))
