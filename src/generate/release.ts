/**
 * Makes a release of the pending changesets: dates their changelog entry and removes them. If this version was released before, the version
 * is raised as the changesets ask. It only changes files; committing, tagging and publishing are left to a person.
 */
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { changesets, isReleased, readChangelog, sections, withEntry } from './changelog.ts'

const root = join(import.meta.dir, '../..')
const versionNow = async (): Promise<string> => (await Bun.file(join(root, 'package.json')).json()).version

const waiting = await changesets()
if (waiting.length === 0) throw new Error('no changeset waits: there is nothing to release')
const changelog = await readChangelog()
const entry = await sections()
if (isReleased(changelog, await versionNow())) {
  const cli = join(root, 'node_modules/@changesets/cli/bin.js')
  const { exitCode } = Bun.spawnSync([process.execPath, '--bun', cli, 'version'], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  if (exitCode !== 0) throw new Error('changeset version failed')
} else for (const path of waiting) await rm(path)

const version = await versionNow()
const today = new Date().toISOString().slice(0, 10)
await writeFile(join(root, 'CHANGELOG.md'), withEntry(changelog, `${version}, ${today}`, entry))
console.log(
  `${version}: ${waiting.length} changesets are its entry in CHANGELOG.md. Next: bun run generate, commit, tag v${version}.`,
)
