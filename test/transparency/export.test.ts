/** The log as files in a folder: what was interrupted goes on, what is there stays, and a checkpoint never names what is missing. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseTilePath, tileBytes } from '../../src/domain/ledger/engine/tiles.ts'
import { grow } from '../../src/domain/ledger/engine/tree.ts'
import { exportLog } from '../../src/transparency/export.ts'
import { verifyLog } from '../../src/verify/log.ts'
import { readPolicy } from '../../src/verify/policy.ts'
import { naiveTree, recordHashes } from '../support/evidence/naive-tree.ts'
import { logSigner } from '../support/evidence/note-signers.ts'
import { temporaryDir } from '../support/process.ts'

const entries = recordHashes(700)
const tree = naiveTree(entries)
const log = logSigner('log.example/thread')
const nodes = new Map(grow([], 0, entries).nodes.map(({ level, index, hash }) => [`${level}/${index}`, hash]))
const source = {
  hashes: async (seq: number, limit: number) => entries.slice(seq - 1, seq - 1 + limit),
  nodes: async (level: number, index: number, limit: number) =>
    Array.from({ length: limit }, (_, at) => nodes.get(`${level}/${index + at}`)!),
}
let dir = ''
let read: string[] = []
/** Files of the log at a size. */
const at = (size: number) => async (path: string) => {
  read.push(path)
  return path === 'checkpoint' ? Buffer.from(log.note(size, tree.root(size))) : tileBytes(source, parseTilePath(path)!)
}
const verified = async () => {
  const policy = readPolicy(`log ${log.verifier_key}\nquorum none\n`)
  const file = (path: string) => Bun.file(join(dir, path))
  const found = await verifyLog(async (path) => ((await file(path).exists()) ? file(path).bytes() : null), policy)
  return found.verified && found.log!.size
}
beforeEach(async () => {
  dir = await temporaryDir('cstp-log-')
  read = []
})
afterEach(() => rm(dir, { recursive: true, force: true }))

test('a log that grows is written again only where it grew', async () => {
  expect(await exportLog(at(0), dir)).toMatchObject({ size: 0, written: 0 })
  expect(await exportLog(at(300), dir)).toMatchObject({ size: 300, written: 5, kept: 0, origin: 'log.example/thread' })
  expect(await verified()).toBe(300)
  read = []
  expect(await exportLog(at(700), dir)).toMatchObject({ written: 5, kept: 2 })
  expect(read).not.toContain('tile/0/000')
  expect(await verified()).toBe(700)
  // Partial tiles whose full ones are there are gone.
  expect((await readdir(join(dir, 'tile/0'))).sort()).toEqual(['000', '001', '002.p'])
  expect((await stat(join(dir, 'checkpoint'))).mode & 0o044).toBe(0o044)
})

test('an interrupted export names no missing file, and the next export continues it', async () => {
  await exportLog(at(300), dir)
  let left = 4
  const ending = async (path: string) => {
    if (--left === 0) throw new Error('the connection broke')
    return at(700)(path)
  }
  await expect(exportLog(ending, dir)).rejects.toThrow('the connection broke')
  expect(await verified()).toBe(300)
  // A file that a loss of power has cut off.
  await writeFile(join(dir, 'tile/0/000'), '')
  await exportLog(at(700), dir)
  expect(await verified()).toBe(700)
})

test('the export of a log with a missing or truncated tile fails', async () => {
  for (const answer of [null, Buffer.alloc(32)]) {
    const lacking = async (path: string) => (path === 'tile/0/001' ? answer : at(700)(path))
    await expect(exportLog(lacking, dir)).rejects.toThrow('the log has no tile/0/001')
  }
  await expect(exportLog(async () => null, dir)).rejects.toThrow('the log has no checkpoint')
  expect(await readdir(dir)).not.toContain('checkpoint')
})
