/** A raw HTTP/1.1 client: one keep-alive connection that writes prepared bytes, cheap enough not to be what a measurement measures. */

export interface Reply {
  status: number
  body: Buffer
}

export interface Connection {
  /** Writes one request; `onReply` of the connection is called once with its answer. */
  send(request: Uint8Array): void
  close(): void
}

/** The bytes of a request. A GET where there is no body. */
export function requestBytes(input: {
  host: string
  path: string
  token?: string
  body?: string
  headers?: Record<string, string>
}): Uint8Array {
  const { host, path, token, body, headers = {} } = input
  const head = [
    `${body === undefined ? 'GET' : 'POST'} ${path} HTTP/1.1`,
    `host: ${host}`,
    'accept: application/json, text/event-stream',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(token === undefined ? [] : [`authorization: Bearer ${token}`]),
    ...(body === undefined ? [] : ['content-type: application/json', `content-length: ${Buffer.byteLength(body)}`]),
  ]
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body ?? ''}`)
}

const headEnd = '\r\n\r\n'
const lastChunk = Buffer.from('\r\n0\r\n\r\n')

/** Length of head and body together, NaN if it comes in chunks; null while the head is not whole. */
function sizes(bytes: Buffer): { head: number; total: number } | null {
  const end = bytes.indexOf(headEnd)
  if (end < 0) return null
  const head = bytes.toString('latin1', 0, end)
  const length = /content-length: *(\d+)/i.exec(head)
  if (!length && /transfer-encoding: *chunked/i.test(head)) return { head: end + headEnd.length, total: Number.NaN }
  if (!length) throw new Error(`an answer without a length: ${head}`)
  return { head: end + headEnd.length, total: end + headEnd.length + Number(length[1]) }
}

/** Opens a connection. `onReply` gets every answer, `onFail` what ended the connection before one came. */
export async function connect(
  address: { hostname: string; port: number },
  onReply: (reply: Reply) => void,
  onFail: (error: Error) => void,
): Promise<Connection> {
  let held: Buffer | null = null
  let total = 0
  let head = 0
  let unsent: Uint8Array | null = null
  let closing = false

  const finish = (bytes: Buffer) => {
    const reply = { status: Number(bytes.toString('latin1', 9, 12)), body: bytes.subarray(head, total) }
    held = null
    total = 0
    onReply(reply)
  }
  const socket = await Bun.connect({
    ...address,
    socket: {
      data(_, chunk) {
        const bytes = held ? Buffer.concat([held, chunk]) : chunk
        if (total === 0) {
          const found = sizes(bytes)
          if (found) ({ head, total } = found)
        }
        if (Number.isNaN(total) && bytes.subarray(-lastChunk.length).equals(lastChunk)) total = bytes.length
        if (total > 0 && bytes.length >= total) return finish(bytes)
        // The chunk's memory is the socket's own.
        held = held ? bytes : Buffer.from(bytes)
      },
      drain(socket) {
        if (unsent) unsent = unsent.subarray(socket.write(unsent))
        if (unsent?.length === 0) unsent = null
      },
      close() {
        if (!closing) onFail(new Error('the server closed the connection'))
      },
      error(_, error) {
        onFail(error)
      },
    },
  })
  return {
    send(request) {
      const written = socket.write(request)
      if (written < request.length) unsent = request.subarray(written)
    },
    close() {
      closing = true
      socket.end()
    },
  }
}
