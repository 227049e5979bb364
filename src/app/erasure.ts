/** What a server does about erasures beside its calls. */
import type { Store } from '../../sdk/storage/store.ts'
import { describeError, type Log } from '../core/log.ts'
import type { Rounds } from '../core/rounds.ts'
import { startFinishing } from '../domain/erasure/finish.ts'
import type { Follower } from '../domain/search/follower.ts'
import { later } from './lifecycle.ts'

/** Takes traces off the disk that a call, or a process that died, has left. */
export const finishErasures = (store: Store, index: Follower, log: Log): Rounds =>
  startFinishing({
    store,
    index,
    after: later,
    failed: (error) => log('warn', 'traces of an erasure are still on the disk', describeError(error)),
  })
