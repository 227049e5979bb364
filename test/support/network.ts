/** A network between a program and a server that can fail: packets vanish, or connections are reset. */
import { createServer, connect as open, type Socket } from 'node:net'

export interface Network {
  /** The address of the server through this network. */
  url: string
  /** From now on nothing arrives, without an error; new connections are taken and stay silent too. */
  swallow(): void
  /** What was sent meanwhile is lost, what is sent from now on arrives. Connections that lost something are reset. */
  restore(): void
  /** Every connection breaks off. */
  reset(): void
  /** How many connections there were. */
  readonly opened: number
  close(): Promise<void>
}

interface Pair {
  near: Socket
  far: Socket
  hasLost: boolean
}

/** @param address `postgres://…@host:port/…` */
export async function network(address: string): Promise<Network> {
  const target = new URL(address)
  const pairs = new Set<Pair>()
  let isSwallowing = false
  let opened = 0

  const server = createServer((near) => {
    opened++
    const far = open(Number(target.port), target.hostname)
    const pair: Pair = { near, far, hasLost: false }
    pairs.add(pair)
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on('data', (bytes) => {
        if (isSwallowing) pair.hasLost = true
        else to.write(bytes)
      })
      from.on('error', () => {})
      from.on('close', () => {
        // The end of the connection is not passed on either.
        if (isSwallowing) pair.hasLost = true
        else {
          to.destroy()
          pairs.delete(pair)
        }
      })
    }
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const place = server.address()
  const own = new URL(address)
  own.hostname = '127.0.0.1'
  own.port = String(typeof place === 'object' ? place?.port : '')

  const cut = (wanted: (pair: Pair) => boolean) => {
    for (const pair of pairs) {
      if (!wanted(pair)) continue
      pair.near.destroy()
      pair.far.destroy()
      pairs.delete(pair)
    }
  }
  return {
    url: own.toString(),
    swallow() {
      isSwallowing = true
    },
    restore() {
      isSwallowing = false
      cut(({ hasLost }) => hasLost)
    },
    reset: () => cut(() => true),
    get opened() {
      return opened
    },
    async close() {
      isSwallowing = false
      cut(() => true)
      await new Promise((done) => server.close(done))
    },
  }
}
