/** The embedded store: data directories, and one server on each. What was seeded in the folder that CSTP_BENCH_DIR names stays for the next run. */
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { $ } from 'bun'
import { ownKey } from '../../src/core/key-file.ts'
import type { EmbedderName } from './embedders.ts'
import { runToEnd } from './process.ts'
import { once, type Place, type Site } from './site.ts'

/** Folders of a data directory in which files are written once, and replaced or removed but never changed. */
const unchanging = ['decisions', 'search']

/** @param indexed writes the search index of a place that was just filled */
export function embeddedSite(
  root: string,
  indexed: (place: Place, embedder: EmbedderName, servers: number) => Promise<void> = async () => {},
): Site {
  let copies = 0
  const kept = process.env.CSTP_BENCH_DIR ?? root
  const key = once(async (name) => {
    // With what was seeded, whose logs it has signed.
    const path = join(kept, name)
    await ownKey(path, 'the evidence key')
    return path
  })
  const seeded = once(async (name) => {
    const [embedder, size] = name.split('-') as [EmbedderName, string]
    const dir = join(kept, name)
    if (existsSync(dir)) return dir
    // An interrupted seeding starts again, or continues if it has all decisions: only a complete one gets the name.
    const [unfinished, filled] = [`${dir}-seeding`, `${dir}-filled`]
    if (!existsSync(filled)) {
      await rm(unfinished, { recursive: true, force: true })
      await runToEnd('test/bench/entries/seed.ts', [unfinished, size, embedder])
      await rename(unfinished, filled)
    }
    await indexed(filled, embedder, 1)
    await rename(filled, dir)
    return dir
  })
  /** On the file system of what was seeded, so that copies can share its files. */
  let scratches: string | null = null
  const site: Site = {
    store: 'embedded',
    about: 'Embedded store: a data directory with SQLite.',
    servers: [1],
    seeded: (size, embedder) => seeded(`${embedder}-${size}`),
    async scratch(size, embedder) {
      const from = await site.seeded(size, embedder)
      scratches ??= await mkdtemp(join(kept, 'scratch-'))
      const copy = join(scratches, String(copies++))
      await mkdir(copy)
      const shared = unchanging.filter((name) => existsSync(join(from, name)))
      for (const name of shared) await $`cp -al ${join(from, name)} ${copy}`
      await $`tar -C ${from} -c ${shared.map((name) => `--exclude=./${name}`)} . | tar -C ${copy} -x`
      return copy
    },
    empty: async (name) => join(root, `${name}-${copies++}`),
    // One key for all: logs are moved from one data directory to another.
    env: async (place) => ({
      CSTP_DATA_DIR: place,
      CSTP_EVIDENCE_KEY: await key('evidence.pem'),
    }),
    close: async () => {
      if (scratches !== null) await rm(scratches, { recursive: true, force: true })
    },
  }
  return site
}
