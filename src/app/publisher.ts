/** Opens the publisher of the thread: without witnesses, or with those of a policy file. */
import { readFile } from 'node:fs/promises'
import type { Store } from '../../sdk/storage/store.ts'
import type { Services } from '../calls/services.ts'
import { causeOf, describeError, type Log } from '../core/log.ts'
import type { Publisher } from '../domain/ledger/thread/receipts.ts'
import { publishAlone, type StaticLog, staticLog } from '../domain/ledger/thread/receipts.ts'
import type { Thread } from '../domain/ledger/thread/sequencer.ts'
import { publishWitnessed } from '../transparency/publisher.ts'
import { type Policy, PolicyFormError, readPolicy } from '../verify/policy.ts'
import type { Settings } from './config/config.ts'
import { later } from './lifecycle.ts'

/** @throws Error naming the setting and the file */
async function policyIn(path: string): Promise<Policy> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new Error(`CSTP_WITNESSES: ${path} can't be read: ${causeOf(error)}`)
  })
  try {
    const policy = readPolicy(text)
    const reachable = policy.witnesses.filter(({ url }) => url !== null)
    const wrong = reachable.find(({ url }) => !/^https?:$/.test(URL.parse(url!)?.protocol ?? ''))
    if (wrong)
      throw new PolicyFormError(`the witness ${wrong.name} has no address that begins with https:// or http://`)
    if (reachable.length === 0) throw new PolicyFormError('no witness has an address: witness <name> <vkey> <url>')
    return policy
  } catch (error) {
    if (error instanceof PolicyFormError) throw new Error(`CSTP_WITNESSES: ${path}, ${error.message}`)
    throw error
  }
}

/** @throws Error if the policy file is invalid */
export async function openPublisher(
  { witnesses }: Pick<Settings, 'witnesses'>,
  store: Pick<Store, 'thread'>,
  thread: Thread,
  now: () => number,
  log: Log,
): Promise<Publisher> {
  if (witnesses === null) return publishAlone(thread, now)
  return publishWitnessed({
    thread,
    log: store.thread,
    policy: await policyIn(witnesses),
    now,
    after: later,
    failed: (error) => log('warn', 'a checkpoint was not cosigned; it will be retried', describeError(error)),
  })
}

/** The thread as static files. */
export const filesOfLog = ({ store, thread, publisher }: Services): StaticLog =>
  staticLog(store.thread, thread, publisher)
