/** Checks the keys that sign checkpoints: permissions, format, type, and that the configured key is the one that signed the log. */
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { quoted } from '../../../plugin/hooks/cstp-hook.mjs'
import { readKey } from '../../core/key-file.ts'
import { messageOf } from '../../core/log.ts'
import { lastSigned } from '../../domain/ledger/engine/checkpoints.ts'
import { evidencePlace, type Settings } from '../config/config.ts'
import { ownKeyPath, signerOfKey } from '../evidence.ts'
import { foreignPorts } from '../own-drivers.ts'
import { type Check, error, type Finding, warning } from './finding.ts'
import { openReader } from './stores.ts'

const former =
  'restore it from a backup; without it, cstp evidence new-key starts a new identity that every witness needs'

/** Checks that the log, if it was ever signed, was signed by this key. */
async function* checkSigner(settings: Settings): AsyncGenerator<Finding> {
  const evidence = await openReader(evidencePlace(settings))
  if (evidence === null) return
  const { records, origin } = await lastSigned(evidence).finally(() => evidence.close())
  const path = settings.evidence_key ?? ownKeyPath(settings.data_dir)
  if (records > 0 && settings.evidence_key === null && !existsSync(path)) {
    yield error(`the evidence log has ${records} records, but its key ${path} is missing: no server starts`, former)
    return
  }
  const key = origin === null ? null : await readKey(path, 'the evidence key').catch(() => null)
  if (key !== null && signerOfKey(key).name !== origin)
    yield error(`${path} is not the key of ${origin}, which signed the evidence log: no server starts`, former)
}

export const checkKeys: Check = {
  name: 'keys',
  async *run(settings) {
    const { data_dir, evidence_key } = settings
    const folder = join(data_dir, 'keys')
    const there = statSync(folder, { throwIfNoEntry: false })?.isDirectory() ? readdirSync(folder) : []
    const own = there.filter((name) => name.endsWith('.pem')).map((name) => join(folder, name))
    for (const path of new Set([...own, ...(evidence_key ? [evidence_key] : [])])) {
      const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0
      if (process.platform !== 'win32' && (mode & 0o077) !== 0)
        yield warning(
          `other users can read the key ${path} (mode ${(mode & 0o777).toString(8)})`,
          `chmod 600 ${quoted(path)}`,
        )
      try {
        await readKey(path, 'the evidence key')
      } catch (thrown) {
        yield error(messageOf(thrown), former)
      }
    }
    if (!(await foreignPorts(settings)).includes('evidence')) yield* checkSigner(settings)
  },
}
