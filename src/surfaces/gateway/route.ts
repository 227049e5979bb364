/** The paths of the gateway: `/gateway/<name>`, and `/gateway` for all servers, loaded with the first client. */
import { describeError } from '../../core/log.ts'
import { allowedOrigin, plainError, type Route, type Visit } from '../http/route.ts'
import { bodyOf } from '../mcp/http.ts'
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
  const { names, cors_origins, log } = options
  let gateway: Promise<Gateway> | null = null
  const load = (): Promise<Gateway> => {
    gateway ??= import('./http.ts').then(({ openGateway }) => openGateway(options))
    return gateway
  }
  const handle = async (request: Request, visit: Visit): Promise<Response> => {
    const { path, caller } = visit
    if (!allowedOrigin(request.headers.get('origin'), cors_origins))
      return plainError(
        403,
        'forbidden',
        'Pages of this origin may not call here; CSTP_CORS_ORIGINS names those that may',
      )
    const name = path.slice('/gateway/'.length)
    if (name !== '' && !names.includes(name))
      return plainError(
        404,
        'not_found',
        `There are servers ${names.join(', ')} at /gateway/<name>, all of them at /gateway`,
      )
    let body: unknown
    if (request.method === 'POST') {
      const read = await bodyOf(request, visit)
      if (read instanceof Response) return read
      body = read.body
    }
    visit.disableIdleTimeout()
    try {
      return await (await load()).handle(name, request, body, caller!)
    } catch (error) {
      log('error', 'a request of the gateway failed', describeError(error))
      return plainError(500, 'internal_error', 'Internal error')
    }
  }
  return {
    route: {
      methods: ['POST', 'GET', 'DELETE'],
      scope: 'write',
      headers: ['Accept', 'Last-Event-ID', 'Mcp-Method', 'Mcp-Name', 'Mcp-Protocol-Version', 'Mcp-Session-Id'],
      handle,
    },
    async close() {
      await (await gateway)?.close()
    },
  }
}
