/** How often an agent may call, and how often an address may fail to log in. */
import type { Settings } from '../config.ts'
import { createRateLimiter, createSharedLimiter, type Lease, type Limiter, type RateLimiter } from '../surfaces/rate.ts'

const failedLoginsPerMinute = 20

/** @param lease where servers share the rate of an agent */
export function createLimits({ rate_limit }: Settings, lease?: Lease): { requests: Limiter; logins: RateLimiter } {
  const now = Date.now
  const burst = Math.max(100, Math.ceil(rate_limit / 6))
  const requests = { per_minute: rate_limit, burst, now }
  return {
    requests: lease ? createSharedLimiter({ ...requests, lease }) : createRateLimiter(requests),
    logins: createRateLimiter({ per_minute: failedLoginsPerMinute, burst: failedLoginsPerMinute, now }),
  }
}
