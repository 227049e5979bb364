/** Programs of workspaces: opened once by who comes first, kept while they work, closed when nobody calls, and there again with all they had. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { loadSettings } from '../../../src/app/config/config.ts'
import { StoreLost } from '../../../src/app/lifecycle.ts'
import { createLimits } from '../../../src/app/routes.ts'
import { openProgram } from '../../../src/app/server.ts'
import { archivedMark, settingsFile } from '../../../src/app/workspaces/folder.ts'
import { createWorkspace } from '../../../src/app/workspaces/manage.ts'
import { openSpaces, UnknownWorkspace, WorkspaceAway } from '../../../src/app/workspaces/open.ts'
import type { Services } from '../../../src/calls/services.ts'
import { createAuthenticator } from '../../../src/core/caller.ts'
import { openSignatures } from '../../../src/core/signed.ts'
import { openHashEmbedder } from '../../../src/drivers/embedder/hash.ts'
import { bareEnv, testDir, until } from '../../support/process.ts'

const quiet = Object.assign(() => {}, { flush() {} })

async function spacesOf(
  names: string[],
  bounds: { idle_ms: number; most_open: number },
  own: Record<string, string> = {},
) {
  const dir = await testDir()
  const { settings } = await loadSettings({ env: bareEnv(dir, own), flags: {}, readFile: async () => '' })
  for (const name of names) await createWorkspace(settings, name)
  const opened: string[] = []
  const embedder = await openHashEmbedder()
  let lose = (_: Error): void => {}
  const main = {} as Services
  const spaces = openSpaces({
    ...{ settings, log: quiet, bounds },
    access: {
      ...{ agents: () => [], authenticate: createAuthenticator(() => []) },
      signatures: openSignatures(() => [], Date.now),
    },
    limits: createLimits(settings, quiet, { authFailure() {} }),
    all: {
      ...{ url: () => 'http://here', newRequestId: () => 'r', ready: () => true, started: 0 },
      stopping: new AbortController().signal,
    },
    main,
    async open(own, log, opening) {
      const name = own.data_dir.slice(join(dir, 'workspaces/').length)
      opened.push(opening.afresh ? `${name} afresh` : name)
      const program = await openProgram(own, log, {}, { ...opening, embedder })
      const { promise, reject } = Promise.withResolvers<never>()
      lose = (error) => reject(error)
      return { ...program, failure: Promise.race([program.failure, promise]) }
    },
  })
  const write = (name: string, key: string) =>
    spaces.use(name, async ({ program }) => program.services.store.transaction((tx) => tx.keyed.put('seen', key, key)))
  const read = (name: string) =>
    spaces.use(name, async ({ program }) =>
      (await program.services.store.keyed.list('seen', { limit: 10 })).map(({ key }) => key),
    )
  const publishing = async () => (await main.publishers!()).map(({ workspace }) => workspace)
  return { spaces, settings, opened, write, read, publishing, lose: (error: Error) => lose(error) }
}

test('many first calls open a workspace once, and the one that was called last is kept', async () => {
  const { spaces, opened, write, read } = await spacesOf(['a', 'b', 'c'], { idle_ms: 600_000, most_open: 2 })
  await Promise.all(['x', 'y', 'z'].map((key) => write('a', key)))
  expect(opened).toEqual(['a'])
  await write('b', 'x')
  await write('a', 'w')
  await write('c', 'x')
  expect([...spaces.opened.keys()].sort()).toEqual(['a', 'c'])
  expect(await read('b')).toEqual(['x'])
  expect([await read('a'), await read('c')]).toEqual([['w', 'x', 'y', 'z'], ['x']])
  await spaces.close()
  expect(spaces.opened.size).toBe(0)
})

test('more than may be open are called at once: each is kept while it works, and closed then', async () => {
  const names = [...'abcdefghijklmnop']
  const { spaces, opened, write, read } = await spacesOf(names, { idle_ms: 600_000, most_open: 1 })
  await Promise.all(names.map((name) => write(name, 'x')))
  expect(opened.sort()).toEqual(names)
  for (const name of names) expect(await read(name)).toEqual(['x'])
  expect(spaces.opened.size).toBe(1)
  await spaces.close()
})

test('above the limit of memory, a workspace that is opened closes the one that was called the longest time ago', async () => {
  for (const [limit, kept] of [
    ['1', ['c']],
    ['0', ['a', 'b', 'c']],
  ] as const) {
    const bounds = { idle_ms: 600_000, most_open: 8 }
    const { spaces, write, read } = await spacesOf(['a', 'b', 'c'], bounds, { CSTP_WORKSPACES_MEMORY: limit })
    for (const name of ['a', 'b', 'c']) await write(name, 'x')
    await write('c', 'y')
    expect([...spaces.opened.keys()]).toEqual([...kept])
    expect(await read('a')).toEqual(['x'])
    await spaces.close()
  }
})

test('a workspace that works is kept, one that nobody calls is closed', async () => {
  const { spaces, write, read } = await spacesOf(['a', 'b'], { idle_ms: 50, most_open: 1 })
  const { promise, resolve } = Promise.withResolvers<void>()
  const work = spaces.use('a', () => promise)
  await write('b', 'x')
  await until('the idle one is closed', async () => !spaces.opened.has('b'))
  expect(spaces.opened.has('a')).toBe(true)
  resolve()
  await work
  await until('it is closed too', async () => spaces.opened.size === 0)
  expect(await read('b')).toEqual(['x'])
  await spaces.close()
})

test('a workspace that lost its store is opened again by the next call, its index made again once', async () => {
  const { spaces, opened, write, read, lose } = await spacesOf(['a'], { idle_ms: 600_000, most_open: 8 })
  await write('a', 'x')
  lose(new StoreLost(new Error('restored from a backup')))
  await until('it is closed', async () => !spaces.opened.has('a'))
  expect(await read('a')).toEqual(['x'])
  lose(new Error('the embedder failed'))
  await until('it is closed', async () => !spaces.opened.has('a'))
  expect(await read('a')).toEqual(['x'])
  expect(opened).toEqual(['a', 'a afresh', 'a'])
  await spaces.close()
})

test('what is not there, and what can not be opened, is told apart for the service and opens nothing else', async () => {
  const { spaces, opened } = await spacesOf(['a'], { idle_ms: 600_000, most_open: 8 })
  for (const name of ['b', '..', 'A']) await expect(spaces.use(name, async () => {})).rejects.toThrow(UnknownWorkspace)
  expect(opened).toEqual([])
  await Bun.write(
    join((await spaces.settingsOf('a')).data_dir, 'cstp.db'),
    'this is no database at all, and never was one',
  )
  await expect(spaces.use('a', async () => {})).rejects.toThrow(WorkspaceAway)
  await spaces.close()
})

test('which workspaces publish is known once, and again when one comes, goes, or has other settings', async () => {
  const { spaces, settings, publishing } = await spacesOf(['a', 'b', 'c'], { idle_ms: 600_000, most_open: 8 })
  const set = (name: string, text: string) => Bun.write(settingsFile(settings.data_dir, name), text)
  const publishes = 'publish: { min_stakes: high }'
  await set('a', publishes)
  await set('b', 'publish: { projects: 1')
  expect(await publishing()).toEqual(['a'])
  await set('c', publishes)
  // What can't be read is read again by the next search; what could be, when the service reads all settings again.
  await set('b', publishes)
  expect(await publishing()).toEqual(['a', 'b'])
  await spaces.reload()
  expect(await publishing()).toEqual(['a', 'b', 'c'])
  await createWorkspace(settings, 'd')
  await set('d', publishes)
  await Bun.write(archivedMark(settings.data_dir, 'a'), '')
  await until('the folder is read again', async () => !spaces.names().has('a'))
  expect(await publishing()).toEqual(['b', 'c', 'd'])
  expect([...spaces.opened.keys()]).toEqual([])
  await spaces.close()
})
