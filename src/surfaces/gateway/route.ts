/** The paths of the gateway: `/gateway/<name>`, and `/gateway` for all servers, loaded with the first client. */
import { plainError, type Route, type Visit } from '../http/route.ts'
import { mcpRoute } from '../mcp/http.ts'
import type { Gateway, GatewayOptions } from './http.ts'

export interface GatewayRouteOptions extends GatewayOptions {
  names: readonly string[]
  /** Origins that browsers may call from; `*` means those of this machine. */
  cors_origins: readonly string[]
}

export interface GatewaySurface {
  route: Route
  /** Ends sessions and their servers. */
  close(): Promise<void>
}

export function createGateway(options: GatewayRouteOptions): GatewaySurface {
  const { names } = options
  let gateway: Promise<Gateway> | null = null
  const load = (): Promise<Gateway> => {
    gateway ??= import('./http.ts').then(({ openGateway }) => openGateway(options))
    return gateway
  }
  const nameIn = ({ path }: Visit): string => path.slice('/gateway/'.length)
  return {
    route: mcpRoute({
      ...options,
      scope: 'write',
      refuse(visit) {
        const name = nameIn(visit)
        if (name === '' || names.includes(name)) return null
        const message = `There are servers ${names.join(', ')} at /gateway/<name>, all of them at /gateway`
        return plainError(404, 'not_found', message)
      },
      handle: async (request, body, visit) => (await load()).handle(nameIn(visit), request, body, visit.caller!),
    }),
    async close() {
      await (await gateway)?.close()
    },
  }
}
