/** Who may import whom, who may touch the machine, and what every file has. The rules are in docs/design/architecture.md. */
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

function parseSource(path: string, text: string): Source {
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

/**
 * The layers from the bottom up: a file imports its own layer and those below it. The first pattern that fits a file places it. `only`
 * narrows what a layer may import of those below it, and `packages` the libraries.
 */
interface Layer {
  files: RegExp
  only?: RegExp
  packages?: RegExp
}
const rules = /^node:crypto$|^valibot$|^yaml$|^@marcbachmann\/cel-js$|^unbash$|^re2js$/
const pure = /^node:crypto$|^valibot$/
/** The folders of the domain from the bottom up, with those that each may import. */
const domainFolders: Record<string, string[]> = {
  record: [],
  search: ['record'],
  policy: ['record', 'search'],
  learn: ['record', 'search', 'policy'],
  ledger: ['record', 'policy'],
  lifecycle: ['record', 'search', 'policy', 'learn'],
  hook: ['record', 'search', 'policy', 'learn', 'ledger', 'lifecycle'],
  gateway: ['record', 'search', 'policy', 'learn', 'ledger', 'lifecycle', 'hook'],
  erasure: ['record', 'search', 'policy', 'learn', 'ledger', 'hook'],
}
// Rules are parsed and compiled, and words stemmed, by libraries that touch nothing.
const domainPackages: Record<string, RegExp> = { policy: rules, search: /^stemmer$|^valibot$/ }
const domainLayers = Object.entries(domainFolders).map(
  ([folder, below]): Layer => ({
    files: new RegExp(`^src/domain/${folder}/`),
    only: new RegExp(`^sdk/|^src/core/|^src/domain/(?:${[folder, ...below].join('|')})/`),
    packages: domainPackages[folder] ?? pure,
  }),
)

const layers: Layer[] = [
  { files: /^sdk\/(?!storage\/conformance\/)/, packages: /^valibot$/ },
  { files: /^sdk\/storage\/conformance\//, packages: /^bun:test$|^valibot$/ },
  // What a browser runs knows the client and its own pages, and nothing of the server.
  {
    files: /^src\/dashboard\//,
    only: /^sdk\/(?:client|errors)(?:\.ts$|\/)|^sdk\/schema\/decision-fields\.ts$|^src\/dashboard\//,
    packages: /^preact(?:\/hooks)?$/,
  },
  { files: /^src\/core\//, packages: /^node:|^valibot$|^@valibot\/to-json-schema$|^package\.json$/ },
  // An engine knows no driver, a driver no other port's.
  { files: /^src\/drivers\/shared\//, only: /^sdk\/|^src\/core\/|^src\/drivers\/shared\// },
  ...['store', 'search', 'embedder', 'evidence'].map((port) => ({
    files: new RegExp(`^src/drivers/${port}/`),
    only: new RegExp(`^sdk/|^src/core/|^src/drivers/(?:${port}|shared)/`),
  })),
  ...domainLayers,
  // The offline verifier shares the hash formulas and the version of the format with the writers, and nothing else.
  {
    files: /^src\/verify\//,
    only: /^src\/verify\/|^src\/core\/format\.ts$|^src\/domain\/ledger\/(?:evidence\/hash|thread\/commitment)\.ts$/,
    packages: /^node:crypto$/,
  },
  { files: /^src\/policy\//, only: /^sdk\/|^src\/(?:core|domain|policy)\/|^guardrails\//, packages: /^node:/ },
  {
    files: /^src\/transparency\//,
    only: /^sdk\/|^src\/core\/|^src\/domain\/ledger\/(?:engine|thread)\/|^src\/(?:verify|transparency)\//,
    packages: /^node:|^bun:sqlite$/,
  },
  { files: /^src\/calls\//, only: /^sdk\/|^src\/(?:core|domain|calls)\//, packages: pure },
  // A method imports no other one: what two share is of the domain.
  { files: /^src\/methods\/(?!(?:index|table)\.ts$)/, only: /^sdk\/|^src\/(?:core|domain|calls)\//, packages: pure },
  { files: /^src\/methods\//, only: /^src\/(?:calls|methods)\// },
  { files: /^src\/surfaces\//, only: /^sdk\/|^src\/(?:core|calls|surfaces)\/|^src\/methods\/table\.ts$/ },
  { files: /^src\/app\// },
  { files: /^src\/cli\//, only: /^(?!src\/(?:domain|drivers)\/)/ },
  { files: /^src\/main\.ts$|^src\/(?:generate|build)\// },
]
const layerOf = (path: string): number => layers.findIndex(({ files }) => files.test(path))
const isOurs = (path: string): boolean => /^(?:src|sdk|guardrails)\//.test(path) || path === 'package.json'

const strangers = ({ path, imports }: Source): string[] => {
  const own = layerOf(path)
  if (own === -1) return [`${path} is in no layer`]
  const { only, packages } = layers[own]!
  return imports.flatMap((one) => {
    if (!isOurs(one)) return packages && !packages.test(one) ? [`${path} imports the package ${one}`] : []
    if (layerOf(one) > own) return [`${path} imports ${one}, which is above it`]
    return only && !only.test(one) && !packages?.test(one) ? [`${path} imports ${one}`] : []
  })
}

/** What imports itself through others: the strongly connected parts of more than one member. */
function circles(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const index = new Map<string, number>()
  const low = new Map<string, number>()
  const stack: string[] = []
  const found: string[][] = []
  const visit = (path: string): void => {
    index.set(path, index.size)
    low.set(path, index.get(path)!)
    stack.push(path)
    for (const next of imports.get(path)!) {
      if (!imports.has(next)) continue
      if (!index.has(next)) visit(next)
      if (stack.includes(next)) low.set(path, Math.min(low.get(path)!, low.get(next)!))
    }
    if (low.get(path) !== index.get(path)) return
    const part = stack.splice(stack.indexOf(path))
    if (part.length > 1 || imports.get(path)!.includes(path)) found.push(part.sort())
  }
  for (const path of imports.keys()) if (!index.has(path)) visit(path)
  return found
}

const importsOfFiles = (all: readonly Source[]) => new Map(all.map(({ path, imports }) => [path, imports]))

/** The circles among the entries of each folder below `top`: a folder imports what the files in it import. */
function circlesOfFolders(all: readonly Source[], top: string): string[][] {
  const levels = new Map<string, Map<string, string[]>>()
  for (const { path, imports } of all) {
    if (!path.startsWith(`${top}/`)) continue
    const steps = path.split('/')
    for (let depth = top.split('/').length; depth < steps.length; depth++) {
      const folder = `${steps.slice(0, depth).join('/')}/`
      const entryOf = (file: string) => folder + file.slice(folder.length).split('/')[0]
      const entries = levels.get(folder) ?? new Map<string, string[]>()
      levels.set(folder, entries)
      const own = entryOf(path)
      const others = imports.filter((one) => one.startsWith(folder)).map(entryOf)
      entries.set(own, [...(entries.get(own) ?? []), ...others.filter((one) => one !== own)])
    }
  }
  return [...levels.values()].flatMap(circles)
}

/** What reaches out of the program: files, environment, clock, chance. */
const machine =
  /\bBun\.[a-zA-Z]|\bprocess\.|\bglobalThis\b|['"]node:(?:fs|os|net|child_process|worker_threads)|['"]bun:(?!test)|\bDate\.now\b|\bnew Date\(\)|\bperformance\.|\bset(?:Timeout|Interval|Immediate)\(|\bMath\.random\b|\brandom(?:Bytes|UUID)\b|\bgetRandomValues\b|\bfetch\(/
/** Where that is allowed. Domain, methods and sdk get it handed in. */
const touches: [RegExp, RegExp][] = [
  [/^src\/(?:drivers|surfaces|app|cli|transparency|generate|build)\/|^src\/main\.ts$/, /./],
  [/^src\/core\/(?:disk|(?:token|key)-file)\.ts$/, /^['"]node:fs$|^process\.$|^random/],
  [/^src\/core\/log\.ts$/, /^setTimeout\($/],
  [/^src\/policy\//, /^['"]node:fs$/],
  [/^src\/calls\/dispatch\.ts$/, /^performance\.$/],
  // A hash is as pure as the rest.
  [/^src\/domain\/ledger\/(?:evidence\/hash|engine\/tree)\.ts$/, /^Bun\.S$/],
  [/^sdk\/storage\/conformance\//, /./],
  // Web standards only.
  [
    /^src\/dashboard\//,
    /^(?:fetch\(|setTimeout\(|setInterval\(|Date\.now|new Date\(\)|performance\.|getRandomValues)$/,
  ],
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
  expect(sources.find(({ path }) => path === 'src/app/server.ts')?.imports).toContain('src/app/drivers.ts')
})

test('files import what they may', () => {
  expect(sources.flatMap(strangers)).toEqual([])
})

test('no files import each other in a circle', () => {
  expect(circles(importsOfFiles(sources))).toEqual([])
})

test('no folders of the domain import each other in a circle, at any level', () => {
  expect(circlesOfFolders(sources, 'src/domain')).toEqual([])
})

test('only drivers, surfaces, app and cli touch the machine', () => {
  expect(sources.flatMap(reaching)).toEqual([])
})

test('nobody opens a store that tells the thread nothing but those who copy it', () => {
  const bare = sources.filter(({ imports }) => imports.some((one) => /drivers\/store\/\w+\/driver\.ts$/.test(one)))
  expect(bare.map(({ path }) => path)).toEqual(['src/app/drivers.ts', 'src/app/migrate/sides.ts'])
})

test('every file opens with a comment on its job', () => {
  const silent = sources.filter(
    ({ path, text }) => !path.endsWith('.gen.ts') && !/^(?:#!.*\n)?\/\*\*\s*(?:\n \* )?\S/.test(text),
  )
  expect(silent.map(({ path }) => path)).toEqual([])
})

test('the index lists every method, and each file exports the one that it is named after', () => {
  const index = sources.find(({ path }) => path === 'src/methods/index.ts')!
  const files = sources.filter(
    ({ path }) => /^src\/methods\/[^/]+\.ts$/.test(path) && path !== index.path && path !== 'src/methods/table.ts',
  )
  expect(index.imports.sort()).toEqual(files.map(({ path }) => path))
  for (const { path, code } of files) {
    const name = path.slice('src/methods/'.length, -'.ts'.length)
    expect(code).toContain(`export const ${name} = defineMethod(`)
    expect(index.code).toContain(`export { ${name} } from './${name}.ts'`)
  }
})

/** Lines by folder, the median file and the largest: `bun test test/architecture.test.ts` prints them. */
test('files are long enough to be read alone, and none is too long', () => {
  const lengths = sources
    .filter(({ path }) => !path.endsWith('.gen.ts'))
    .map(({ path, text }) => ({ path, lines: text.split('\n').length - 1 }))
    .sort((a, b) => a.lines - b.lines)
  const median = lengths[Math.floor(lengths.length / 2)]!.lines
  const largest = lengths.at(-1)!
  const folders = Object.entries(
    Object.groupBy(lengths, ({ path }) =>
      path
        .split('/')
        .slice(0, path.startsWith('src/') ? 2 : 1)
        .join('/'),
    ),
  ).map(([folder, files]) => `${folder} ${files!.reduce((sum, { lines }) => sum + lines, 0)} in ${files!.length}`)
  console.log([`median ${median}, largest ${largest.lines} (${largest.path})`, ...folders].join('\n'))
  expect(median).toBeWithin(60, 250)
  // A suite of a port holds that port's promises in one file.
  const tooLong = lengths.filter(({ path, lines }) => lines > (path.startsWith('sdk/storage/conformance/') ? 360 : 300))
  expect(tooLong).toEqual([])
})

describe('the rules find what breaks them', () => {
  const broken = (path: string, text: string) => {
    const source = parseSource(path, text)
    return [...strangers(source), ...reaching(source)]
  }
  test('a circle of folders that no file closes on its own', () => {
    const sources = [
      parseSource('src/domain/record/decision/a.ts', "import type { B } from '../history/b.ts'"),
      parseSource('src/domain/record/history/b.ts', ''),
      parseSource('src/domain/record/history/c.ts', "export * from '../decision/d.ts'"),
      parseSource('src/domain/record/decision/d.ts', "import { E } from '../../search/e.ts'"),
      parseSource('src/domain/search/e.ts', ''),
    ]
    expect(circles(importsOfFiles(sources))).toEqual([])
    expect(circlesOfFolders(sources, 'src/domain')).toEqual([
      ['src/domain/record/decision', 'src/domain/record/history'],
    ])
  })

  test.each([
    ['sdk/x.ts', "import { a } from '../src/core/version.ts'"],
    ['sdk/x.ts', "import prom from 'prom-client'"],
    ['src/domain/record/x.ts', "import type { Call } from '../../calls/services.ts'"],
    ['src/domain/record/x.ts', "export * from '../../drivers/store/memory.ts'"],
    ['src/domain/record/x.ts', "const x = await import('../../surfaces/http.ts')"],
    ['src/domain/record/x.ts', "import { readFile } from 'node:fs/promises'"],
    ['src/domain/record/x.ts', 'const now = Date.now()'],
    ['src/domain/record/x.ts', 'const now = new Date()'],
    ['src/domain/record/x.ts', 'const id = crypto.randomUUID()'],
    ['src/domain/x.ts', ''],
    ['src/domain/record/x.ts', "import { a } from '../policy/judge/x.ts'"],
    ['src/domain/ledger/x.ts', "import { a } from '../learn/memory/x.ts'"],
    ['src/methods/x.ts', "import {\n  a,\n} from '../surfaces/http/http.ts'"],
    ['src/methods/x.ts', "import '../drivers/store/memory.ts'"],
    ['src/methods/x.ts', "import { a } from './recordDecision.ts'"],
    ['src/methods/preAction/x.ts', "import { a } from '../checkGuardrails.ts'"],
    ['src/methods/x.ts', 'await Bun.sleep(1)'],
    ['src/methods/x.ts', 'const { HOME } = process.env'],
    ['src/drivers/store/x.ts', "import { a } from '../../domain/search/terms.ts'"],
    ['src/drivers/store/x.ts', "import { a } from '../search/resident.ts'"],
    ['src/surfaces/x.ts', "import { a } from '../server.ts'"],
    ['src/surfaces/x.ts', "import { a } from '../domain/search.ts'"],
    ['src/surfaces/cli/x.ts', "import { a } from '../../drivers/store/sqlite.ts'"],
    ['src/core/params.ts', "import { a } from '../calls/dispatch.ts'"],
    ['src/calls/dispatch.ts', "import { a } from '../drivers/store/sqlite/driver.ts'"],
    ['src/calls/dispatch.ts', 'setTimeout(() => {}, 1)'],
    ['src/verify/x.ts', "import { canonical } from '../core/canonical.ts'"],
    ['src/verify/x.ts', "import type { EvidenceRecord } from '../../sdk/storage/evidence.ts'"],
    ['src/dashboard/x.tsx', "import { a } from '../domain/search.ts'"],
    ['src/dashboard/x.tsx', "import { a } from '../../sdk/schema/decision.ts'"],
    ['src/utils.ts', ''],
    ['src/drivers/x.ts', ''],
  ])('%j: %j', (path, text) => expect(broken(path, text)).not.toEqual([]))

  test.each([
    [
      'src/domain/record/x.ts',
      "/** Date.now() and import x from '../../server.ts' */\n// process.env\nconst at = new Date(5)",
    ],
    [
      'src/domain/record/x.ts',
      "import type { Store } from '../../../sdk/storage/store.ts'\nimport { createHash } from 'node:crypto'",
    ],
    [
      'src/drivers/store/x.ts',
      "import { Database } from 'bun:sqlite'\nimport { a } from './sqlite/rows.ts'\nDate.now()",
    ],
    ['src/app/server.ts', "await import('./drivers/store/sqlite.ts')"],
  ])('and nothing else: %j: %j', (path, text) => expect(broken(path, text)).toEqual([]))
})
