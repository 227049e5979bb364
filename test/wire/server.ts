/** A test program behind real HTTP, with a token for each of its callers. */
import { createAuthenticator, parseTokens } from '../../src/surfaces/auth.ts'
import { createFetch } from '../../src/surfaces/http.ts'
import { createRateLimiter } from '../../src/surfaces/rate.ts'
import { protocolVersion, serviceName, version } from '../../src/version.ts'
import { type As, callers, type TestProgram } from '../program.ts'

/** What a transport needs to reach the program. */
export interface WireServer {
  program: TestProgram
  url: string
  /** The token of a caller, whose agent has the caller's name. */
  token(as: As): string
  stop(): Promise<void>
}

/** Serves a program on a free port. The test stops it; the program is closed by whoever opened it. */
export function serveProgram(program: TestProgram): WireServer {
  const token = (as: As): string => `${as}-token`
  const credentials = parseTokens(
    Object.entries(callers).map(([agent, { scopes }]) => ({ agent, token: token(agent as As), scopes: [...scopes] })),
  )
  const free = createRateLimiter({ per_minute: 0, burst: 1, now: Date.now })
  let requests = 0
  const handle = createFetch({
    dispatch: program.dispatch,
    authenticate: createAuthenticator({ credentials, admins: null, evidence: null }),
    requests: free,
    logins: free,
    cors_origins: ['*'],
    max_body_bytes: 4_194_304,
    trust_proxy: 0,
    newRequestId: () => `wire-${requests++}`,
    health: () => ({
      status: 'ok',
      version,
      agent: serviceName,
      uptime_seconds: 0,
      timestamp: new Date().toISOString(),
    }),
    card: () => ({
      name: serviceName,
      description: 'test',
      version,
      url: `http://127.0.0.1:${server.port}`,
      capabilities: [],
      protocol: 'cstp',
      protocolVersion,
    }),
    ready: () => true,
    metrics: async () => ({ text: '', content_type: 'text/plain' }),
    stopping: new AbortController().signal,
  })
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: (request) => handle(request, () => '127.0.0.1') })
  return {
    program,
    url: `http://127.0.0.1:${server.port}`,
    token,
    stop: () => server.stop(true),
  }
}
