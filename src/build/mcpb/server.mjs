/** An MCP server on stdin and stdout that forwards each message to `/mcp` of a running cstp, and returns the answers. */
import process from 'node:process'
import { createInterface } from 'node:readline'

const url = `${(process.env.CSTP_URL ?? 'http://127.0.0.1:9991').replace(/(?<!\/)\/+$/, '')}/mcp`
const { CSTP_TOKEN: token } = process.env
let session = null
let version = null

const print = (message) => process.stdout.write(`${JSON.stringify(message)}\n`)
const headers = (more = {}) => ({
  ...more,
  ...(token && { authorization: `Bearer ${token}` }),
  ...(session && { 'mcp-session-id': session }),
  ...(version && { 'mcp-protocol-version': version }),
})

/** Headers required by protocol revisions without sessions: the revision, the method, and the name of its subject. */
function mirrored(message) {
  const meta = message?.params?._meta?.['io.modelcontextprotocol/protocolVersion']
  if (typeof meta !== 'string' || message.id === undefined) return {}
  const about = message.params.name ?? message.params.uri ?? message.params.taskId
  const plain = typeof about === 'string' && /^[!-~](?:[ -~]*[!-~])?$/.test(about) && !about.startsWith('=?')
  return {
    'mcp-protocol-version': meta,
    'mcp-method': message.method,
    ...(typeof about === 'string' && {
      'mcp-name': plain ? about : `=?base64?${Buffer.from(about, 'utf8').toString('base64')}?=`,
    }),
  }
}

/** Prints a message of the server. The first answer contains the protocol revision. */
function pass(message) {
  version ??= message?.result?.protocolVersion ?? null
  print(message)
}

/** The messages of an event stream. */
async function readEvents(body) {
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of body) {
    text = (text + decoder.decode(chunk, { stream: true })).replaceAll('\r\n', '\n')
    for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
      const data = text
        .slice(0, end)
        .split('\n')
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice(5).trimStart())
        .join('\n')
      text = text.slice(end + 2)
      if (data !== '') pass(JSON.parse(data))
    }
  }
}

/** Answers each request of a message with an error if the server can't. */
function fail(message, reason) {
  for (const one of Array.isArray(message) ? message : [message])
    if (one?.id !== undefined && one.method !== undefined)
      print({ jsonrpc: '2.0', id: one.id, error: { code: -32603, message: reason } })
}

async function send(line) {
  let message
  try {
    message = JSON.parse(line)
  } catch {
    return print({ jsonrpc: '2.0', id: null, error: { code: -32700, message: 'Parse error: not JSON' } })
  }
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        ...headers({ 'content-type': 'application/json', accept: 'application/json, text/event-stream' }),
        ...mirrored(message),
      },
      body: line,
    })
    session = response.headers.get('mcp-session-id') ?? session
    if (response.headers.get('content-type')?.startsWith('text/event-stream')) return await readEvents(response.body)
    const text = await response.text()
    if (response.status === 401) return fail(message, `cstp at ${url} does not know this token`)
    if (text === '') return response.ok ? undefined : fail(message, `cstp at ${url} answered ${response.status}`)
    const answer = JSON.parse(text)
    if (answer.jsonrpc === undefined) return fail(message, `cstp at ${url} answered ${response.status}`)
    for (const one of Array.isArray(answer) ? answer : [answer]) pass(one)
  } catch (error) {
    fail(message, `cstp can't be reached at ${url}: ${error.cause?.code ?? error.message}. Is it running?`)
  }
}

const waiting = new Set()
// The first message opens the session; the others wait for it.
let opened = Promise.resolve()
for await (const line of createInterface({ input: process.stdin })) {
  if (line.trim() === '') continue
  const task = opened.then(() => send(line))
  if (session === null && waiting.size === 0) opened = task
  waiting.add(task)
  task.finally(() => waiting.delete(task))
}
await Promise.all(waiting)
if (session !== null) await fetch(url, { method: 'DELETE', headers: headers() }).catch(() => {})
