/** A test program behind real HTTP, with a token for each of its callers. */
import { agentsOf, createAuthenticator, parseTokens } from '../../src/core/caller.ts'
import { openSignatures } from '../../src/core/signed.ts'
import { serviceName, version } from '../../src/core/version.ts'
import { methods } from '../../src/methods/table.ts'
import { createAnswers } from '../../src/surfaces/http/answers.ts'
import { a2aCard, agentCard, answerRoot } from '../../src/surfaces/http/discovery.ts'
import { createFetch } from '../../src/surfaces/http/http.ts'
import { createBodies, createGuesses, createRateLimiter } from '../../src/surfaces/http/limits.ts'
import { createMcp } from '../../src/surfaces/mcp/http.ts'
import { type As, callers, type TestProgram } from '../support/program.ts'

/** What a transport needs to reach the program. */
export interface WireServer {
  program: TestProgram
  url: string
  /** The token of a caller, whose agent has the caller's name. */
  token(as: As): string
  /** What answers at the URL. */
  handle(request: Request): Promise<Response>
  stop(): Promise<void>
}

/** Serves a program on a free port. The test stops it; the caller closes the program. */
export function serveProgram(program: TestProgram): WireServer {
  const token = (as: As): string => `${as}-token-of-the-tests`
  const credentials = parseTokens(
    Object.entries(callers).map(([agent, { scopes }]) => ({ agent, token: token(agent as As), scopes: [...scopes] })),
  )
  const free = createRateLimiter({ per_minute: 0, burst: 1, now: Date.now })
  let requests = 0
  const newRequestId = () => `wire-${requests++}`
  const stopping = new AbortController().signal
  const log = Object.assign(() => {}, { flush() {} })
  const mcp = createMcp({ dispatch: program.dispatch, newRequestId, cors_origins: ['*'], stopping, log })
  const agents = agentsOf(credentials)
  const fetch = createFetch({
    dispatch: program.dispatch,
    authenticate: createAuthenticator(() => agents),
    signatures: openSignatures(() => agents, Date.now),
    requests: free,
    guesses: createGuesses({ limiter: free, log, observe() {} }),
    bodies: createBodies(134_217_728),
    answers: createAnswers(134_217_728, () => () => {}),
    hosts: null,
    cors_origins: ['*'],
    max_body_bytes: 4_194_304,
    trust_proxy: 0,
    newRequestId,
    routes: { '/mcp': mcp.route },
    health: () => ({
      status: 'ok',
      version,
      agent: serviceName,
      uptime_seconds: 0,
      timestamp: new Date().toISOString(),
    }),
    root: (request) => answerRoot(request, false),
    agentCard: () => agentCard(`http://127.0.0.1:${server.port}`),
    a2aCard: () => a2aCard(`http://127.0.0.1:${server.port}`, methods),
    ready: () => true,
    metrics: async () => ({ text: '', content_type: 'text/plain' }),
    stopping,
  })
  const handle = async (request: Request) => fetch(request, () => '127.0.0.1')
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: handle })
  return {
    program,
    url: `http://127.0.0.1:${server.port}`,
    token,
    handle,
    async stop() {
      await mcp.close()
      await server.stop(true)
    },
  }
}
