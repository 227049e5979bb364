/**
 * Compiles the program into one file that needs nothing else: `bun run build [--full] [--target bun-linux-arm64] [--outfile path]`.
 * LanceDB, half of the size, is only in the full build.
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { bundle } from '../app/dashboard-bundle.ts'
import { site } from '../app/docs/site.ts'
import { licenses } from '../app/licenses.ts'
import { nativeRuntime } from './native.ts'

const root = join(import.meta.dir, '../..')

/** Bundler plugin that replaces a module by its precomputed result, which the compiled program can't compute at run time. */
function madeBefore(module: string, name: string, value: unknown): Bun.BunPlugin & { loaded(): boolean } {
  let loaded = false
  return {
    name: module,
    loaded: () => loaded,
    setup(build) {
      build.onLoad({ filter: new RegExp(`app[\\\\/]${module.replace('/', '[\\\\\\\\/]')}\\.ts$`) }, () => {
        loaded = true
        return { contents: `export const ${name} = async () => (${JSON.stringify(value)})`, loader: 'js' }
      })
    },
  }
}

/** The platform and architecture of a bundler target, as the program will report them. */
export function machineOf(target: string | undefined): { platform: string; arch: string } {
  if (target === undefined) return { platform: process.platform, arch: process.arch }
  const [, platform, arch] = /^bun-(linux|darwin|windows)-(x64|arm64)(?:-[a-z0-9-]+)?$/.exec(target) ?? []
  if (platform === undefined || arch === undefined)
    throw new Error(`--target ${target}: expected bun-<linux|darwin|windows>-<x64|arm64>, such as bun-linux-arm64`)
  return { platform: platform === 'windows' ? 'win32' : platform, arch }
}

/** LanceDB has a package for each platform, and npm installs only the one of this machine. */
function hasLance(target: string | undefined): boolean {
  const { platform, arch } = machineOf(target)
  const libc =
    platform === 'linux' ? (target?.includes('musl') ? '-musl' : '-gnu') : platform === 'win32' ? '-msvc' : ''
  return existsSync(join(root, `node_modules/@lancedb/lancedb-${platform}-${arch}${libc}`))
}

/** Replaces LanceDB: loading it fails with a message that says which build contains it. */
const withoutLance: Bun.BunPlugin = {
  name: 'without-lancedb',
  setup(build) {
    build.onResolve({ filter: /^(?:@lancedb\/lancedb|apache-arrow)$/ }, ({ path }) => ({ path, namespace: 'absent' }))
    build.onLoad({ filter: /./, namespace: 'absent' }, () => ({
      contents: `throw new Error('this build of cstp is without LanceDB: use the full one (cstp-full)')`,
      loader: 'js',
    }))
  },
}

export interface BuildOptions {
  /** Bundler target, such as `bun-linux-arm64`; by default this machine. */
  target?: string | undefined
  outfile?: string | undefined
  /** Includes LanceDB. */
  full?: boolean
}

/** Builds the program for this machine or for a target. Resolves with the path of the executable. */
export async function build({ target, outfile: given, full = false }: BuildOptions = {}): Promise<string> {
  const { platform, arch } = machineOf(target)
  const program = full ? 'cstp-full' : 'cstp'
  const name = `${target ? target.replace(/^bun-/, `${program}-`) : program}${platform === 'win32' ? '.exe' : ''}`
  const outfile = resolve(given ?? join(root, 'dist', name))
  mkdirSync(dirname(outfile), { recursive: true })
  const parts = mkdtempSync(join(tmpdir(), 'cstp-build-'))
  const made = [
    madeBefore('dashboard-bundle', 'bundle', await bundle()),
    madeBefore('docs/site', 'site', await site()),
    madeBefore('licenses', 'licenses', await licenses()),
  ]
  await Bun.build({
    root: join(root, 'src'),
    // Each thread is a separate entry point.
    entrypoints: [
      join(root, 'src/main.ts'),
      ...new Bun.Glob('src/{app,drivers}/**/*worker.ts').scanSync({ cwd: root, absolute: true }),
    ],
    // Native onnxruntime is built for glibc; other platforms use its WebAssembly build.
    plugins: [
      ...made,
      ...(full ? [] : [withoutLance]),
      nativeRuntime(platform, target?.includes('musl') ? 'musl' : arch, join(parts, 'native')),
    ],
    target: 'bun',
    format: 'esm',
    // Precompiled, and split into chunks that are loaded on demand: startup takes a fifth of the time.
    splitting: true,
    bytecode: true,
    minify: { whitespace: true, syntax: true },
    compile: {
      outfile,
      // The rules themselves are bundled; this adds their table tests.
      assets: [join(root, 'guardrails')],
      ...(target && { target: target as Bun.Build.CompileTarget }),
      // The working directory must not change the program's behaviour.
      autoloadDotenv: false,
      autoloadBunfig: false,
      // Drivers of CSTP_DRIVERS import packages, which are resolved by the `exports` of their package.json.
      autoloadPackageJson: true,
    },
  })
  rmSync(parts, { recursive: true })
  for (const { name, loaded } of made)
    if (!loaded()) throw new Error(`src/app/${name}.ts was not found: the program would not have what it makes`)
  return outfile
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { target: { type: 'string' }, outfile: { type: 'string' }, full: { type: 'boolean' } },
  })
  const outfile = await build(values)
  const lines = [`${outfile}: ${(statSync(outfile).size / 1e6).toFixed(0)} MB`]
  if (values.full && !hasLance(values.target))
    lines.push('without LanceDB, whose package for that machine is not installed')
  console.log(lines.join('\n'))
}
