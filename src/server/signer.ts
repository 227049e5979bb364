/** The key that signs checkpoints: the one that the settings name, else one of the data directory. */
import { join } from 'node:path'
import type { Settings } from '../config.ts'
import { fingerprint } from '../domain/evidence/keys.ts'
import { type Signer, signerOf } from '../domain/evidence/note.ts'
import { ownKey, readKey } from '../key.ts'
import { serviceName } from '../version.ts'

/**
 * Opens the signer. Its name, the origin of the log's checkpoints, derives from the key: it stays when the service moves to another
 * address, and two logs with keys of their own can't be taken for one.
 * @throws Error naming the setting and the file, never what stands in it
 */
export async function openSigner({ evidence_key, data_dir }: Settings): Promise<Signer> {
  const key = await (evidence_key === null
    ? ownKey(join(data_dir, 'keys', 'evidence.pem'), 'the evidence key (CSTP_EVIDENCE_KEY)')
    : readKey(evidence_key, 'CSTP_EVIDENCE_KEY'))
  return signerOf(`${serviceName}/${fingerprint(key)}`, key)
}
