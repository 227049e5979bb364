/**
 * `bun run release --dry`: builds everything that a release publishes (client, program, registry entry, bill of materials, site, Dockerfile) in
 * `dist/release` and checks it, without publishing. Without `--dry`, changesets write the changelog and raise the version first.
 */
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { version } from '../core/version.ts'
import { packageProblems } from './check-package.ts'
import { writeDocs } from './docs.ts'
import { makeEntries, makePackages, pack } from './npm.ts'
import { billOfMaterials } from './sbom.ts'

const root = join(import.meta.dir, '../..')

export interface ReleaseOptions {
  /** Bundler targets of the program; by default this machine. */
  targets?: readonly string[]
  registryName?: string
  /** An existing build of the program for this machine. */
  program?: string
  /** Leaves out the site, which takes as long as the rest. */
  withoutDocs?: boolean
  /** `sdk/dist` is up to date with the source. */
  clientIsBuilt?: boolean
  say?(line: string): void
}

export interface Release {
  /** The files, each with the command that would publish it. */
  files: { path: string; command: string }[]
  problems: string[]
}

function run(command: string[], cwd: string): void {
  const { exitCode, stdout, stderr } = Bun.spawnSync(command, { cwd })
  if (exitCode !== 0) throw new Error(`${command.join(' ')} failed:\n${stdout}${stderr}`)
}

/** The Dockerfile must use this repository's version of Bun and must not run as root. */
function recipeProblems(recipe: string): string[] {
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    devDependencies: Record<string, string>
  }
  return [
    ...(recipe.includes(`bun@${devDependencies.bun} `) ? [] : ['Dockerfile: it builds with another Bun']),
    ...(/^USER \d+$/m.test(recipe) ? [] : ['Dockerfile: it runs as root']),
  ]
}

/** Builds and checks a release. @param into folder, emptied first */
export async function makeRelease(into: string, options: ReleaseOptions = {}): Promise<Release> {
  const {
    targets = [],
    registryName = 'io.github.cstp/cstp',
    program,
    withoutDocs = false,
    clientIsBuilt = false,
    say = () => {},
  } = options
  rmSync(into, { recursive: true, force: true })
  mkdirSync(into, { recursive: true })

  say('client: build and pack')
  if (!clientIsBuilt) run([process.execPath, join(root, 'src/generate/build-sdk.ts')], root)
  const client = pack(join(root, 'sdk'), into)
  say('program: build and pack')
  const packages = await makePackages(join(into, 'npm'), targets, program)
  const entries = makeEntries(into, registryName)
  const recipe = join(into, 'Dockerfile')
  cpSync(join(root, 'docs/deploy/Dockerfile'), recipe)
  if (!withoutDocs) {
    say('documentation: write the site')
    await writeDocs(join(into, 'site'))
  }

  say('packages: publint and are-the-types-wrong')
  const tarballs = [client, ...packages]
  const found = await Promise.all(
    tarballs.map(async (path) => (await packageProblems(path)).map((line) => `${basename(path)}: ${line}`)),
  )
  const bom = join(into, `cstp-${version}.cdx.json`)
  writeFileSync(bom, `${JSON.stringify(billOfMaterials(), null, 2)}\n`)
  const files = [
    ...tarballs.map((path) => ({ path, command: `npm publish ${relative(root, path)}` })),
    { path: entries[0]!, command: 'mcp-publisher publish' },
    { path: entries[1]!, command: `gh release upload v${version}` },
    { path: bom, command: `gh release upload v${version}` },
    { path: recipe, command: `docker build -f docs/deploy/Dockerfile -t cstp:${version} .` },
  ]
  const sums = files.map(({ path }) => {
    const sum = createHash('sha256').update(readFileSync(path)).digest('hex')
    return `${sum}  ${relative(into, path)}`
  })
  writeFileSync(join(into, 'SHA256SUMS'), `${sums.join('\n')}\n`)
  return { files, problems: [...found.flat(), ...recipeProblems(readFileSync(recipe, 'utf8'))] }
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      dry: { type: 'boolean', default: false },
      target: { type: 'string', multiple: true, default: [] },
      'registry-name': { type: 'string', default: 'io.github.cstp/cstp' },
    },
  })
  if (!values.dry) {
    run([process.execPath, '--bun', join(root, 'node_modules/@changesets/cli/bin.js'), 'version'], root)
    run([process.execPath, join(root, 'src/generate/main.ts')], root)
    // This process still has the previous version: start a new one.
    const again = [
      '--dry',
      ...values.target.flatMap((one) => ['--target', one]),
      '--registry-name',
      values['registry-name'],
    ]
    const { exitCode } = Bun.spawnSync([process.execPath, import.meta.path, ...again], {
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    process.exit(exitCode)
  }
  const into = join(root, 'dist/release')
  const { files, problems } = await makeRelease(into, {
    targets: values.target,
    registryName: values['registry-name'],
    say: console.log,
  })
  console.log(`\n${version} in ${into}, with SHA256SUMS. Nothing was published; these would be:`)
  for (const { path, command } of files)
    console.log(`  ${relative(into, path)} (${(Bun.file(path).size / 1e6).toFixed(1)} MB): ${command}`)
  console.log(
    `The names of ${files.filter(({ command }) => command.startsWith('npm ')).length} npm packages are not taken before they are published, and anybody may take them: publish first, and only then name them in a page, an action or a workflow (test/build/names.test.ts).`,
  )
  for (const problem of problems) console.error(`PROBLEM ${problem}`)
  if (problems.length > 0) process.exitCode = 1
}
