/** What is published is exactly what should be, small, free of any runtime's own names, and works in empty projects of Node and Bun. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import rootManifest from '../../package.json' with { type: 'json' }
import manifest from '../../sdk/package.json' with { type: 'json' }
import { packageProblems } from '../../src/build/check-package.ts'
import { type RunningServer, root, startServer, temporaryDir } from '../support/process.ts'
import { type Packed, pack, project, readmeBlocks, run } from './package.ts'

// Compilers, package managers and a server start here.
setDefaultTimeout(120_000)

/** The adapters of agent frameworks, by their entries. */
const frameworks = Object.fromEntries(
  ['ai', 'claude-agent', 'guard', 'langchain', 'openai-agents'].map((name) => [`./${name}`, `frameworks/${name}.ts`]),
)

const missing = ['node', 'npm'].filter((program) => !Bun.which(program))
if (missing.length > 0)
  console.warn(`${missing.join(' and ')} not found: the tests of the published package are skipped`)

const entries = { './': 'client.ts', ...frameworks }
describe.each(Object.entries(entries))('the entry %s', (name, file) => {
  /** What a browser would load. */
  const bundle = async () => {
    const { outputs, success } = await Bun.build({
      entrypoints: [join(root, 'sdk', file)],
      target: 'browser',
      minify: true,
    })
    expect([success, outputs.length]).toEqual([true, 1])
    return outputs[0]!.text()
  }

  test('is small, minified and gzipped', async () => {
    const bytes = Bun.gzipSync(Buffer.from(await bundle())).byteLength
    console.log(`@cstp/client ${name}: ${bytes} bytes minified and gzipped`)
    expect(bytes).toBeLessThan(file === 'client.ts' ? 15_000 : 3_000)
  })

  test('names nothing that only one runtime has, and imports nothing', async () => {
    const text = await bundle()
    expect(
      text.match(/\bnode:|\bBun\b|\bDeno\b|\bprocess\b|\bBuffer\b|\brequire\b|\bimport\b|\b__dirname\b|\bwindow\b/g),
    ).toBeNull()
  })
})

test('the manifest is in step with the service and has no dependencies', () => {
  expect(manifest.version).toBe(rootManifest.version)
  expect('dependencies' in manifest).toBe(false)
  expect(Object.keys(manifest.peerDependencies)).toEqual(
    Object.entries(manifest.peerDependenciesMeta).flatMap(([name, { optional }]) => (optional ? [name] : [])),
  )
})

describe.skipIf(missing.length > 0)('the package', () => {
  let dir: string
  let packed: Packed
  let server: RunningServer
  let token: string
  beforeAll(async () => {
    dir = await temporaryDir('cstp-package-')
    packed = await pack(dir)
    server = await startServer({ dir: join(dir, 'data') })
    token = (await readFile(join(dir, 'data/token'), 'utf8')).trim()
  })
  afterAll(async () => {
    await server?.kill()
    await rm(dir, { recursive: true, force: true })
  })

  /** README blocks, one after the other, against the running server. */
  const story = async (): Promise<string> =>
    (await readmeBlocks()).join('\n').replaceAll('http://127.0.0.1:9991', server.url)

  test('publint and arethetypeswrong find nothing in it', async () => {
    expect(await packageProblems(packed.tarball)).toEqual([])
  })

  test('holds the built modules of its sources, the manifest, README and LICENSE, and nothing else', async () => {
    const sources = (await readdir(join(root, 'sdk'), { recursive: true }))
      .filter((file) => file.endsWith('.ts') && !file.startsWith('dist/') && !/^nearest\./.test(file))
      .flatMap((file) => ['.js', '.d.ts'].map((ending) => `dist/${file.replace(/\.ts$/, ending)}`))
    expect(packed.files).toEqual(['LICENSE', 'README.md', 'package.json', ...sources].sort())
    expect(await readFile(join(root, 'sdk/LICENSE'), 'utf8')).toBe(await readFile(join(root, 'LICENSE'), 'utf8'))
  })

  test('every entry leads to files of the package', () => {
    const leads = JSON.stringify(manifest.exports).match(/\.\/[^"]+\.(?:js|d\.ts)(?=")/g) ?? []
    expect(leads.length).toBe(2 * (4 + Object.keys(frameworks).length))
    expect(leads.filter((path) => !packed.files.includes(path.slice(2)))).toEqual([])
  })

  test('its README runs in an empty Node project', async () => {
    const home = join(dir, 'node')
    await project(home, packed.tarball, 'npm')
    expect((await readdir(join(home, 'node_modules'))).filter((name) => !name.startsWith('.'))).toEqual(['@cstp'])
    await writeFile(join(home, 'story.js'), await story())
    const out = await run(['node', 'story.js'], home, { CSTP_TOKEN: token })
    expect(out).toContain("outcome: 'success'")
    expect(out).toContain('there is no 1f0c52aa')
  })

  test('its README runs in an empty Bun project, and the drivers from outside pass the suites there', async () => {
    const home = join(dir, 'bun')
    await project(home, packed.tarball, 'bun', ['valibot'])
    expect(existsSync(join(home, 'node_modules/@cstp/client/dist/client.js'))).toBe(true)
    await writeFile(join(home, 'story.js'), await story())
    const bun = { CSTP_TOKEN: token, BUN_BE_BUN: '1' }
    expect(await run([process.execPath, 'story.js'], home, bun)).toContain('"success"')
    await cp(join(root, 'docs/examples/driver'), home, { recursive: true })
    await run([process.execPath, 'test', './embedder.test.ts', './store.test.ts'], home, bun)
  })

  test('every entry loads in Node, and the driver from outside passes the suite there too', async () => {
    const home = join(dir, 'node-driver')
    await project(home, packed.tarball, 'npm', ['valibot'])
    const strip = new Bun.Transpiler({ loader: 'ts' })
    const driver = await readFile(join(root, 'docs/examples/driver/embedder.ts'), 'utf8')
    await writeFile(join(home, 'embedder.js'), strip.transformSync(driver))
    await writeFile(
      join(home, 'driver.test.js'),
      `import { after, before, describe, test } from 'node:test'
import { createClient } from '@cstp/client'
import { DecisionRecord } from '@cstp/client/schema'
import { toolApproval } from '@cstp/client/ai'
import { guardHooks } from '@cstp/client/claude-agent'
import { judge } from '@cstp/client/guard'
import { wrapToolCall } from '@cstp/client/langchain'
import { guardTool } from '@cstp/client/openai-agents'
import { storeConformance, testEmbedder } from '@cstp/client/storage/conformance'
import { openTrigramEmbedder } from './embedder.js'
test('all entries', () => {
  for (const one of [createClient, guardHooks, guardTool, judge, storeConformance, toolApproval, wrapToolCall]) if (typeof one !== 'function') throw new Error('missing')
  if (DecisionRecord.type !== 'object') throw new Error('missing')
})
testEmbedder({ describe, test, beforeAll: before, afterAll: after }, { name: 'trigrams', open: openTrigramEmbedder })
`,
    )
    expect(await run(['node', '--test', 'driver.test.js'], home)).toMatch(/# pass 1\d\n# fail 0/)
  })

  test('its declarations check on their own, as strictly as a compiler can', async () => {
    const home = join(dir, 'types')
    await project(home, packed.tarball, 'npm')
    await writeFile(
      join(home, 'use.ts'),
      `import { type Client, createClient, isCstpError, type RecordDecisionParams } from '@cstp/client'
const client: Client = createClient({ url: 'http://x', agent: 'a', token: 't' })
const params: RecordDecisionParams = { decision: 'x', category: 'y', confidence: 1, stakes: undefined }
const { decision_id } = await client.recordDecision(params, { timeoutMs: 5 })
const id: string = decision_id
const [stats, one] = await client.batch([{ method: 'getStats' }, { method: 'getDecision', params: { id } }])
if (stats.ok && one.ok) console.log(stats.result.total.toFixed(), one.result.bridge.structure.length)
try {
  // @ts-expect-error: confidence is required
  await client.recordDecision({ decision: 'x', category: 'y' })
  // @ts-expect-error: an entry needs its parameters
  await client.batch([{ method: 'getDecision' }])
  // @ts-expect-error: there is no such method
  await client.getDecison({ id })
} catch (error) {
  if (isCstpError(error, 'invalid_params')) console.log(error.data.issues[0]?.expected)
  // @ts-expect-error: this error has no issues
  if (isCstpError(error, 'decision_not_found')) console.log(error.data.issues)
}
`,
    )
    const options =
      '--strict --exactOptionalPropertyTypes --noUncheckedIndexedAccess --noEmit --module nodenext --target es2022'
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    await run(['node', tsc, ...options.split(' '), '--lib', 'es2022,dom', 'use.ts'], home)
  })
})
