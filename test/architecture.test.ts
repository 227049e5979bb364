/** Who may import whom, who may touch the machine, and what every file has. The rules stand in docs/design/architecture.md. */
import { describe, expect, test } from 'bun:test'
import { readdir } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'

const root = join(import.meta.dir, '..')

interface Source {
  path: string
  text: string
  /** Without comments. */
  code: string
  /** Paths of this repository, and names of packages. */
  imports: string[]
}

/** Every specifier of an import or an export, types too, static or not. */
const specifiers =
  /\b(?:import|export)\s[^'"`;]*?\bfrom\s*['"]([^'"]+)['"]|\bimport\s*['"]([^'"]+)['"]|\b(?:import|require)\(\s*['"]([^'"]+)['"]/g

export function parseSource(path: string, text: string): Source {
  const code = text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|[\s;,{}()])\/\/.*$/gm, '$1')
  const imports = [...code.matchAll(specifiers)].map((match) => {
    const given = (match[1] ?? match[2] ?? match[3])!
    return given.startsWith('.') ? relative(root, join(root, dirname(path), given)) : given
  })
  return { path, text, code, imports }
}

const sources = await Promise.all(
  ['src', 'sdk'].map(async (folder) => {
    const files = (await readdir(join(root, folder), { recursive: true })).filter(
      (file) => /\.tsx?$/.test(file) && !file.startsWith('dist/'),
    )
    return Promise.all(
      files.map(async (file) => {
        const path = join(folder, file)
        return parseSource(path, await Bun.file(join(root, path)).text())
      }),
    )
  }),
).then((lists) => lists.flat().sort((a, b) => (a.path < b.path ? -1 : 1)))

/** The rule of the first pattern that fits a file holds for it. */
const mayImport: [RegExp, RegExp, string][] = [
  [/^sdk\/storage\/conformance\//, /^sdk\/|^bun:test$|^valibot$/, 'suites import the sdk and the test runner'],
  [/^sdk\//, /^sdk\/|^valibot$/, 'sdk imports only itself (and valibot, its optional peer)'],
  [
    /^src\/domain\/guardrail\//,
    /^sdk\/|^src\/domain\/|^node:crypto$|^valibot$|^yaml$|^@marcbachmann\/cel-js$/,
    'rules are parsed and compiled by libraries that touch nothing',
  ],
  [/^src\/domain\//, /^sdk\/|^src\/domain\/|^node:crypto$|^valibot$/, 'domain imports sdk and domain'],
  [
    /^src\/verify\//,
    /^src\/verify\/|^src\/domain\/evidence\/hash\.ts$|^node:crypto$/,
    'the offline verifier shares the hash formula with the writer, and nothing else',
  ],
  [
    /^src\/policy\//,
    /^sdk\/|^src\/domain\/|^src\/policy\/|^src\/surfaces\/log\.ts$|^node:|^guardrails\//,
    'policy reads rule files for the domain',
  ],
  [
    /^src\/transparency\//,
    /^sdk\/|^src\/domain\/evidence\/|^src\/transparency\/|^src\/key\.ts$|^node:/,
    'who looks at a log from outside knows its proofs and nothing of the server',
  ],
  [
    /^src\/methods\//,
    /^sdk\/|^src\/domain\/|^src\/methods\/|^src\/(?:method|context)\.ts$|^valibot$/,
    'methods import sdk, domain, method and context',
  ],
  [
    /^src\/(?:method|context)\.ts$/,
    /^sdk\/|^src\/domain\/|^src\/context\.ts$|^src\/surfaces\/(?:auth|log)\.ts$|^valibot$/,
    'method and context name types only',
  ],
  ...['store', 'vectors', 'embedder', 'evidence'].map((port): [RegExp, RegExp, string] => [
    new RegExp(`^src/drivers/${port}/`),
    new RegExp(`^sdk/|^src/drivers/(?:${port}|postgres|sqlite)/|^(?!src/)`),
    'drivers import sdk, their own port, what all drivers of one engine share, and libraries',
  ]),
  [
    /^src\/drivers\/(?:postgres|sqlite)\//,
    /^sdk\/|^src\/drivers\/(?:postgres|sqlite)\/|^(?!src\/)/,
    'an engine knows no driver',
  ],
  [
    /^src\/dashboard\//,
    /^sdk\/(?:client|errors)(?:\.ts$|\/)|^src\/dashboard\/|^preact(?:\/hooks)?$|^d3-(?:force|scale|shape)$/,
    'what runs in a browser knows the client and its own pages, and nothing of the server',
  ],
  [
    /^src\/surfaces\/cli\//,
    /^(?!src\/(?:domain|drivers)\/)/,
    'the command line opens programs, but knows no domain and no driver',
  ],
  [
    /^src\/surfaces\//,
    /^sdk\/|^src\/surfaces\/|^src\/(?:registry|method|params|json-schema|version)\.ts$|^(?!src\/)/,
    'surfaces import registry, sdk and surfaces',
  ],
  [/^src\/(?:params|version)\.ts$/, /^sdk\/|^valibot$|^package\.json$/, 'params and version are leaves'],
  [
    /^src\/(?:config(?:\.ts$|\/)|(?:token|key)\.ts$)/,
    /^sdk\/|^src\/surfaces\/auth\.ts$|^src\/config\/|^node:|^yaml$/,
    'settings, token and keys know credentials',
  ],
  [
    /^src\/(?:json-schema\.ts$|openrpc(?:\.ts$|\/))/,
    /^sdk\/|^src\/(?:json-schema|method|version)\.ts$|^src\/openrpc\/|^valibot$|^@valibot\/to-json-schema$/,
    'documents are made from declarations alone',
  ],
  [
    /^src\/registry\.ts$/,
    /^sdk\/|^src\/(?:methods|surfaces)\/|^src\/(?:context|method|openrpc|params)\.ts$|^valibot$/,
    'the registry knows methods',
  ],
  [/^src\/(?:server|main|generate|build)(?:\.ts$|\/)/, /./, 'server, main, generate and build import everything'],
]

const strangers = (source: Source): string[] => {
  const rule = mayImport.find(([files]) => files.test(source.path))
  if (!rule) return [`${source.path} stands where no rule allows a file`]
  const [, allowed, sentence] = rule
  return source.imports.filter((one) => !allowed.test(one)).map((one) => `${source.path} imports ${one}: ${sentence}`)
}

/** What reaches out of the program: files, environment, clock, chance. */
const machine =
  /\bBun\.[a-zA-Z]|\bprocess\.|\bglobalThis\b|['"]node:(?:fs|os|net|child_process|worker_threads)|['"]bun:(?!test)|\bDate\.now\b|\bnew Date\(\)|\bperformance\.|\bset(?:Timeout|Interval|Immediate)\(|\bMath\.random\b|\brandom(?:Bytes|UUID)\b|\bgetRandomValues\b|\bfetch\(/
/** Where that is allowed. Domain, methods and sdk get it handed in. */
const touches: [RegExp, RegExp][] = [
  [/^src\/(?:drivers|surfaces)\//, /./],
  [/^src\/(?:server|main|generate|build)(?:\.ts$|\/)|^src\/(?:token|key)\.ts$|^src\/transparency\//, /./],
  [/^src\/policy\//, /^['"]node:fs$/],
  [/^src\/config(?:\.ts$|\/)/, /^['"]node:os$/],
  [/^src\/registry\.ts$/, /^performance\.$/],
  [/^sdk\/storage\/conformance\//, /./],
  // Web standards only.
  [/^src\/dashboard\//, /^(?:fetch\(|setTimeout\(|setInterval\(|Date\.now|new Date\(\)|performance\.)$/],
  [/^sdk\/client\//, /^(?:fetch\(|setTimeout\(|performance\.|Math\.random)$/],
]

function reaching({ path, code }: Source): string[] {
  const allowed = touches.filter(([files]) => files.test(path)).map(([, what]) => what)
  return [...code.matchAll(new RegExp(machine, 'g'))]
    .map(([what]) => what)
    .filter((what) => !allowed.some((one) => one.test(what)))
    .map((what) => `${path} touches ${what}`)
}

test('there is something to look at', () => {
  expect(sources.length).toBeGreaterThan(50)
  expect(sources.find(({ path }) => path === 'src/server.ts')?.imports).toContain('src/server/drivers.ts')
})

test('files import what they may', () => {
  expect(sources.flatMap(strangers)).toEqual([])
})

test('only drivers, surfaces, server and main touch the machine', () => {
  expect(sources.flatMap(reaching)).toEqual([])
})

test('every file opens with a comment on its job', () => {
  const silent = sources.filter(
    ({ path, text }) => !path.endsWith('.gen.ts') && !/^(?:#!.*\n)?\/\*\*\s*(?:\n \* )?\S/.test(text),
  )
  expect(silent.map(({ path }) => path)).toEqual([])
})

test('the index lists every method, and each file exports the one that it is named after', () => {
  const index = sources.find(({ path }) => path === 'src/methods/index.ts')!
  const files = sources.filter(({ path }) => /^src\/methods\/[^/]+\.ts$/.test(path) && path !== index.path)
  expect(index.imports.sort()).toEqual(files.map(({ path }) => path))
  for (const { path, code } of files) {
    const name = path.slice('src/methods/'.length, -'.ts'.length)
    expect(code).toContain(`export const ${name} = defineMethod(`)
    expect(index.code).toContain(`export { ${name} } from './${name}.ts'`)
  }
})

test('files are short', () => {
  const lengths = sources.map(({ text }) => text.split('\n').length).sort((a, b) => a - b)
  expect(lengths[Math.floor(lengths.length / 2)]).toBeLessThan(90)
})

describe('the rules find what breaks them', () => {
  const broken = (path: string, text: string) => {
    const source = parseSource(path, text)
    return [...strangers(source), ...reaching(source)]
  }
  test.each([
    ['sdk/x.ts', "import { a } from '../src/version.ts'"],
    ['sdk/x.ts', "import prom from 'prom-client'"],
    ['src/domain/x.ts', "import type { Call } from '../context.ts'"],
    ['src/domain/x.ts', "export * from '../drivers/store/memory.ts'"],
    ['src/domain/x.ts', "const x = await import('../surfaces/http.ts')"],
    ['src/domain/x.ts', "import { readFile } from 'node:fs/promises'"],
    ['src/domain/x.ts', 'const now = Date.now()'],
    ['src/domain/x.ts', 'const now = new Date()'],
    ['src/domain/x.ts', 'const id = crypto.randomUUID()'],
    ['src/methods/x.ts', "import {\n  a,\n} from '../registry.ts'"],
    ['src/methods/x.ts', "import '../drivers/store/memory.ts'"],
    ['src/methods/x.ts', 'await Bun.sleep(1)'],
    ['src/methods/x.ts', 'const { HOME } = process.env'],
    ['src/drivers/store/x.ts', "import { a } from '../../domain/stem.ts'"],
    ['src/drivers/store/x.ts', "import { a } from '../vectors/exact.ts'"],
    ['src/surfaces/x.ts', "import { a } from '../server.ts'"],
    ['src/surfaces/x.ts', "import { a } from '../domain/search.ts'"],
    ['src/surfaces/cli/x.ts', "import { a } from '../../drivers/store/sqlite.ts'"],
    ['src/params.ts', "import { a } from './registry.ts'"],
    ['src/registry.ts', "import { a } from './drivers/store/memory.ts'"],
    ['src/registry.ts', 'setTimeout(() => {}, 1)'],
    ['src/verify/x.ts', "import { canonical } from '../domain/evidence/canonical.ts'"],
    ['src/verify/x.ts', "import type { EvidenceRecord } from '../../sdk/storage/evidence.ts'"],
    ['src/dashboard/x.tsx', "import { a } from '../domain/search.ts'"],
    ['src/dashboard/x.tsx', "import { a } from '../../sdk/schema/decision.ts'"],
    ['src/utils.ts', ''],
    ['src/drivers/x.ts', ''],
  ])('%j: %j', (path, text) => expect(broken(path, text)).not.toEqual([]))

  test.each([
    ['src/domain/x.ts', "/** Date.now() and import x from '../server.ts' */\n// process.env\nconst at = new Date(5)"],
    [
      'src/domain/x.ts',
      "import type { Store } from '../../sdk/storage/store.ts'\nimport { createHash } from 'node:crypto'",
    ],
    [
      'src/drivers/store/x.ts',
      "import { Database } from 'bun:sqlite'\nimport { a } from './sqlite/rows.ts'\nDate.now()",
    ],
    ['src/server.ts', "await import('./drivers/store/sqlite.ts')"],
  ])('and nothing else: %j: %j', (path, text) => expect(broken(path, text)).toEqual([]))
})
