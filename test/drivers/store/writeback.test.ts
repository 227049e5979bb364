/** That the system takes the files of a group, and that one that it does not know harms nothing. */
import { expect, test } from 'bun:test'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beginWriteback } from '../../../src/drivers/store/sqlite/writeback.ts'

// Other systems have no such call: there it is always false.
test.skipIf(process.platform !== 'linux')(
  'an open file begins to be written out, a closed one is no error (Linux)',
  () => {
    const dir = mkdtempSync(join(tmpdir(), 'cstp-writeback-'))
    try {
      const fd = openSync(join(dir, 'a.yaml'), 'wx')
      writeSync(fd, 'text')
      expect(beginWriteback(fd)).toBe(true)
      closeSync(fd)
      expect(beginWriteback(fd)).toBe(false)
      expect(readFileSync(join(dir, 'a.yaml'), 'utf8')).toBe('text')
    } finally {
      rmSync(dir, { recursive: true })
    }
  },
)
