/** The published package: built, packed, and installed into an empty project, without a network. */

import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { built, root, run as runToEnd } from '../support/process.ts'

const quiet = { HOME: process.env.HOME ?? '', PATH: process.env.PATH ?? '' }

/** What a program wrote. @throws with all of it when it fails */
export async function run(command: string[], cwd: string, env: Record<string, string> = {}): Promise<string> {
  const { out, err, status } = await runToEnd(command, { cwd, env: { ...quiet, ...env } })
  if (status !== 0) throw new Error(`${command.join(' ')} ended with ${status}:\n${out}\n${err}`)
  return out
}

export interface Packed {
  /** Path of the tarball. */
  tarball: string
  /** Paths in it, without the folder that npm puts around them. */
  files: string[]
}

/** Builds, unless `npm test` has, and packs `sdk` as `npm publish` would, into `dir`. */
export async function pack(dir: string): Promise<Packed> {
  if (built === null) await run([process.execPath, join(root, 'src/generate/build-sdk.ts')], root)
  const out = await run(['npm', 'pack', '--json', '--ignore-scripts', '--pack-destination', dir], join(root, 'sdk'))
  const [one] = Object.values(JSON.parse(out)) as { filename: string; files: { path: string }[] }[]
  return { tarball: join(dir, one!.filename), files: one!.files.map(({ path }) => path).sort() }
}

/** A project with the package in it and nothing else but `extra` packages of this repository. */
export async function project(dir: string, tarball: string, using: 'npm' | 'bun', extra: string[] = []): Promise<void> {
  await mkdir(dir, { recursive: true })
  await writeFile(join(dir, 'package.json'), JSON.stringify({ name: 'empty', private: true, type: 'module' }))
  const cache = join(dir, '.cache')
  if (using === 'npm')
    await run(['npm', 'install', tarball, '--offline', '--no-audit', '--no-fund', '--cache', cache], dir)
  // An address at which nothing listens: what is installed comes from the tarball alone.
  else
    await run([process.execPath, 'add', tarball, '--registry', 'http://127.0.0.1:1'], dir, {
      BUN_INSTALL_CACHE_DIR: cache,
      BUN_BE_BUN: '1',
    })
  for (const name of extra)
    await cp(join(root, 'node_modules', name), join(dir, 'node_modules', name), { recursive: true })
}

/** The JavaScript blocks of the package's README. */
export async function readmeBlocks(): Promise<string[]> {
  const text = await readFile(join(root, 'sdk/README.md'), 'utf8')
  return [...text.matchAll(/```js\n([\s\S]*?)```/g)].map((match) => match[1]!)
}
