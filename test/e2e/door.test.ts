/** What is refused at the port before it costs anything: bodies that never end, and names that are not the service's. */
import { expect, test } from 'bun:test'
import { connect, type Socket } from 'node:net'
import { residentMb, testDir, testServer } from '../support/process.ts'
import { startServing, tokens } from '../support/serving.ts'

const isLinux = process.platform === 'linux'
const megabytes = 25
const signature = `sha256=${'0'.repeat(64)}`

/** Sends all of a body but its end, as far as the server takes it; resolves with the status that was answered, or null. */
async function unfinished(url: string, headers: string): Promise<{ socket: Socket; status: number | null }> {
  const { hostname, port, pathname } = new URL(url)
  const socket = connect(Number(port), hostname)
  let said = ''
  socket.on('data', (data) => {
    said += data
  })
  socket.on('error', () => {})
  const length = megabytes * 1_000_000
  socket.write(`POST ${pathname} HTTP/1.1\r\nHost: ${hostname}\r\n${headers}Content-Length: ${length}\r\n\r\n`)
  const part = Buffer.alloc(1_000_000, 'a')
  const closed = new Promise((resolve) => socket.once('close', resolve))
  for (let sent = 0; sent + part.length < length && !socket.destroyed && said === ''; sent += part.length)
    await Promise.race([closed, new Promise((resolve) => socket.write(part, resolve))])
  return { socket, status: Number(said.split(' ')[1] ?? 0) || null }
}

test.skipIf(!isLinux)(
  '60 unfinished bodies of 25 MB with a signature of the right form keep memory below 300 MB, and the service answers',
  async () => {
    const dir = await testDir()
    const server = await testServer({ dir, env: { CSTP_GITHUB_WEBHOOK_SECRET: 'a secret of the webhook' } })
    const headers = `Content-Type: application/json\r\nX-GitHub-Event: push\r\nX-GitHub-Delivery: d\r\nX-Hub-Signature-256: ${signature}\r\n`
    let most = 0
    const watch = setInterval(async () => {
      most = Math.max(most, await residentMb(server).catch(() => 0))
    }, 20)
    const opened = await Promise.all(
      Array.from({ length: 60 }, () => unfinished(`${server.url}/webhooks/github`, headers)),
    )
    expect((await fetch(`${server.url}/health`)).status).toBe(200)
    expect((await server.call('getStats', {})).total).toBe(0)
    clearInterval(watch)
    most = Math.max(most, await residentMb(server))
    expect(most).toBeGreaterThan(0)
    expect(most).toBeLessThan(300)
    // Connections beyond the limit got 503.
    expect(opened.filter(({ status }) => status === 503).length).toBeGreaterThan(30)
    for (const { socket } of opened) socket.destroy()
  },
  120_000,
)

test('a body without credentials is refused before it is read, on every path', async () => {
  const dir = await testDir()
  const server = await testServer({ dir, env: { CSTP_GITHUB_WEBHOOK_SECRET: 'a secret of the webhook' } })
  for (const path of ['/cstp', '/mcp', '/webhooks/github', '/nowhere', '/dashboard/session', '/health']) {
    const { hostname, port } = new URL(server.url)
    const socket = connect(Number(port), hostname)
    const { promise, resolve } = Promise.withResolvers<string>()
    socket.on('data', (data) => resolve(String(data)))
    // Of the body nothing is sent.
    socket.write(`POST ${path} HTTP/1.1\r\nHost: ${hostname}\r\nContent-Length: 1000000\r\n\r\n`)
    expect([path, (await promise).slice(9, 12)]).toEqual([path, expect.stringMatching(/^(?:401|403|404|405)$/)])
    socket.destroy()
  }
})

test('a web page that makes a browser send a thousand requests without credentials stops no login', async () => {
  const running = await startServing()
  for (let at = 0; at < 1_000; at += 50)
    await Promise.all(
      Array.from({ length: 50 }, () => running.fetch('/metrics', { as: null }).then((one) => one.text())),
    )
  const [agent, token] = tokens.ada.split(':')
  const response = await running.fetch('/dashboard/session', {
    method: 'POST',
    as: null,
    body: JSON.stringify({ agent, token }),
    headers: { 'content-type': 'application/json', origin: running.url, 'x-cstp-dashboard': '1' },
  })
  expect(response.status).toBe(200)
  await running.stop()
})

test('a name that is not the service’s is refused on every path: a page cannot reach it under its own', async () => {
  const dir = await testDir()
  const server = await testServer({ dir })
  const { port } = new URL(server.url)

  for (const path of ['/cstp', '/mcp', '/health', '/ready', '/metrics', '/dashboard', '/dashboard/session', '/x']) {
    const refused = async (host: string) =>
      (await (await fetch(server.url + path, { headers: { host } })).text()).includes('Unknown host name')
    expect([path, await refused(`evil.example:${port}`)]).toEqual([path, true])
    for (const own of [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`])
      expect([path, await refused(own)]).toEqual([path, false])
  }
})
