/** The tools as transports: MCP over HTTP in the newest revision, and over stdin and stdout of one process an agent in an older one. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { codes } from '../../sdk/errors.ts'
import { compileParams } from '../../src/core/params.ts'
import { methods } from '../../src/methods/table.ts'
import type { As } from '../support/program.ts'
import { modernRevision, overHttp, overStdio, type Peer } from '../surfaces/mcp/peers.ts'
import type { Outcome, Transport, TransportKind } from './replay.ts'
import type { WireServer } from './server.ts'

type Fields = Record<string, unknown>
const isFields = (value: unknown): value is Fields =>
  value !== null && typeof value === 'object' && !Array.isArray(value)
const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {})

/** How the parameters of a method are spelt as the input of its tool, where they differ; defaults of the method are given. */
const spellings: Record<string, (params: Fields) => Fields> = {
  queryDecisions: (params) => ({ limit: 10, retrieval_mode: 'semantic', ...params }),
  getSessionContext: (params) => ({ format: 'json', ...params }),
  reviewDecision: ({ decision_id: id, ...rest }) => ({ ...(id !== undefined && { id }), ...rest }),
  recordDecision: ({ project, ...rest }) => {
    const { name, ...more } = fieldsOf(project)
    return { ...rest, ...more, ...(name !== undefined && { project: name }) }
  },
  checkGuardrails: ({ action, ...rest }) => ({ ...fieldsOf(action), ...rest }),
  preAction: ({ action, options, ...rest }) => ({ ...fieldsOf(action), ...fieldsOf(options), ...rest }),
}

/** What comes out where it can be had; null where it is refused. */
function attempt(work: () => unknown): unknown {
  try {
    return work()
  } catch {
    return null
  }
}

interface Spelt {
  tool: string
  input: Fields
}

/** A call as that of a tool; null where no tool says the same. */
function spell(method: string, params: unknown): Spelt | null {
  const { mcp, params: schema } = methods.get(`cstp.${method}`) ?? {}
  if (!mcp || !schema || !isFields(params)) return null
  const input: Fields = spellings[method]?.(params) ?? params
  const parse = compileParams(schema)
  const wanted = attempt(() => parse(params))
  const { input: own } = mcp
  const said = attempt(() => parse(own ? own.toParams(compileParams(own.schema)(input)) : input))
  return Bun.deepEquals(said, wanted) ? { tool: mcp.name, input } : null
}

const validation: number[] = [codes.invalid_params, codes.decision_not_found]

/** A refusal as the method's own answer would put it, as far as the tool tells. @throws where it is not told as tools tell it */
function refusalIn(text: string, method: string): Outcome {
  const { error, code, message, data } = JSON.parse(text) as {
    error: string
    code: number
    message: string
    data?: Fields
  }
  const kind = validation.includes(code) ? 'validation_error' : 'internal_error'
  if (error !== kind) throw new Error(`code ${code} was reported as ${error}`)
  if (kind === 'internal_error') return { error: { code, message, data } }
  const said = /^\d+ validation errors? for [A-Z]\w+Input: (.*)$/s.exec(message)?.[1]
  if (said === undefined) throw new Error(`not reported as a validation error: ${message}`)
  if (code === codes.decision_not_found) return { error: { code, message: said } }
  // Fields of another spelling are elsewhere, so their errors differ.
  return { error: spellings[method] ? { code } : { code, message: `Invalid params: ${said}` } }
}

/** @param peerOf the client of an agent, connected when first asked for */
function overTools(peerOf: (as: As) => Promise<Peer>): Pick<Transport, 'carries' | 'call'> {
  return {
    carries: ({ method, params }) => spell(method, params) !== null,
    async call(as, method, params) {
      const { tool, input } = spell(method, params)!
      const { content, structuredContent, isError } = await (await peerOf(as)).callTool({
        name: tool,
        arguments: input,
      })
      const text = content[0]?.text ?? ''
      if (content.length !== 1) throw new Error(`${tool} told ${content.length} things`)
      if (isError) return refusalIn(text, method)
      if (!Bun.deepEquals(JSON.parse(text), structuredContent, true))
        throw new Error(`${tool} says ${text}, and as a structure ${JSON.stringify(structuredContent)}`)
      return { result: structuredContent }
    },
  }
}

/** Keeps what was made for each agent, and closes it. */
function each(make: (as: As) => Promise<Peer>) {
  const peers = new Map<As, Promise<Peer>>()
  return {
    of(as: As): Promise<Peer> {
      const peer = peers.get(as) ?? make(as)
      peers.set(as, peer)
      return peer
    },
    async close() {
      for (const peer of peers.values()) await (await peer).close()
      peers.clear()
    },
  }
}

export const mcpHttp: TransportKind = {
  name: 'MCP over HTTP',
  async open({ url, token }) {
    const peers = each((as) => overHttp(`v2 at ${modernRevision}`, url, `${as}:${token(as)}`))
    return { ...overTools(peers.of), close: peers.close }
  },
}

/**
 * `cstp mcp --url`: one process for each agent serves all cases, and passes calls to an address behind which the programs change.
 * `close` ends the processes; it is called once, when everything was replayed.
 */
export function mcpStdio(): TransportKind & { close(): Promise<void> } {
  let behind: WireServer | null = null
  let front: ReturnType<typeof Bun.serve> | null = null
  let dir: string | null = null
  const peers = each(async (as) => {
    front ??= Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: (request) => behind!.handle(request),
    })
    dir ??= await mkdtemp(join(tmpdir(), 'cstp-wire-'))
    const args = ['--url', `http://127.0.0.1:${front.port}`, '--agent', as]
    return overStdio('v1', dir, args, { CSTP_TOKEN: behind!.token(as) })
  })
  return {
    name: 'MCP over stdio',
    async open(server) {
      behind = server
      return overTools(peers.of)
    },
    async close() {
      await peers.close()
      await front?.stop(true)
      if (dir) await rm(dir, { recursive: true, force: true })
    },
  }
}

/** Whether a call can be made as a tool's. */
export const hasTool = (method: string, params: unknown): boolean => spell(method, params) !== null
