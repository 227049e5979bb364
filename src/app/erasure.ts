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
    startFinishing({ ...services, after: later, failed: warn('an erasure is not complete: traces are still on disk') }),
    ...(retention.length === 0
      ? []
      : [startRetention({ ...services, after: later, failed: warn('expired records could not be erased') })]),
  ]
  return {
    async close() {
      await Promise.all(rounds.map((one) => one.close()))
    },
  }
}
