/** Checks the thread: each act against its commitment, the tree, the signed checkpoints, and everything the acts refer to. */
import type { Store } from '../../../sdk/storage/store.ts'
import { examineThread, type ThreadSources } from '../../domain/ledger/thread/examine/examine.ts'
import { checkSeals, sealProblem } from '../../domain/ledger/thread/seals.ts'
import { versionOf } from '../../drivers/shared/sqlite/connect.ts'
import { readersOf } from '../../drivers/store/sqlite/inspect.ts'
import { migrations } from '../../drivers/store/sqlite/migrate.ts'
import { evidencePlace, type Settings } from '../config/config.ts'
import { contradiction, lostMark, readMark, wayOn, wayOnWithoutMark } from '../thread-mark.ts'
import { type Check, error, type Finding, warning } from './finding.ts'
import { openCatalogue, openReader } from './stores.ts'

/** Findings after which the check stops. */
const mostFlaws = 1_000

type Opened = Omit<ThreadSources, 'evidence'> & Pick<Store, 'feed'> & { close(): unknown }

/** Readers of the store; null if there is no store of this version. */
export async function openReads(settings: Settings): Promise<Opened | null> {
  const { store_url } = settings
  if (store_url !== null) return (await import('../../drivers/store/postgres/inspect.ts')).openReaders(store_url)
  const db = openCatalogue(settings)
  if (db === null) return null
  if (versionOf(db) !== migrations.length) {
    db.close()
    return null
  }
  const { close, ...readers } = readersOf(db)
  return {
    ...readers,
    close() {
      close()
      db.close()
    },
  }
}

const fix =
  'keep a copy for the investigation; docs/design/ledger.md says what each finding means, a backup has what was there before'

/** Checks that the thread contains the calls that each session was sealed with. */
export const checkSessions: Check = {
  name: 'sessions',
  files: ['store'],
  async *run(settings) {
    const opened = await openReads(settings)
    if (opened === null) return
    try {
      for await (const seal of checkSeals(opened.thread))
        if (!seal.complete)
          yield error(
            sealProblem(seal),
            'calls of tools are missing in the ledger: compare with what the client kept of the session',
          )
    } finally {
      await opened.close()
    }
  },
}

export const checkThread: Check = {
  name: 'thread',
  files: ['store', 'evidence'],
  async *run(settings): AsyncGenerator<Finding> {
    const opened = await openReads(settings)
    if (opened === null) return
    const evidence = await openReader(evidencePlace(settings))
    let found = 0
    const mark = await readMark(settings.data_dir)
    const byHand: string[] = []
    try {
      const lost = await lostMark(settings, mark, opened.thread, Date.now())
      if (lost) yield warning(lost, wayOnWithoutMark)
      const contradicts = evidence && (await contradiction(settings, { ...opened, evidence }, mark))
      if (contradicts) yield error(`${contradicts}: no server starts`, wayOn)
      const yieldToEventLoop = () => Bun.sleep(0)
      for await (const { what, untold } of examineThread(
        { ...opened, evidence },
        { yieldToEventLoop, now: Date.now() },
      )) {
        if (untold !== null) {
          byHand.push(untold)
          continue
        }
        yield error(what, fix)
        if (++found === mostFlaws) return
      }
      if (byHand.length > 0)
        yield warning(
          `${byHand.length} decisions were edited or added without the service, such as ${byHand[0]}: no act records their present state`,
          'compare them with a backup if nobody edited their files by hand; cstp call updateDecision puts the present state on record',
        )
    } finally {
      await evidence?.close()
      await opened.close()
    }
  },
}
