/** What segments keep open goes with them, also when another one can't be written or opened. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Connection } from '@lancedb/lancedb'
import { openSegmentSearch } from '../../../src/drivers/search/lancedb/driver.ts'
import { openFlatWriter } from '../../../src/drivers/search/lancedb/flat.ts'
import { load } from '../../../src/drivers/search/lancedb/library.ts'
import { FlatError } from '../../../src/drivers/search/lancedb/records.ts'
import { openManifests } from '../../support/manifests.ts'
import { dimensions, many, one, opened } from './segment-tools.ts'

setDefaultTimeout(120_000)

const root = mkdtempSync(join(tmpdir(), 'cstp-open-files-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const linux = test.skipIf(process.platform !== 'linux')
if (process.platform !== 'linux')
  console.warn('only Linux lists the open files of a process: tests of them are skipped')

/** The plain files of segments that this process has open. */
const openRows = (folder: string): string[] =>
  readdirSync('/proc/self/fd').flatMap((link) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${link}`)
      return path.startsWith(folder) && path.includes('/rows/') ? [path] : []
    } catch {
      return []
    }
  })

const question = { vector: one(0).value.vectors!.both, side: 'both', k: 1, filter: {} } as const

/** LanceDB whose connections are changed before they are used. */
const changed = (change: (connection: Connection) => void) => async () => {
  const libraries = await load()
  const connect = async (...given: unknown[]) => {
    const connection: Connection = await Reflect.apply(libraries.lancedb.connect, null, given)
    change(connection)
    return connection
  }
  return { ...libraries, lancedb: { ...libraries.lancedb, connect } }
}

/** An index with two segments. */
async function twoSegments(search: Parameters<typeof opened>[0]) {
  const index = await opened(search)
  await index.apply(many(0, 300), 300)
  await index.maintain()
  await index.apply(many(300, 400), 400)
  await index.maintain()
  expect(await index.state()).toMatchObject({ segments: 2 })
  return index
}

linux('a segment that can not be written leaves none open of those that it was to replace', async () => {
  const folder = join(root, 'full')
  let isFull = false
  const library = changed((connection) => {
    const create = connection.createEmptyTable
    connection.createEmptyTable = (...all: unknown[]) =>
      isFull ? Promise.reject(new Error('No space is left')) : Reflect.apply(create, connection, all)
  })
  const search = openSegmentSearch({ url: folder, manifests: openManifests(), tail_most: 100, library })
  const index = await opened(search)
  await index.apply(many(0, 100), 100)
  await index.maintain()
  await index.nearest(question)
  const before = openRows(folder)
  expect(before.length).toBeGreaterThan(0)
  isFull = true
  await index.apply(many(100, 200), 200)
  for (let times = 0; times < 3; times++) await index.maintain()
  expect(await index.state()).toMatchObject({ segments: 1, tail: 100 })
  expect(openRows(folder)).toEqual(before)
  await search.close()
  expect(openRows(folder)).toEqual([])
})

linux.each(['texts', 'vectors', 'coarse', 'postings.parts'])(
  'plain files are not left open if %s can not be made',
  async (name) => {
    const folder = join(root, name, 'rows')
    mkdirSync(join(folder, name), { recursive: true })
    await expect(openFlatWriter(folder, dimensions)).rejects.toThrow('EISDIR')
    expect(openRows(folder)).toEqual([])
  },
)

linux('a segment that can not be opened leaves none of the others open', async () => {
  const folder = join(root, 'damaged')
  const manifests = openManifests()
  const search = openSegmentSearch({ url: folder, manifests, tail_most: 100 })
  await twoSegments(search)
  await search.close()
  const [damaged] = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('rows/coarse'),
  )
  truncateSync(join(folder, damaged!), 1)
  const again = openSegmentSearch({ url: folder, manifests, tail_most: 100 })
  const other = await opened(again)
  await other.nearest(question)
  expect(await other.state()).toMatchObject({ segments: 0, building: true })
  expect(openRows(folder)).toEqual([])
  await again.close()
})

test('a search that fails in one segment ends after all others, which may be closed then', async () => {
  const folder = join(root, 'failing')
  const manifests = openManifests()
  const hold = Promise.withResolvers<void>()
  const asked: string[] = []
  let isFailing = false
  const library = changed((connection) => {
    const open = connection.openTable
    connection.openTable = async (name, ...more) => {
      const table = await Reflect.apply(open, connection, [name, ...more])
      const begin = table.query
      table.query = () => {
        const query = begin.call(table)
        const run = query.toArrow
        query.toArrow = async (...given) => {
          if (!isFailing) return Reflect.apply(run, query, given)
          asked.push(name)
          if (name === asked[0] && asked.length <= 2) throw new Error('a part is missing')
          await hold.promise
          return Reflect.apply(run, query, given)
        }
        return query
      }
      return table
    }
  })
  const search = openSegmentSearch({ url: folder, manifests, tail_most: 100, library })
  const index = await twoSegments(search)
  const terms = one(0).value.terms.split(' ').slice(0, 1)
  const expected = await index.holding({ terms })
  isFailing = true
  const found = index.holding({ terms })
  while (asked.length < 2) await Bun.sleep(1)
  await Bun.sleep(20)
  // Not asked again as long as the other one is at it.
  expect(new Set(asked).size).toBe(asked.length)
  hold.resolve()
  expect((await found).sort()).toEqual(expected.sort())
  expect(asked).toHaveLength(4)
  await search.close()
})

test('a process that may open no more files has lost no segment', async () => {
  const folder = join(root, 'many')
  const manifests = openManifests()
  let failure: unknown = null
  const library = changed((connection) => {
    const open = connection.openTable
    connection.openTable = (...given) =>
      failure === null ? Reflect.apply(open, connection, given) : Promise.reject(failure)
  })
  const first = openSegmentSearch({ url: folder, manifests, tail_most: 100 })
  const written = await opened(first)
  await written.apply(many(0, 100), 100)
  await written.maintain()
  await first.close()
  const search = openSegmentSearch({ url: folder, manifests, tail_most: 100, library })
  const index = await opened(search)
  const native = new Error('LanceError(IO): Too many open files (os error 24)')
  for (failure of [Object.assign(native, { code: 'GenericFailure' }), new FlatError('texts: too many open files')])
    await expect(index.nearest(question)).rejects.toThrow(/too many open files/i)
  failure = null
  expect(await index.state()).toMatchObject({ segments: 1, building: false })
  expect(await index.nearest(question)).toHaveLength(1)
  await search.close()
})
