/** The keys that sign checkpoints: private, whole, and of the right kind. */
import { createPrivateKey } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type Check, error, reason, warning, word } from './finding.ts'

export const checkKeys: Check = {
  name: 'keys',
  *run({ data_dir, evidence_key }) {
    const folder = join(data_dir, 'keys')
    const there = statSync(folder, { throwIfNoEntry: false })?.isDirectory() ? readdirSync(folder) : []
    const own = there.filter((name) => name.endsWith('.pem')).map((name) => join(folder, name))
    for (const path of new Set([...own, ...(evidence_key ? [evidence_key] : [])])) {
      try {
        const { mode } = statSync(path)
        if (process.platform !== 'win32' && (mode & 0o077) !== 0)
          yield warning(
            `other users can read the key ${path} (mode ${(mode & 0o777).toString(8)})`,
            `chmod 600 ${word(path)}`,
          )
        const { asymmetricKeyType: type } = createPrivateKey(readFileSync(path))
        if (type !== 'ed25519')
          yield error(`the key ${path} is ${type}, not Ed25519`, 'name another one in CSTP_EVIDENCE_KEY')
      } catch (thrown) {
        yield error(
          `the key ${path} can't be read: ${reason(thrown)}`,
          'restore it from a backup; with a new key, checkpoints no longer compare',
        )
      }
    }
  },
}
