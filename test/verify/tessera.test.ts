/** A log that somebody else's program wrote goes through our reader: the test data of Tessera (transparency-dev/tessera). */
import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { verifyLog } from '../../src/verify/log.ts'
import { readNote } from '../../src/verify/note.ts'
import { readPolicy } from '../../src/verify/policy.ts'

/** The folder `testdata` of a checkout of Tessera, which is not part of this repository. */
const place = process.env.CSTP_TESSERA ?? ''
const isThere = existsSync(join(place, 'log/checkpoint'))

test.skipIf(!isThere)(
  `Tessera's log is valid at every size that it had${isThere ? '' : ' (skipped: CSTP_TESSERA names no testdata of Tessera)'}`,
  async () => {
    const [, key] = /LOG_PUBLIC_KEY="([^"]+)"/.exec(await readFile(join(place, 'build_log.sh'), 'utf8'))!
    const policy = readPolicy(`log ${key}\nquorum none\n`)
    const read = async (path: string) => readFile(join(place, 'log', path)).catch(() => null)
    const { size } = readNote(await readFile(join(place, 'log/checkpoint'), 'utf8'))
    expect(size).toBeGreaterThan(10)
    for (let at = 0; at <= size; at++) {
      const then = (path: string) => read(path === 'checkpoint' ? `checkpoint.${at}` : path)
      expect(await verifyLog(then, policy)).toMatchObject({ verified: true, findings: [], log: { size: at } })
      const changed = async (path: string) => {
        const bytes = await then(path)
        if (bytes && path.startsWith('tile/entries/')) bytes[2]! ^= 1
        return bytes
      }
      if (at > 0) expect((await verifyLog(changed, policy)).verified).toBe(false)
    }
  },
)
