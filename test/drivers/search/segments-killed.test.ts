/** A process that is killed while it writes a segment loses nothing and leaves nothing behind. */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { random } from '../../../sdk/storage/conformance/search/corpus.ts'
import { suiteOptions } from '../../../sdk/storage/conformance/store/records.ts'
import { manifestsOf } from '../../../src/app/search.ts'
import { openSegmentSearch } from '../../../src/drivers/search/lancedb/driver.ts'
import { LEASE_MS, type Manifest } from '../../../src/drivers/search/lancedb/manifest.ts'
import { openSqliteStore } from '../../../src/drivers/store/sqlite/driver.ts'
import { expectWhole, many, opened } from './segment-tools.ts'

const dir = mkdtempSync(join(tmpdir(), 'cstp-killed-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))
const url = join(dir, 'search')
const next = random(5)

/** Runs a writer and kills it a while after it has said something. */
async function killed(): Promise<void> {
  const script = join(import.meta.dir, 'segment-writer.ts')
  const writer = Bun.spawn([process.execPath, script, dir], { stdout: 'pipe', stderr: 'inherit' })
  await writer.stdout.getReader().read()
  await Bun.sleep(next() * 1_500)
  writer.kill('SIGKILL')
  await writer.exited
}

test('killed at any time: what the index holds is what its watermark says, and the next writer goes on', async () => {
  for (let round = 0; round < 5; round++) {
    await killed()
    const store = await openSqliteStore({ ...suiteOptions, dir })
    const manifests = manifestsOf(store)
    // The lease of the dead runs out.
    for (const key of await manifests.keys('')) {
      const { value, version } = (await manifests.read(key))!
      const { writer, ...rest } = value as Manifest
      if (writer) expect(writer.until_ms).toBeLessThanOrEqual(Date.now() + LEASE_MS)
      await manifests.write(key, { ...rest, writer: null }, version)
    }
    const index = await opened(openSegmentSearch({ url, manifests, tail_most: 20 }))
    const at = await index.watermark()
    await expectWhole(index, many(0, at))
    await index.apply(many(at, at + 25), at + 25)
    await index.maintain()
    expect(await index.state()).toMatchObject({ tail: 0, decisions: at + 25 })
    await expectWhole(index, many(0, at + 25))
    const { segments } = await index.state()
    const tables = readdirSync(url).filter((name) => name.startsWith('g1_'))
    expect(tables).toHaveLength(2 * segments)
    await index.close()
    await store.close()
  }
}, 240_000)
