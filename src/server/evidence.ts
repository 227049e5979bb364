/** What the server hands to anyone who watches the evidence log. */
import type { Settings } from '../config.ts'
import type { Services } from '../context.ts'
import type { Dispatch } from '../registry.ts'
import { evidenceRoutes } from '../surfaces/evidence.ts'
import type { Route } from '../surfaces/http/route.ts'
import { createRateLimiter } from '../surfaces/rate.ts'
import { bundlesPlace } from './places.ts'

/** For each address that reads without credentials. A witness needs three a look, an auditor some more. */
const readsPerMinute = 300

export const evidencePaths = (settings: Settings, services: Services, dispatch: Dispatch): Record<string, Route> =>
  evidenceRoutes({
    dispatch,
    reads: createRateLimiter({ per_minute: readsPerMinute, burst: readsPerMinute / 3, now: Date.now }),
    trust_proxy: settings.trust_proxy,
    verifier_key: services.signer.verifier_key,
    bundle_dir: bundlesPlace(settings),
  })
