/** The services around the evidence log: the chain, signed checkpoints, control rules, bundles and their PDF printer. */
import { hkdfSync, type KeyObject } from 'node:crypto'
import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import type { Evidence } from '../../sdk/storage/evidence.ts'
import type { ThreadReads } from '../../sdk/storage/thread.ts'
import type { Services } from '../calls/services.ts'
import { ownKey, readKey } from '../core/key-file.ts'
import type { Log } from '../core/log.ts'
import { timestamp } from '../core/time.ts'
import { adminAgent } from '../core/token-file.ts'
import { serviceName } from '../core/version.ts'
import { createCheckpoints, lastSigned, type Signed } from '../domain/ledger/engine/checkpoints.ts'
import { fingerprint, type Signer, signerOf } from '../domain/ledger/engine/note.ts'
import { openChain } from '../domain/ledger/evidence/chain.ts'
import { threadSigner } from '../domain/ledger/thread/sequencer.ts'
import { sourceMarks } from '../domain/record/decision/tombstone.ts'
import { analyse } from '../domain/search/terms.ts'
import { openControls } from '../policy/files.ts'
import { bundlesPlace, evidencePlace, type Settings } from './config/config.ts'
import { openEvidence, openStore } from './drivers.ts'
import { openBundleFiles } from './folders.ts'
import { closing } from './lifecycle.ts'
import { foreignPorts } from './own-drivers.ts'
import { openPrinter } from './printer.ts'
import { readMark, writeMark } from './thread-mark.ts'
import { startWalkers } from './walkers.ts'

type EvidenceServices = Pick<
  Services,
  'evidence' | 'chain' | 'signer' | 'checkpoints' | 'controls' | 'bundles' | 'openPrinter' | 'sourceMark'
> & {
  /** Signs the thread's checkpoints. */
  threadSigner: Signer
}

export async function evidenceServices(
  settings: Settings,
  evidence: Evidence,
  thread: Pick<ThreadReads, 'head' | 'checkpoints'>,
  now: () => number,
  log: Log,
): Promise<EvidenceServices> {
  const { signer, key } = await openSigner(settings, evidence, thread)
  // Worker threads can open the files of the program's own drivers only.
  const foreign = (await foreignPorts(settings)).includes('evidence')
  const walkers = () => startWalkers(evidencePlace(settings), availableParallelism(), log)
  // A timer would add a millisecond for each page of a walk.
  const yieldToEventLoop = () => new Promise<void>((resolve) => setImmediate(resolve))
  return {
    evidence,
    chain: openChain({ evidence, now: Date.now, ...(!foreign && { walkers }), yieldToEventLoop }),
    signer,
    threadSigner: threadSigner(signer.name, key),
    checkpoints: createCheckpoints({ evidence, signer, now }),
    controls: await openControls(settings.control_packs),
    bundles: openBundleFiles(bundlesPlace(settings)),
    openPrinter,
    sourceMark: sourceMarks(erasureSecret(key)),
  }
}

/** Derived from the evidence key, so that marks of erased sources need no key file of their own. @see RFC 5869 */
function erasureSecret(key: KeyObject): Uint8Array {
  const seed = key.export({ type: 'pkcs8', format: 'der' }).subarray(-32)
  return new Uint8Array(hkdfSync('sha256', seed, Buffer.alloc(0), 'cstp/erasure/v1', 32))
}

/** Path of the data directory's own key, used if the settings name no other. */
export const ownKeyPath = (data_dir: string): string => join(data_dir, 'keys', 'evidence.pem')

/** A key's name is derived from the key: it survives a change of the service's address, and no two keys share one. */
export const signerOfKey = (key: KeyObject): Signer => signerOf(`${serviceName}/${fingerprint(key)}`, key)

/** The key that signs checkpoints: the one in the settings, else one in the data directory, created if missing. */
async function openKey({ evidence_key, data_dir }: Settings): Promise<{ signer: Signer; key: KeyObject }> {
  const key = await (evidence_key === null
    ? ownKey(ownKeyPath(data_dir), 'the evidence key (CSTP_EVIDENCE_KEY)')
    : readKey(evidence_key, 'CSTP_EVIDENCE_KEY'))
  return { signer: signerOfKey(key), key }
}

/** The error that aborts startup if the key that signed a log is missing, with instructions. */
const otherKey = (what: string): Error =>
  new Error(
    `${what}. Restore the former key (keys/ of a backup, or CSTP_EVIDENCE_KEY); without it, cstp evidence new-key starts a new identity, which every witness needs`,
  )

/**
 * Opens the signer of a log and checks that its key is the one that signed the log last.
 * @throws Error naming the setting and the file, never the content of the file
 */
async function openSigner(
  settings: Settings,
  evidence: Evidence,
  thread: Pick<ThreadReads, 'head' | 'checkpoints'>,
): Promise<Awaited<ReturnType<typeof openKey>>> {
  const { records, origin } = await lastSigned(evidence)
  const path = ownKeyPath(settings.data_dir)
  if (records > 0 && settings.evidence_key === null && !existsSync(path))
    throw otherKey(`the evidence log has ${records} records, but its key ${path} is missing`)
  const former = (await lastSigned(thread)).origin
  if (former !== null && settings.evidence_key === null && !existsSync(path))
    throw otherKey(`the ledger was signed by ${former}, but its key ${path} is missing`)
  const opened = await openKey(settings)
  const { name } = opened.signer
  if (origin !== null && origin !== name)
    throw otherKey(`the evidence log was signed by ${origin}, but the evidence key is that of ${name}`)
  return opened
}

/**
 * Makes the configured key sign the log from now on, and records that in the audit trail. A missing key in the data directory is created.
 * No server may be running on the log meanwhile, since it would keep signing with its own key.
 * @returns the previous origin, null if none is known, and the signer
 */
export async function adoptKey(settings: Settings, log: Log): Promise<{ before: Signed; signer: Signer }> {
  const { keep, close } = closing(log)
  try {
    const evidence = keep(await openEvidence(settings))
    const opened = keep(await openStore(settings, { analyse, now: Date.now, log, brief: true }))
    const before = await lastSigned(evidence)
    const { signer, key } = await openKey(settings)
    await createCheckpoints({ evidence, signer, now: Date.now }).latest()
    const { thread } = opened.store
    const ofThread = threadSigner(signer.name, key)
    await createCheckpoints({ evidence: thread, signer: ofThread, now: Date.now, what: 'the ledger' }).latest()
    const lost = Math.max(0, ((await readMark(settings.data_dir))?.size ?? 0) - (await thread.head()).seq)
    await writeMark(settings.data_dir, thread, ofThread)
    const detail = {
      ...{ before: before.origin, after: signer.name, records: before.records },
      ...(lost > 0 && { thread_entries_lost: lost }),
    }
    const entry = { at: timestamp(Date.now()), agent: adminAgent, method: 'evidence.new-key', request_id: 'local' }
    await opened.store.transaction((tx) =>
      tx.append({ audit: [{ ...entry, ids: [], allowed: null, rules: [], detail }] }),
    )
    return { before, signer }
  } finally {
    await close()
  }
}
