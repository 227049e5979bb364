/** A start that fails leaves nothing open behind. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { mkdir, readdir, readlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SQL } from 'bun'
import { loadSettings, type Settings } from '../../src/app/config/config.ts'
import { openProgram, serve } from '../../src/app/server.ts'
import { freshDatabase, postgres, whyNoPostgres } from '../support/postgres.ts'
import { inTemporaryDir, testDir, until } from '../support/process.ts'

setDefaultTimeout(120_000)

const log = Object.assign(() => {}, { flush() {} })

const settingsOf = async (dir: string, env: Record<string, string> = {}): Promise<Settings> => {
  const given = { CSTP_DATA_DIR: dir, CSTP_EMBEDDER: 'hash', CSTP_PORT: '0', ...env }
  return (await loadSettings({ env: given, flags: {}, readFile: async () => '' })).settings
}

/** Files below a folder that this process keeps open. */
async function openFiles(dir: string): Promise<string[]> {
  let open: string[] = []
  // A database that was closed keeps its file until its statements are collected, which may take several collections.
  for (let times = 0; times < 50; times++) {
    Bun.gc(true)
    const links = await readdir('/proc/self/fd')
    const targets = await Promise.all(links.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')))
    open = targets.filter((target) => target.startsWith(dir))
    if (open.length === 0) break
    await Bun.sleep(20)
  }
  return open
}

const refused = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'it started',
    (error: Error) => error.message,
  )

const linux = test.skipIf(process.platform !== 'linux')
if (process.platform !== 'linux')
  console.warn('only Linux lists the open files of a process: tests of them are skipped')

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

const server = postgres()
const title = 'what opens after another part has failed is closed too'
if (server === null) test.skip(`${title} (${whyNoPostgres})`, () => {})
else
  test(title, async () => {
    const dir = await testDir()
    const url = await freshDatabase(server)
    const key = join(dir, 'evidence.pem')
    const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' })
    await writeFile(key, pem, { mode: 0o600 })
    const settings = await settingsOf(dir, {
      CSTP_STORE_URL: url,
      CSTP_AUTH_TOKENS: 'local:t0ken-of-the-test',
      CSTP_EVIDENCE_KEY: key,
      // Fails at once, while the store still makes its tables.
      PROVENANCE_DB: 'postgres://nobody@127.0.0.1:1/nowhere',
    })
    expect(await refused(openProgram(settings, log))).toContain('cannot connect')
    const sql = new SQL(url, { max: 1 })
    await until('the store has let go', async () => {
      const found = await sql.unsafe(
        `select 1 from pg_stat_activity where datname = current_database() and application_name = 'cstp'`,
      )
      return found.length === 0
    })
    await sql.close()
  })
