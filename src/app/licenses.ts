/** Licences of the program's packages. A compiled program contains the text instead, see `src/build/main.ts`. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

const root = join(import.meta.dir, '../..')
/** The runtime is part of the binary too. */
const runtime = 'bun'

interface Manifest {
  name: string
  version: string
  license?: string
  homepage?: string
  repository?: string | { url?: string }
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
}

const read = (folder: string): Manifest => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
const needed = ({ dependencies, optionalDependencies }: Manifest): string[] =>
  Object.keys({ ...dependencies, ...optionalDependencies })

/** The folder of a package as resolved from another one; null for an optional package that is not installed. */
function folderOf(name: string, from: string): string | null {
  for (let at = from; ; at = dirname(at)) {
    const folder = join(at, 'node_modules', name)
    if (existsSync(join(folder, 'package.json'))) return folder
    if (at === root || relative(root, at).startsWith('..')) return null
  }
}

/** The notice of a package: its name, its licence, and the text of its licence files. */
function notice(folder: string, { name, version, license, homepage, repository }: Manifest): string {
  const source = homepage ?? (typeof repository === 'string' ? repository : repository?.url) ?? ''
  const files = readdirSync(folder).filter((file) =>
    /^(?:licen[sc]e|copying|notice|third.?party.?notices?)/i.test(file),
  )
  const texts = files.sort().map((file) => readFileSync(join(folder, file), 'utf8').trim())
  return [`${name} ${version}`, `${license ?? 'see below'}${source && `, ${source}`}`, ...texts].join('\n\n')
}

/** The packages that are needed at run time, by name and version: each with its folder. */
export function packages(): Map<string, { folder: string; manifest: Manifest }> {
  const found = new Map<string, { folder: string; manifest: Manifest }>()
  const seen = new Set<string>()
  const visit = (folder: string | null): void => {
    if (folder === null || seen.has(folder)) return
    seen.add(folder)
    const manifest = read(folder)
    // The replacement for a package that is never loaded belongs to this repository.
    if (manifest.name !== 'empty-package') found.set(`${manifest.name} ${manifest.version}`, { folder, manifest })
    for (const name of needed(manifest)) visit(folderOf(name, folder))
  }
  for (const name of [runtime, ...needed(read(root))]) visit(folderOf(name, root))
  return new Map([...found].sort(([one], [other]) => (one < other ? -1 : 1)))
}

/** The licences of everything needed at run time, sorted by name. */
export async function licenses(): Promise<string> {
  const rule = `\n\n${'-'.repeat(80)}\n\n`
  const notices = [...packages().values()].map(({ folder, manifest }) => notice(folder, manifest))
  return `${readFileSync(join(root, 'LICENSE'), 'utf8').trim()}${rule}${notices.join(rule)}\n`
}
