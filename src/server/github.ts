/** Ties GitHub's webhook to the evidence: a delivery becomes events, a line of the audit trail and a line of the log. */
import type { Settings } from '../config.ts'
import { auditAppended, type Services } from '../context.ts'
import { source } from '../domain/evidence/github/parts.ts'
import { takeDelivery } from '../domain/evidence/github.ts'
import type { Scope } from '../surfaces/auth.ts'
import { type GithubOptions, githubRoute } from '../surfaces/github.ts'
import type { Route } from '../surfaces/http/route.ts'
import type { Metrics } from '../surfaces/metrics.ts'
import type { RateLimiter } from '../surfaces/rate.ts'

/** @param bots further accounts that are agents */
const deliverTo =
  (services: Services, bots: readonly string[]): GithubOptions['deliver'] =>
  async (delivery, { request_id, signal }) => {
    const taken = await takeDelivery(services.chain, delivery, bots)
    const { id: delivery_id, kind, body_sha256 } = delivery
    services.log('info', 'delivery', { request_id, agent: source, kind, delivery_id, ...taken })
    if (taken.outcome === 'ingested') {
      const { ingested, first_seq } = taken
      const caller = { agent: source, scopes: new Set<Scope>() }
      const call = { ...services, caller, method: 'POST /webhooks/github', request_id, signal }
      await auditAppended(call, [], { kind, delivery_id, body_sha256, ingested, first_seq })
    }
    return taken
  }

/** The webhook's path where the settings hold its secret. @param logins failed signatures of an address */
export function githubRoutes(
  { github_webhook_secret: secret, github_bots, trust_proxy }: Settings,
  { services, metrics }: { services: Services; metrics: Metrics },
  logins: RateLimiter,
): Record<string, Route> {
  if (secret === null) return {}
  const { log } = services
  const deliver = deliverTo(services, github_bots)
  return { '/webhooks/github': githubRoute({ secret, logins, trust_proxy, log, observe: metrics.delivery, deliver }) }
}
