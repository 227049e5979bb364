/** The embedded store: data directories, and one server on each. What was seeded in the folder that CSTP_BENCH_DIR names stays for the next run. */
import { existsSync } from 'node:fs'
import { cp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ownKey } from '../../src/core/key-file.ts'
import { runToEnd } from './process.ts'
import { once, type Site } from './site.ts'

export function embeddedSite(root: string): Site {
  let copies = 0
  const kept = process.env.CSTP_BENCH_DIR ?? root
  const key = once(async (name) => {
    // With what was seeded, whose logs it has signed.
    const path = join(kept, name)
    await ownKey(path, 'the evidence key')
    return path
  })
  const seeded = once(async (name) => {
    const [embedder, size] = name.split('-') as [string, string]
    const dir = join(kept, name)
    if (existsSync(dir)) return dir
    // What was cut off is made anew: only a whole one gets the name.
    const unfinished = `${dir}-seeding`
    await rm(unfinished, { recursive: true, force: true })
    await runToEnd('test/bench/entries/seed.ts', [unfinished, size, embedder])
    await rename(unfinished, dir)
    return dir
  })
  const site: Site = {
    store: 'embedded',
    about: 'Embedded store: a data directory with SQLite.',
    servers: [1],
    drivers: ['resident'],
    seeded: (size, embedder) => seeded(`${embedder}-${size}`),
    async scratch(size, embedder) {
      const copy = join(root, `scratch-${copies++}`)
      await cp(await site.seeded(size, embedder), copy, { recursive: true, preserveTimestamps: true })
      return copy
    },
    empty: async (name) => join(root, `${name}-${copies++}.db`),
    // One key for all: logs are moved from one data directory to another.
    env: async (place) => ({
      CSTP_DATA_DIR: place,
      CSTP_EVIDENCE_KEY: await key('evidence.pem'),
    }),
    close: async () => {},
  }
  return site
}
