/** The paths of the gateway for the servers that the settings name; what it needs is loaded with the first client. */
import type { Services } from '../calls/services.ts'
import type { Observer } from '../core/observed.ts'
import { createGateway, type GatewaySurface } from '../surfaces/gateway/route.ts'
import type { Settings } from './config/config.ts'
import { gatewayMethod } from './config/upstreams.ts'

/** Names of the calls of all servers of the settings. */
export const gatewayMethods = ({ gateway }: Pick<Settings, 'gateway'>): string[] =>
  Object.keys(gateway).map(gatewayMethod)

export const openGatewayRoute = (
  { gateway, cors_origins }: Pick<Settings, 'gateway' | 'cors_origins'>,
  services: Services,
  rest: { newRequestId(): string; stopping: AbortSignal; observer: Pick<Observer, 'ended' | 'passed'> },
): GatewaySurface =>
  createGateway({
    names: Object.keys(gateway),
    cors_origins,
    log: services.log,
    async open(name, front, caller) {
      if (name === '') {
        const { openSessionWithAll } = await import('./gateway-all.ts')
        return openSessionWithAll(front, { gateway }, { services, caller, shadow: false, ...rest })
      }
      const { openSession } = await import('./gateway.ts')
      const upstream = gateway[name]!
      const project = upstream.project ?? null
      return openSession(front, { services, name, upstream, caller, project, shadow: false, ...rest })
    },
  })
