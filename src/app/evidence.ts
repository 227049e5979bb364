/** The services over the evidence log: the chain that is appended to, signed checkpoints, control rules, bundles and their printer. */
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import type { Evidence } from '../../sdk/storage/evidence.ts'
import type { Services } from '../calls/services.ts'
import { ownKey, readKey } from '../core/key-file.ts'
import type { Log } from '../core/log.ts'
import { serviceName } from '../core/version.ts'
import { openChain } from '../domain/evidence/chain.ts'
import { createCheckpoints } from '../domain/evidence/checkpoints.ts'
import { fingerprint, type Signer, signerOf } from '../domain/evidence/note.ts'
import { loadControls } from '../policy/files.ts'
import { bundlesPlace, evidencePlace, type Settings } from './config/config.ts'
import { openBundleFiles } from './folders.ts'
import { openPrinter } from './printer.ts'
import { startWalkers } from './walkers.ts'

type EvidenceServices = Pick<
  Services,
  'evidence' | 'chain' | 'signer' | 'checkpoints' | 'controls' | 'bundles' | 'openPrinter'
>

export async function evidenceServices(
  settings: Settings,
  evidence: Evidence,
  now: () => number,
  log: Log,
): Promise<EvidenceServices> {
  const signer = await openSigner(settings)
  const walkers = () => startWalkers(evidencePlace(settings), availableParallelism(), log)
  // A timer would cost a walk a millisecond for each page.
  const breathe = () => new Promise<void>((resolve) => setImmediate(resolve))
  return {
    evidence,
    chain: openChain({ evidence, now: Date.now, walkers, breathe }),
    signer,
    checkpoints: createCheckpoints({ evidence, signer, now }),
    controls: loadControls(),
    bundles: openBundleFiles(bundlesPlace(settings)),
    openPrinter,
  }
}

/**
 * The key that signs checkpoints: the one that the settings name, else one in the data directory. The signer's name, the origin of the
 * checkpoints, derives from the key: it stays when the service moves to another address, and no two logs with keys of their own share it.
 * @throws Error naming the setting and the file, never the content of the file
 */
async function openSigner({ evidence_key, data_dir }: Settings): Promise<Signer> {
  const key = await (evidence_key === null
    ? ownKey(join(data_dir, 'keys', 'evidence.pem'), 'the evidence key (CSTP_EVIDENCE_KEY)')
    : readKey(evidence_key, 'CSTP_EVIDENCE_KEY'))
  return signerOf(`${serviceName}/${fingerprint(key)}`, key)
}
