/** A start that fails leaves nothing open behind. */
import { expect, test } from 'bun:test'
import { mkdir, readdir, readlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { loadSettings, type Settings } from '../src/config.ts'
import { openProgram, serve } from '../src/server.ts'
import { inTemporaryDir } from './server.ts'

const log = Object.assign(() => {}, { flush() {} })

const settingsOf = async (dir: string, env: Record<string, string> = {}): Promise<Settings> => {
  const given = { CSTP_DATA_DIR: dir, CSTP_EMBEDDER: 'hash', CSTP_PORT: '0', ...env }
  return (await loadSettings({ env: given, flags: {}, readFile: async () => '' })).settings
}

/** Files below a folder that this process holds open. */
async function openFiles(dir: string): Promise<string[]> {
  // A database that was closed keeps its file until its statements are collected.
  Bun.gc(true)
  const links = await readdir('/proc/self/fd')
  const targets = await Promise.all(links.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')))
  return targets.filter((target) => target.startsWith(dir))
}

const refused = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'it started',
    (error: Error) => error.message,
  )

const linux = test.skipIf(process.platform !== 'linux') // Elsewhere nobody tells which files are open.

linux('what opens after another part has failed is closed too', () =>
  inTemporaryDir(async (dir) => {
    await writeFile(join(dir, 'notes'), 'This is no database, and long enough to be looked at as one. '.repeat(100))
    const settings = await settingsOf(dir, { PROVENANCE_DB: join(dir, 'notes') })
    expect(await refused(openProgram(settings, log))).toContain('database')
    expect(await openFiles(dir)).toEqual([])
    await Bun.sleep(300)
    expect(await openFiles(dir)).toEqual([])
  }),
)

linux('credentials that can not be read close what was opened before', () =>
  inTemporaryDir(async (dir) => {
    await mkdir(join(dir, 'token'))
    expect(await refused(serve(await settingsOf(dir), log))).toContain('EISDIR')
    expect(await openFiles(dir)).toEqual([])
  }),
)

linux('a port that is taken closes what was opened before, and is named', () =>
  inTemporaryDir(async (dir) => {
    const other = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() })
    const settings = await settingsOf(dir, { CSTP_PORT: String(other.port) })
    expect(await refused(serve(settings, log))).toBe(`can't listen on 127.0.0.1:${other.port} (CSTP_HOST, CSTP_PORT)`)
    expect(await openFiles(dir)).toEqual([])
    await other.stop(true)
  }),
)
