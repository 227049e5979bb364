/** What stands around the evidence log: its signer and checkpoints, the control rules, and the bundles that are made of it. */
import type { Evidence } from '../../sdk/storage/evidence.ts'
import type { Settings } from '../config.ts'
import type { Services } from '../context.ts'
import { createCheckpoints } from '../domain/evidence/checkpoints.ts'
import { loadControls } from '../policy/controls.ts'
import { openBundleFiles } from './bundles.ts'
import { bundlesPlace } from './places.ts'
import { openPrinter } from './printer.ts'
import { openSigner } from './signer.ts'

type Notary = Pick<Services, 'signer' | 'checkpoints' | 'controls' | 'bundles' | 'openPrinter'>

export async function openNotary(settings: Settings, evidence: Evidence, now: () => number): Promise<Notary> {
  const signer = await openSigner(settings)
  return {
    signer,
    checkpoints: createCheckpoints({ evidence, signer, now }),
    controls: loadControls(),
    bundles: openBundleFiles(bundlesPlace(settings)),
    openPrinter,
  }
}
