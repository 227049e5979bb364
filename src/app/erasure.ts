/** What a server erases in the background: records whose retention period has ended, and traces of erasures still on disk. */
import type { Services } from '../calls/services.ts'
import { describeError } from '../core/log.ts'
import { startFinishing } from '../domain/erasure/finish.ts'
import { later } from './lifecycle.ts'
import { startRetention } from './retention.ts'

export function startErasing(services: Services): { close(): Promise<void> } {
  const { log, retention } = services
  const warn = (what: string) => (error: unknown) => log('warn', what, describeError(error))
  const rounds = [
    startFinishing({ ...services, after: later, failed: warn('traces of an erasure are still on the disk') }),
    ...(retention.length === 0
      ? []
      : [startRetention({ ...services, after: later, failed: warn('what is over could not be erased') })]),
  ]
  return {
    async close() {
      await Promise.all(rounds.map((one) => one.close()))
    },
  }
}
