/** In front of all programs: chooses the workspace of a request by whose it is, before anything else looks at it. */
import { CstpError } from '../../../sdk/errors.ts'
import type { Services } from '../../calls/services.ts'
import { type Agent, type Caller, defaultWorkspace, seesAll } from '../../core/caller.ts'
import { githubRoute } from '../../surfaces/http/github.ts'
import type { Fetch } from '../../surfaces/http/http.ts'
import { workspaceMetrics } from '../../surfaces/http/metrics.ts'
import { plainError, type Route, rpcError } from '../../surfaces/http/route.ts'
import { randomHex } from '../drivers.ts'
import { isStream } from '../listen.ts'
import { deliverTo } from '../routes.ts'
import { workspaceOf } from './access.ts'
import { openSpaces, type SpacesOptions, UnknownWorkspace, WorkspaceAway } from './open.ts'

/** Paths of the service itself, which finds out by other means whose they are, or answers everybody alike. */
const ofService =
  /^https?:\/\/[^/]+(?:\/?(?:[?#]|$)|\/(?:health|ready|\.well-known|dashboard(?!\/code$)|webhooks)(?:[/?#]|$))/
const webhooks = '/webhooks/github/'

function refusalOf(request: Request, error: unknown): Response {
  const isKnown = error instanceof WorkspaceAway
  const message = isKnown
    ? "The workspace of these credentials can't be opened now: try again"
    : 'The workspace of these credentials does not exist, or is archived'
  const headers: Record<string, string> = isKnown ? { 'retry-after': '5' } : {}
  const status = isKnown ? 503 : 403
  const name = isKnown ? 'unavailable' : 'forbidden'
  const data = isKnown ? { retry_after_ms: 5_000 } : undefined
  const speaksRpc = /^https?:\/\/[^/]+\/(?:cstp|mcp|gateway)(?:[/?#]|$)/.test(request.url)
  return speaksRpc
    ? rpcError(new CstpError(name, message, data), status, headers)
    : plainError(status, name, message, headers)
}

export interface Workspaces {
  /** Answers for the workspace of the sender, before anything of the default one sees it. */
  before(main: Fetch): Fetch
  /** Whether a workspace of this name can be used. */
  has(workspace: string): boolean
  /** @throws if there is no such workspace, or it can't be opened */
  servicesOf(workspace: string): Promise<Services>
  /** `POST /webhooks/github/<workspace>`: the signature is checked with the secret of that workspace before it is opened. */
  routes: Record<string, Route>
  /** Series by workspace, for those who see everything. */
  metrics(caller: Caller): string
  /** Reads settings and rules again. */
  reload(): Promise<void>
  close(): Promise<void>
}

export function openWorkspaces(options: SpacesOptions): Workspaces {
  const { settings, access, limits, log } = options
  const spaces = openSpaces(options)
  const requests = new Map<string, number>()

  let agents: readonly Agent[] = []
  let areNamed = false
  /** Whether anybody but the default workspace may be meant. */
  function areUsed(): boolean {
    if (settings.oidc_claims.workspace !== '' || spaces.names().size > 0) return true
    const now = access.agents()
    if (now !== agents) [agents, areNamed] = [now, now.some(({ caller }) => caller.workspace !== undefined)]
    return areNamed
  }

  const ofWebhooks: Route = {
    methods: ['POST'],
    async handle(request, visit) {
      const name = visit.path.slice(webhooks.length)
      if (!areUsed()) return plainError(404, 'not_found', 'There is nothing at this path')
      const own = spaces.names().has(name) ? await spaces.settingsOf(name).catch(() => null) : null
      const route = githubRoute({
        // Without a secret of its own, no signature is right, as for a workspace that does not exist.
        secret: own?.github_webhook_secret ?? randomHex(32),
        guesses: limits.guesses,
        trust_proxy: settings.trust_proxy,
        log,
        observe: (result) =>
          void spaces.opened.get(name)?.opened.then(({ program }) => program.metrics.delivery(result)),
        deliver: (...given) =>
          spaces.use(name, ({ program }) => deliverTo(program.services, own!.github_bots)(...given)),
      })
      return route.handle(request, visit)
    },
  }

  return {
    before(main) {
      const chosen: Fetch = async (request, address, disableIdleTimeout) => {
        try {
          const name = ofService.test(request.url) ? undefined : await workspaceOf(access, request)
          if (name === undefined) return await main(request, address, disableIdleTimeout)
          return await spaces.use(name, async ({ surface }, space) => {
            requests.set(name, (requests.get(name) ?? 0) + 1)
            const response = await surface.fetch(request, address, disableIdleTimeout)
            if (isStream(response)) {
              space.busy++
              request.signal.addEventListener('abort', () => space.busy--, { once: true })
            }
            return response
          })
        } catch (error) {
          if (error instanceof UnknownWorkspace || error instanceof WorkspaceAway) return refusalOf(request, error)
          throw error
        }
      }
      return (request, address, disableIdleTimeout) => (areUsed() ? chosen : main)(request, address, disableIdleTimeout)
    },
    has: (name) => name === defaultWorkspace || spaces.names().has(name),
    servicesOf: (name) => spaces.use(name, async ({ program }) => program.services),
    routes: { [webhooks]: ofWebhooks },
    metrics(caller) {
      if (!seesAll(caller) || !areUsed()) return ''
      return workspaceMetrics(spaces.names().size, spaces.opened.size, requests)
    },
    reload: spaces.reload,
    close: spaces.close,
  }
}
