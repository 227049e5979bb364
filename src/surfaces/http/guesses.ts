/** Wrong credentials: limits them for each address, counts and logs them. */
import type { Log } from '../../core/log.ts'
import type { RateLimiter } from './rate.ts'

/** Where credentials are presented; a label of the metrics. */
export type GuessedAt = 'cstp' | 'mcp' | 'dashboard' | 'metrics' | 'webhook' | 'other'

export interface Guesses {
  /** Seconds until an address may present credentials again; 0 if it may now. */
  wait(address: string): number
  /** Counts a failure. Returns the seconds to wait if the address had too many, else 0. @param agent the given name */
  failed(surface: GuessedAt, agent: string | null, address: string): number
}

const longestName = 64

/** @param input.limiter failures of an address @param input.observe called for every failure */
export function createGuesses(input: { limiter: RateLimiter; log: Log; observe(surface: GuessedAt): void }): Guesses {
  const { limiter, log, observe } = input
  return {
    wait: (address) => limiter.wait(address),
    failed(surface, agent, address) {
      const wait = limiter.take(address, 1)
      observe(surface)
      // Failures beyond the limit are only counted, so that they can't fill the log.
      if (wait === 0)
        log('warn', 'wrong credentials', { surface, agent: agent?.slice(0, longestName) ?? null, address })
      return wait
    },
  }
}
