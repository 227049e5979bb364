/** Go's libraries of the checksum database judge checkpoints, proofs and tiles of logs of every size, and use our witness. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { appendFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { checkpointText } from '../../src/domain/ledger/engine/checkpoints.ts'
import { cosign } from '../../src/domain/ledger/engine/note.ts'
import { logTree } from '../../src/domain/ledger/engine/proof.ts'
import { tileBytes, tilePath, tilesOf } from '../../src/domain/ledger/engine/tiles.ts'
import { openWitness, serveWitness } from '../../src/transparency/open.ts'
import { history, newSigner } from '../support/evidence/log-server.ts'
import { run, temporaryDir } from '../support/process.ts'
import { buildGo, whyNoGo } from '../support/sumdb/go.ts'

const largest = 600

describe.skipIf(whyNoGo !== null)(`with Go${whyNoGo === null ? '' : ` (skipped: ${whyNoGo})`}`, () => {
  let dir = ''
  let program = ''
  beforeAll(async () => {
    dir = await temporaryDir('cstp-sumdb-')
    program = join(dir, 'sumdb')
    await buildGo(join(import.meta.dir, '../support/sumdb/main.go'), program)
  }, 300_000)
  afterAll(() => rm(dir, { recursive: true, force: true }))

  const sumdb = async (...args: string[]): Promise<Record<string, unknown>> => {
    const { status, out, err } = await run([program, ...args], { cwd: dir, env: {} })
    expect([status, err]).toEqual([0, ''])
    return JSON.parse(out)
  }

  test('logs of every size: accepted are our checkpoints, cosignatures, proofs and tiles, refused are forgeries', async () => {
    const signer = newSigner('log.example/thread')
    const witness = await openWitness({ state_dir: dir, key_path: undefined, name: 'witness.example/1' })
    const log = await history(largest)
    const tree = logTree(log)
    const tiles = new Set<string>()
    const lines: string[] = []
    for (let size = 1; size <= largest; size++) {
      const root_hash = await tree.root(size)
      const note = signer.sign(checkpointText({ origin: signer.name, size, root_hash }))
      const inclusion = []
      for (const index of new Set([0, Math.floor(size / 3), size >> 1, size - 1, (size * 7_919) % size])) {
        const [entry] = await log.hashes(index + 1, 1)
        inclusion.push({ index, entry, hashes: await tree.inclusion(index, size) })
      }
      const consistency = []
      for (const old of new Set([
        1,
        Math.max(1, size >> 1),
        Math.max(1, size - 1),
        2 ** Math.floor(Math.log2(size)),
        size,
      ]))
        consistency.push({ old, old_root: await tree.root(old), hashes: await tree.consistency(old, size) })
      const cosigned = cosign(note, witness.verifier, witness.key, 1_790_000_000)
      const keys = { verifier_key: signer.verifier_key, witness_key: witness.verifier.text }
      lines.push(JSON.stringify({ note: cosigned, ...keys, inclusion, consistency }))
      for (const tile of tilesOf(size)) {
        const path = tilePath(tile)
        if (!tiles.has(path)) await Bun.write(join(dir, path), await tileBytes(log, tile))
        tiles.add(path)
      }
    }
    await appendFile(join(dir, 'cases.ndjson'), `${lines.join('\n')}\n`)
    const counts = await sumdb('check', dir)
    expect(counts).toMatchObject({ checkpoint: largest, 'forged checkpoint': largest })
    for (const what of ['inclusion', 'forged entry', 'forged index', 'consistency', 'forged root'])
      expect([what, counts[what]]).toEqual([what, expect.any(Number)])
    expect(counts.inclusion).toBeGreaterThan(2_000)
    // A hash that was changed in any tile is found by a reader that knows the checkpoint.
    const tile = Buffer.from(await Bun.file(join(dir, 'tile/0/001')).arrayBuffer())
    tile[100]! ^= 1
    await Bun.write(join(dir, 'tile/0/001'), tile)
    const { status, err } = await run([program, 'check', dir], { cwd: dir, env: {} })
    expect([status, err.split(':')[0]]).toEqual([1, 'tiles'])
  }, 120_000)

  test('a log of Go gets its cosignatures from our witness, and no other one does', async () => {
    const { vkey, skey } = (await sumdb('key')) as { vkey: string; skey: string }
    const state_dir = join(dir, 'witness')
    const witness = await serveWitness({
      ...{ host: '127.0.0.1', port: 0, state_dir, key_path: undefined, name: undefined },
      logs: [vkey],
      handled: () => {},
    })
    try {
      const counts = await sumdb('witness', witness.url, witness.verifier_key, skey)
      expect(counts).toEqual({
        cosignature: counts.fork,
        fork: counts.conflict,
        conflict: expect.any(Number),
        stranger: 2,
      })
    } finally {
      await witness.stop()
    }
  })
})
