/** All servers of the settings as one, at `/gateway`: each call is judged as one of the server that has the tool. */
import type { Transport } from '@modelcontextprotocol/server'
import { type Aggregate, openAggregate } from '../surfaces/gateway/aggregate.ts'
import { type Bridge, openBridge } from '../surfaces/gateway/bridge.ts'
import type { Gate, ServerIdentity, ToolCall, ToolEntry } from '../surfaces/gateway/gate.ts'
import type { Settings } from './config/config.ts'
import { type GatewayOptions, openGate } from './gateway.ts'
import { bridgeTools, connectTo } from './gateway-connect.ts'

type Options = Omit<GatewayOptions, 'name' | 'upstream' | 'project'>

/** The gates of the servers as one. @param current the connection in use, which knows whose a tool is */
function gateOfAll(gates: ReadonlyMap<string, Gate>, current: () => Aggregate): Gate {
  interface Place {
    gate: Gate
    call: ToolCall
    /** Of the tool, for the connection. */
    name: string
  }
  /** Where calls were judged: that is where they go, are recorded and shown, whatever servers list meanwhile. */
  const places = new WeakMap<ToolCall, Place>()
  const at = (call: ToolCall): Place | null => {
    const owner = current().toolAt(call.tool)
    const gate = owner && gates.get(owner.server)
    return gate ? { gate, call: { ...call, tool: owner.tool }, name: owner.name } : null
  }
  return {
    async list(tools) {
      const shown: ToolEntry[] = []
      for (const [server, gate] of gates) {
        const own = tools.flatMap((entry) => {
          const owner = current().toolAt(entry.name)
          return owner?.server === server ? [{ entry, own: { ...entry, name: owner.tool } }] : []
        })
        // A server that did not answer is not pinned as one without tools.
        if (own.length === 0) continue
        const { name = null, version = null } = current().identityOf(server) as Partial<ServerIdentity>
        const usable = await gate.list(
          own.map((one) => one.own),
          { name, version },
        )
        shown.push(...own.filter((one) => usable.includes(one.own)).map(({ entry }) => entry))
      }
      return tools.filter((one) => shown.includes(one))
    },
    async withheld(call) {
      const place = at(call) ?? { gate: [...gates.values()][0]!, call }
      return place.gate.withheld(place.call)
    },
    async judge(call) {
      const place = at(call)
      if (place === null) return { kind: 'refuse', reason: `No server has the tool ${JSON.stringify(call.tool)}` }
      places.set(call, place)
      const judged = await place.gate.judge(place.call)
      return judged.kind === 'forward' ? { ...judged, name: place.name } : judged
    },
    answered: (approval) => [...gates.values()][0]!.answered(approval),
    async ended(call, end) {
      const place = places.get(call)
      await place?.gate.ended(place.call, end)
    },
    shown(result, call) {
      const place = call && places.get(call)
      return (place?.gate ?? [...gates.values()][0]!).shown(result, place?.call)
    },
    close: async () => void (await Promise.all([...gates.values()].map((gate) => gate.close()))),
  }
}

/** Connects a client with all servers. @throws if one can't be started */
export async function openSessionWithAll(
  front: Transport,
  { gateway }: Pick<Settings, 'gateway'>,
  options: Options,
): Promise<Bridge> {
  const servers = Object.entries(gateway)
  const gates = new Map(
    servers.map(([name, upstream]) => {
      const project = upstream.project ?? null
      return [name, openGate({ ...options, name, upstream, project })] as const
    }),
  )
  let current: Aggregate
  const connect = async (): Promise<Transport> => {
    const parts = servers.map(([name, upstream]) => ({ name, connect: () => connectTo(upstream) }))
    current = openAggregate(parts, options.services.randomHex(8), options.services.log)
    return current.transport
  }
  const longest = Math.max(...servers.map(([, { approval_wait }]) => approval_wait))
  return openBridge({
    front,
    connect,
    gate: gateOfAll(gates, () => current),
    name: servers.map(([name]) => name).join(', '),
    approval_wait_ms: longest * 1_000,
    ...bridgeTools(options.services.log),
  })
}
