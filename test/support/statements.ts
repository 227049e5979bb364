/** A way to PostgreSQL that counts the statements answered on it. */
import { createServer, connect as open } from 'node:net'

export interface Counted {
  /** The address of the server through it. */
  url: string
  /** Statements answered so far, those that begin and end transactions too. */
  readonly answered: number
  close(): Promise<void>
}

/** Counts messages of one type in a stream, however it is cut: a byte for the type, four for the length of the rest. */
function messages(type: string, found: () => void): (bytes: Buffer) => void {
  let rest = Buffer.alloc(0)
  return (bytes) => {
    rest = Buffer.concat([rest, bytes])
    while (rest.length >= 5 && rest.length > rest.readUInt32BE(1)) {
      if (rest[0] === type.charCodeAt(0)) found()
      rest = rest.subarray(1 + rest.readUInt32BE(1))
    }
  }
}

/** @param address `postgres://…@host:port/…` of a server that offers no TLS */
export async function counted(address: string): Promise<Counted> {
  const target = new URL(address)
  let answered = 0
  const server = createServer((near) => {
    const far = open(Number(target.port), target.hostname)
    // ReadyForQuery, at the end of each statement and once at the start.
    const count = messages('Z', () => answered++)
    near.on('data', (bytes) => far.write(bytes))
    far.on('data', (bytes: Buffer) => {
      count(bytes)
      near.write(bytes)
    })
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      one.on('error', () => {})
      one.on('close', () => other.destroy())
    }
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const place = server.address()
  const own = new URL(address)
  own.hostname = '127.0.0.1'
  own.port = String(typeof place === 'object' ? place?.port : '')
  return {
    url: own.toString(),
    get answered() {
      return answered
    },
    close: () => new Promise((done) => server.close(() => done())),
  }
}
