/** Who may call: the agents of the settings, or the one that is made at the first start. */
import type { Settings } from '../config.ts'
import { agentsOf, createAuthenticator } from '../surfaces/auth.ts'
import type { RateLimiter } from '../surfaces/rate.ts'
import { localCredentials } from '../token.ts'

/** @param logins failed ones of an address */
export async function openAccess(settings: Settings, logins: RateLimiter) {
  const agents = {
    credentials: settings.auth_tokens ?? (await localCredentials(settings.data_dir)),
    admins: settings.admin_agents,
    evidence: settings.evidence_agents,
  }
  const authenticate = createAuthenticator(agents)
  return { authenticate, access: { authenticate, agents: agentsOf(agents), logins } }
}
