/** The keys that sign checkpoints: private, whole, and of the right kind. */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { readKey } from '../../key.ts'
import { type Check, error, reason, warning, word } from './finding.ts'

export const checkKeys: Check = {
  name: 'keys',
  async *run({ data_dir, evidence_key }) {
    const folder = join(data_dir, 'keys')
    const there = statSync(folder, { throwIfNoEntry: false })?.isDirectory() ? readdirSync(folder) : []
    const own = there.filter((name) => name.endsWith('.pem')).map((name) => join(folder, name))
    for (const path of new Set([...own, ...(evidence_key ? [evidence_key] : [])])) {
      const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0
      if (process.platform !== 'win32' && (mode & 0o077) !== 0)
        yield warning(
          `other users can read the key ${path} (mode ${(mode & 0o777).toString(8)})`,
          `chmod 600 ${word(path)}`,
        )
      try {
        await readKey(path, 'the evidence key')
      } catch (thrown) {
        yield error(reason(thrown), 'restore it from a backup; what a new key signs is another log')
      }
    }
  },
}
