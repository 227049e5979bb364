/**
 * Builds what is published: the npm packages (`cstp`, which starts the program, and one package with the program for each platform), the
 * MCP registry entry and the MCP bundle. `bun run package [--target bun-linux-arm64 …]` writes them to `dist`; by default this machine.
 */
import { cpSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { version } from '../core/version.ts'
import { methods } from '../methods/table.ts'
import { build, machineOf } from './main.ts'
import { serverJson, writeBundle } from './registry.ts'

const root = join(import.meta.dir, '../..')
/** Platforms with a package of their own, with the bundler target of each. */
export const targets: Readonly<Record<string, string>> = {
  'linux-x64': 'bun-linux-x64',
  'linux-arm64': 'bun-linux-arm64',
  'darwin-x64': 'bun-darwin-x64',
  'darwin-arm64': 'bun-darwin-arm64',
  'win32-x64': 'bun-windows-x64',
}

const shared = {
  version,
  license: 'Apache-2.0',
  type: 'module',
  engines: { node: '>=20' },
  publishConfig: { access: 'public' },
}

function write(folder: string, manifest: object): void {
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  cpSync(join(root, 'LICENSE'), join(folder, 'LICENSE'))
}

/** Writes the package that people install. */
function writeStarter(folder: string): void {
  mkdirSync(folder, { recursive: true })
  for (const name of ['cstp.mjs', 'README.md']) cpSync(join(import.meta.dir, 'package', name), join(folder, name))
  write(folder, {
    name: 'cstp',
    description: 'Decision memory and policy service for software agents: precedents, policy, calibration, evidence.',
    keywords: ['agents', 'decisions', 'guardrails', 'calibration', 'audit', 'mcp'],
    ...shared,
    bin: { cstp: 'cstp.mjs' },
    files: ['cstp.mjs'],
    optionalDependencies: Object.fromEntries(Object.keys(targets).map((machine) => [`@cstp/${machine}`, version])),
  })
}

/** Writes the package of one platform around a compiled program, which is moved into it. */
function writeProgram(folder: string, machine: string, program: string): void {
  const [os, cpu] = machine.split('-') as [string, string]
  const name = os === 'win32' ? 'cstp.exe' : 'cstp'
  mkdirSync(folder, { recursive: true })
  renameSync(program, join(folder, name))
  write(folder, {
    name: `@cstp/${machine}`,
    description: `The program of cstp for ${machine}.`,
    ...shared,
    os: [os],
    cpu: [cpu],
    // The native parts are built for the GNU C library.
    ...(os === 'linux' && { libc: ['glibc'] }),
    files: [name],
  })
}

/** Packs a folder with npm. Resolves with the path of the archive. */
export function pack(folder: string, into: string): string {
  const command = ['npm', 'pack', '--json', '--ignore-scripts', '--pack-destination', into]
  const { exitCode, stdout, stderr } = Bun.spawnSync(command, { cwd: folder })
  if (exitCode !== 0) throw new Error(`npm pack of ${folder} failed: ${stderr}`)
  const [packed] = Object.values(JSON.parse(stdout.toString())) as { filename: string }[]
  return join(into, packed!.filename)
}

/** Builds and packs. @param into folder, emptied first @param built an existing build of the program for this machine */
export async function makePackages(into: string, given: readonly string[] = [], built?: string): Promise<string[]> {
  rmSync(into, { recursive: true, force: true })
  mkdirSync(into, { recursive: true })
  const starter = join(into, 'cstp')
  writeStarter(starter)
  const packed = [pack(starter, into)]
  for (const target of given.length === 0 ? [undefined] : given) {
    const { platform, arch } = machineOf(target)
    const machine = `${platform}-${arch}`
    if (!(machine in targets)) throw new Error(`there is no package for ${machine}: ${Object.keys(targets).join(', ')}`)
    const program = join(into, `program-${machine}`)
    if (target === undefined && built !== undefined) cpSync(built, program)
    else await build({ target, outfile: program })
    const folder = join(into, machine)
    writeProgram(folder, machine, program)
    packed.push(pack(folder, into))
  }
  return packed
}

/** Writes `server.json` and packs the MCP bundle. Resolves with their paths. */
export function makeEntries(into: string, name: string): string[] {
  const tools = [...methods.values()].flatMap(({ mcp }) => (mcp ? [{ name: mcp.name, description: mcp.title }] : []))
  const entry = join(into, 'server.json')
  writeBundle(join(into, 'mcpb'), tools)
  writeFileSync(entry, `${JSON.stringify(serverJson(name), null, 2)}\n`)
  const bundle = join(into, `cstp-${version}.mcpb`)
  const mcpb = join(root, 'node_modules/@anthropic-ai/mcpb/dist/cli/cli.js')
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, mcpb, 'pack', join(into, 'mcpb'), bundle])
  if (exitCode !== 0) throw new Error(`mcpb pack failed: ${stderr}`)
  return [entry, bundle]
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      target: { type: 'string', multiple: true },
      // The registry verifies the part before the slash: it must be the account or domain of the publisher.
      'registry-name': { type: 'string', default: 'io.github.cstp/cstp' },
    },
  })
  const dist = join(root, 'dist')
  const made = [
    ...(await makePackages(join(dist, 'npm'), values.target)),
    ...makeEntries(dist, values['registry-name']),
  ]
  for (const path of made) console.log(`${path}: ${(Bun.file(path).size / 1e6).toFixed(1)} MB`)
}
