/** `bun run docs`: writes the documentation site, with pages for every export of the client, to `dist/docs`. Fails on dead links. */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { site } from '../app/docs/site.ts'

const root = join(import.meta.dir, '../..')

/** Builds the client's API pages, whose links to code lead into the site. @returns the source files that they link */
function makeApi(folder: string): string[] {
  const typedoc = join(root, 'node_modules/typedoc/bin/typedoc')
  const { exitCode, stdout, stderr } = Bun.spawnSync([process.execPath, typedoc, '--out', join(folder, 'api')], {
    cwd: root,
  })
  if (exitCode !== 0) throw new Error(`typedoc failed:\n${stdout}${stderr}`)
  const pages = readdirSync(join(folder, 'api'), { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.html'),
  )
  const linked = pages.flatMap((file) => [
    ...readFileSync(join(folder, 'api', file), 'utf8').matchAll(/"(?:\.\.\/)+source\/([^"#]+)\.html#L\d+"/g),
  ])
  return [...new Set(linked.map(([, path]) => path!))].sort()
}

/** Writes the site. Resolves with the number of its pages. @param folder emptied first */
export async function writeDocs(folder: string): Promise<number> {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const files = await site({ api: true, sources: makeApi(folder) })
  for (const [path, { body, base64 }] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), body, base64 ? 'base64' : 'utf8')
  }
  return Object.keys(files).length
}

if (import.meta.main) {
  const folder = join(root, 'dist/docs')
  console.log(`${await writeDocs(folder)} files and the pages of the client are in ${folder}: open index.html`)
}
