/** How often an agent may call, and how often an address may fail to log in. */
import type { Settings } from '../config.ts'
import { createRateLimiter, type RateLimiter } from '../surfaces/rate.ts'

const failedLoginsPerMinute = 20

export function createLimits({ rate_limit }: Settings): { requests: RateLimiter; logins: RateLimiter } {
  const now = Date.now
  const burst = Math.max(100, Math.ceil(rate_limit / 6))
  return {
    requests: createRateLimiter({ per_minute: rate_limit, burst, now }),
    logins: createRateLimiter({ per_minute: failedLoginsPerMinute, burst: failedLoginsPerMinute, now }),
  }
}
