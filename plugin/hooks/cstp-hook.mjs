#!/usr/bin/env node
// Sends what a hook of an agent's client reports to the cstp service, which it starts if needed, and prints the answer:
// cstp-hook.mjs <client> [--guard|--shadow] [--fail-open] [--shared] [--data-dir <folder>] [--url <url>], or cstp-hook.mjs mcp
// A tool call that could not be judged is stopped (exit status 2), in no other event and not with --shadow or --fail-open.
import {
  appendFileSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve, sep } from 'node:path'

const gates = /^(?:PreToolUse|preToolUse|BeforeTool|beforeShellExecution|beforeMCPExecution)$/
/** Deadline of everything that the script does: clients wait 5 s, and then run the call. */
const timeoutMs = 4_000
/** How long a service that was just started may take until it answers. */
const startMs = 3_000
/** A lock of a start that did not end is ignored after this time. */
const staleMs = 10_000
/** Statuses that the same event would get again. */
const refusals = new Set([400, 404, 413, 422])
/** W3C Trace Context, as clients give it in the event or in the environment. */
const traceShape = /^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}$/
const maxSpool = 10 * 1_048_576
const maxLog = 10 * 1_048_576
/** Most reports that one hook sends. */
const maxReports = 20
/** After this time, reports of another session are sent too: it may have ended without a hook. */
const othersMs = 60_000
const maxFile = 65_536
/** Tools that only read, which rules of the pack `irreversible` stop only for secrets. */
const reads =
  /^(?:read|read_?file|read_many_files|view|view_image|glob|grep|grep_?(?:search|files)|search_file_content|ls|list|list_dir(?:ectory)?|notebookread|todo_?read|todo_?write|update_plan)$/i
const secrets =
  /\.(?:ssh|aws|gnupg|kube|docker|azure|netrc|pgpass|npmrc|pypirc|pem|key|p12|pfx)\b|\bid_[a-z0-9]+|\.env|credential|secret|token|password|shadow\b/i

/**
 * The text of a regular file; null for anything else, and beyond `most` bytes. A hostile repository may have a FIFO or gigabytes in place
 * of git's files, and if the script waits for them past the client's limit, the client runs the call.
 */
function text(path, most = maxFile) {
  let file
  try {
    file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
    const found = fstatSync(file)
    return found.isFile() && found.size <= most ? readFileSync(file, 'utf8').trim() : null
  } catch {
    return null
  } finally {
    if (file !== undefined) closeSync(file)
  }
}

/** The value that JSON text stands for; null if it is not JSON. */
function parsed(json) {
  try {
    return JSON.parse(json)
  } catch {
    return null
  }
}

/** The address of the remote `origin` in a git configuration. */
function originIn(config) {
  let inOrigin = false
  for (const line of config.split('\n').map((one) => one.trim())) {
    if (line.startsWith('[')) inOrigin = line.startsWith('[remote "origin"]')
    else if (inOrigin && /^url\s*=/.test(line)) return line.slice(line.indexOf('=') + 1).trim()
  }
  return null
}

/** The folder around a directory that has an entry `.git`. */
function gitRoot(from) {
  for (let at = resolve(from); ; at = dirname(at)) {
    if (existsSync(join(at, '.git'))) return at
    if (dirname(at) === at) return null
  }
}

/** The folder of git's files above a directory; that of a worktree names another one. */
function gitFolder(from, root = gitRoot(from)) {
  if (root === null) return null
  const path = join(root, '.git')
  const link = statSync(path).isFile() ? /^gitdir: (.+)$/m.exec(text(path) ?? '') : null
  return link ? resolve(root, link[1]) : path
}

const interpreter = /^(?:.*\/)?(?:(?:ba|da|z|k)?sh|source|\.|python[\d.]*|node|bun|deno|perl|ruby|php|tsx)$/
const parts = /"[^"\n]*"|'[^'\n]*'|[^\s;&|()"']+|[\s;&|()]/g
/** Words before a command. */
const wrapper = /^(?:sudo|env|time|nice|nohup|exec|command|timeout|-\w+|\d+[smh]?|\w+=\S*|if|then|do|else|!)$/

/** The words of a command; null ends a part of it. Words are joined here: an expression for whole ones takes a hundred times as long. */
function* wordsOf(command) {
  let word = ''
  for (const [part] of `${command}\n`.matchAll(parts)) {
    if (!/^[\s;&|()]/.test(part)) {
      word += part
      continue
    }
    if (word !== '') yield word
    word = ''
    if (/^[\n;&|()]/.test(part)) yield null
  }
}

/** The first script inside the project that a command runs, if it is small: its path and text. */
function scriptIn(command, from, root) {
  let at = from
  /** What the next word is: the start of a command, a file that is run, the folder of cd, or anything else. */
  let next = 'start'
  for (const word of wordsOf(command.slice(0, maxFile))) {
    if (word === null) {
      next = 'start'
      continue
    }
    const plain = word.replace(/["']/g, '')
    if (next === 'folder') at = resolve(at, plain)
    if ((next === 'file' && !plain.startsWith('-')) || (next === 'start' && plain.includes('/'))) {
      const path = resolve(at, plain)
      const content = isInside(path, root) ? text(path) : null
      if (content && !content.includes('\0')) return { script_path: path, script_text: content }
    }
    const isPassed = next === 'start' ? wrapper.test(plain) : next === 'file' && plain.startsWith('-')
    if (next === 'start' && plain === 'cd') next = 'folder'
    else if (next === 'start' && interpreter.test(plain)) next = 'file'
    else if (!isPassed) next = 'other'
  }
  return {}
}

/** Whether a file is really inside of a folder: a link may lead out of it. */
function isInside(path, root) {
  try {
    return realpathSync(path).startsWith(join(realpathSync(root), sep))
  } catch {
    return false
  }
}

/** The rule files of a repository, of which one that is not a file in it, or too large, has no text. */
function rulesIn(root) {
  const folder = join(root, '.cstp', 'guardrails')
  if (!existsSync(folder)) return {}
  const names = readdirSync(folder).filter((name) => /\.ya?ml$/.test(name) && !/\.test\.ya?ml$/.test(name))
  const read = (file) => {
    const path = join(folder, file)
    return { file, text: isInside(path, root) ? text(path) : null }
  }
  return names.length > 0 && { project_rules: names.sort().slice(0, 17).map(read) }
}

/** What only this machine knows of a call: the root of its project, which a home folder is not, its rules, and the script that it runs. */
export function surroundings(event, from, home = homedir()) {
  const root = gitRoot(from)
  const isProject = root !== null && root !== resolve(home) && dirname(root) !== root
  const input = event?.tool_input ?? parsed(event?.toolArgs) ?? event
  const given = input?.command ?? input?.cmd ?? input?.script
  const command = Array.isArray(given) ? given.join(' ') : given
  const script = typeof command === 'string' ? scriptIn(command, from, isProject ? root : from) : {}
  return { ...(isProject && { project_dir: root, ...rulesIn(root) }), ...script }
}

/** The body with more fields, which replace those of the same name. */
const withFields = (body, fields) =>
  Object.keys(fields).length === 0 ? body : `${body.trimEnd().slice(0, -1)},${JSON.stringify(fields).slice(1)}`

/** Project (owner/name of the remote) and branch of the repository around a directory. */
export function repositoryAt(from) {
  const folder = gitFolder(from)
  if (folder === null) return {}
  const common = resolve(folder, text(join(folder, 'commondir')) ?? '.')
  const config = text(join(common, 'config')) ?? ''
  const remote = originIn(config)
  const project = remote && /(?<![^/:])([^/:]+\/[^/:]+?)(?:\.git)?\/?$/.exec(remote)?.[1]
  const branch = /^ref: refs\/heads\/(.+)$/.exec(text(join(folder, 'HEAD')) ?? '')?.[1]
  return { ...(project && { project }), ...(branch && { branch }) }
}

// Clients start this script twice for each call of a tool. Bun's own functions take a third of the time of Node's modules.
const bun = globalThis.Bun
const node = bun ? null : await import('node:crypto')
const hasher = (...key) =>
  bun
    ? new bun.CryptoHasher('sha256', ...key)
    : key.length > 0
      ? node.createHmac('sha256', ...key)
      : node.createHash('sha256')

const sha256 = (data) => hasher().update(data).digest('hex')
const macOf = (token, parts) => hasher(hasher().update(token).digest()).update(parts.join('\n')).digest('hex')
const nonceOf = () =>
  (bun ? Buffer.from(crypto.getRandomValues(new Uint8Array(16))) : node.randomBytes(16)).toString('hex')

/**
 * The headers of a request: signed, so that another program on the port learns no token. Over https the server proves itself, and gets the
 * token. `proves` tells whether an answer is from a program that knows the token.
 */
export function credentials({ url, agent, token, method, path, body }) {
  if (url.startsWith('https:')) return { authorization: `Bearer ${agent}:${token}`, proves: () => true }
  const [time, nonce, digest] = [Date.now(), nonceOf(), sha256(body)]
  const mac = macOf(token, ['cstp request', method, path, time, nonce, digest])
  return {
    authorization: `CSTP-HMAC ${encodeURIComponent(agent)}:${time}:${nonce}:${digest}:${mac}`,
    proves: (status, proof, answer) =>
      proof === macOf(token, ['cstp answer', nonce, status, answer === null ? 'stream' : sha256(answer)]),
  }
}

/** What is wrong if an answer has no proof. */
export const foreign = (url, dir, status) =>
  status === 401
    ? `the service at ${url} does not accept the token of ${dir}: it is the service of another data folder (401)`
    : `another program answers at ${url}: it is not the cstp service of ${dir}`

/** The text of a stream. The modules of Node that do this cost each call some ms to load. */
const textFrom = (stream, signal) =>
  new Promise((done, fail) => {
    const parts = []
    stream.on('data', (part) => parts.push(part))
    stream.on('end', () => done(Buffer.concat(parts).toString('utf8')))
    stream.on('error', fail)
    signal?.addEventListener('abort', () => {
      stream.destroy()
      fail(signal.reason)
    })
  })

/** The host of an address on this machine. */
const ownHost = (url) => /^http:\/\/(localhost|127[\d.]+|\[::1\])[:/]/.exec(url)?.[1]

/** Keeps a request to this machine from a proxy of the environment, as Node does. */
function direct(url) {
  const host = ownHost(url)
  if (host)
    process.env.NO_PROXY = process.env.no_proxy = [process.env.NO_PROXY || process.env.no_proxy, host]
      .filter(Boolean)
      .join()
}

/**
 * One request to this machine, as HTTP/1.0, whose answer is in one piece and ends with its connection. Node's client would take a tenth of
 * the CPU time of the whole script.
 */
async function plainRequest({ hostname, port, host, pathname, search }, { method, headers, body = '', signal }) {
  const { connect } = await import('node:net')
  const socket = connect({ port: Number(port || 80), host: hostname.replace(/^\[|\]$/g, '') })
  const fields = Object.entries({ host, ...headers, 'content-length': Buffer.byteLength(body) })
  socket.write(
    [`${method} ${pathname}${search} HTTP/1.0`, ...fields.map((one) => one.join(': ')), '', body].join('\r\n'),
  )
  const [, head = '', answer = ''] = /^(.*?)\r\n\r\n(.*)$/s.exec(await textFrom(socket, signal)) ?? []
  const [status, ...lines] = head.split('\r\n')
  const given = lines.map((line) => /^([^:]*): *(.*)$/.exec(line)?.slice(1) ?? [line, ''])
  const found = Object.fromEntries(given.map(([name, value]) => [name.toLowerCase(), value]))
  if (Buffer.byteLength(answer) !== Number(found['content-length'] ?? Buffer.byteLength(answer)))
    throw new Error(`the answer of ${host} is not whole`)
  return { status: Number(/^HTTP\/1\.\d (\d{3})/.exec(status)?.[1]), headers: found, answer }
}

/** One request; resolves with status, headers and text. */
async function request(url, { method = 'GET', headers = {}, body, signal }) {
  if (bun) {
    direct(url)
    const response = await fetch(url, { method, headers, body, signal, redirect: 'manual' })
    return { status: response.status, headers: Object.fromEntries(response.headers), answer: await response.text() }
  }
  if (ownHost(url)) return plainRequest(new URL(url), { method, headers, body, signal })
  const http = await (url.startsWith('https:') ? import('node:https') : import('node:http'))
  return new Promise((done, fail) => {
    const sent = http.request(url, { method, headers, signal }, (response) => {
      textFrom(response).then(
        (answer) => done({ status: response.statusCode, headers: response.headers, answer }),
        fail,
      )
    })
    sent.on('error', fail)
    sent.end(body)
  })
}

/** Sends one event. Throws if no verdict comes back. */
async function send({ url, dir, agent, token, client, query, body, traceparent, signal }) {
  const search = new URLSearchParams(query).toString()
  const path = `/hooks/${client}${search && `?${search}`}`
  const { authorization, proves } = credentials({ url, agent, token, method: 'POST', path, body })
  const headers = { authorization, 'content-type': 'application/json', ...(traceparent && { traceparent }) }
  const { status, headers: given, answer } = await request(url + path, { method: 'POST', headers, body, signal })
  if (!proves(status, given['cstp-proof'], answer)) throw new Error(foreign(url, dir, status))
  if (status !== 200) {
    const error = new Error(`${url} answered ${status} ${answer.slice(0, 200)}`)
    throw Object.assign(error, { isRefused: refusals.has(status) })
  }
  if (given['cstp-failed'] !== undefined) throw new Error(`${url} could not judge it`)
  return answer
}

/** What a data folder says about its service: address, command, settings. `cstp init` and `cstp serve` write it. */
export const serviceOf = (dir) => parsed(text(join(dir, 'service.json')) ?? 'null')

/** A word of a POSIX shell. */
export const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)

/** The line that starts the service of a data folder. */
export const startLine = (dir, service = serviceOf(dir)) =>
  service?.command
    ? [...service.command, 'serve', '--data-dir', dir].map(quoted).join(' ')
    : 'npm start, in a clone of cstp'

/** Environment of a service that a client starts: that of its folder, and of this process only what every program needs. */
function serviceEnv(env, { env: own = {}, secrets: names = [] }) {
  const general =
    /^(?:PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_.*|TZ|TMPDIR|TEMP|TMP|XDG_.*|NODE_EXTRA_CA_CERTS|SystemRoot|windir|APPDATA|LOCALAPPDATA|USERPROFILE|PATHEXT|ComSpec)$/i
  const kept = Object.entries(env).filter(([name]) => general.test(name) || names.includes(name))
  return { ...Object.fromEntries(kept), ...own }
}

/** Why the service of a folder can't be started by a client; null if it can. */
function whyNoStart(service, env, url) {
  if (!service?.command) return 'it was never started here'
  if (env.CSTP_IDLE_EXIT === '0') return 'CSTP_IDLE_EXIT is 0'
  if (url !== service.url) return `${url} is not its address`
  const lacking = (service.secrets ?? []).find((name) => !env[name])
  return lacking ? `it needs ${lacking}` : null
}

/** Whether this process holds the lock of a start; the lock of a start that was broken off is taken over. */
function locks(path) {
  try {
    if (Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()) > staleMs) rmSync(path)
    closeSync(openSync(path, 'wx', 0o600))
    return true
  } catch {
    return false
  }
}

/** Starts the service of a data folder in the background, unless another process is doing so. Resolves with its address once it answers. */
export async function startService(dir, env, signal, ms = startMs) {
  const service = serviceOf(dir)
  const lock = join(dir, 'service.lock')
  const end = Date.now() + ms
  const isOurs = locks(lock)
  try {
    if (isOurs) {
      const log = join(dir, 'service.log')
      const isLong = (statSync(log, { throwIfNoEntry: false })?.size ?? 0) > maxLog
      const out = openSync(log, isLong ? 'w' : 'a', 0o600)
      const { spawn } = await import('node:child_process')
      const [program, ...args] = [...service.command, 'serve', '--on-demand', '--data-dir', dir]
      const child = spawn(program, args, {
        detached: true,
        stdio: ['ignore', out, out],
        cwd: dir,
        env: serviceEnv(env, service),
      })
      child.on('error', () => {})
      child.unref()
      closeSync(out)
    }
    while (Date.now() < end) {
      await new Promise((done) => setTimeout(done, 20))
      signal?.throwIfAborted()
      // It may listen on another port than before.
      const { url } = serviceOf(dir) ?? service
      const { status } = await request(`${url}/health`, { signal }).catch(() => ({}))
      if (status === 200) return url
    }
    throw new Error(`it was started and does not answer yet; see ${join(dir, 'service.log')}`)
  } finally {
    if (isOurs) rmSync(lock, { force: true })
  }
}

const unreachable = new Set([
  'ECONNREFUSED',
  'ConnectionRefused',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
])
export const isDown = (error) =>
  unreachable.has(error?.code) || (error?.errors ?? []).some(({ code }) => unreachable.has(code))

/** Since when the service does not answer: its end, or the first call that found it gone; null if that can't be noted. */
function downSince(dir, service) {
  if (service?.stopped_at) return service.stopped_at
  const mark = join(dir, 'service.down')
  try {
    writeFileSync(mark, new Date().toISOString(), { flag: 'wx', mode: 0o600 })
  } catch {}
  return text(mark)
}

/** Does `work`; if nothing listens, starts the service of the folder and does it once more. @throws Error with what to do */
export async function withService({ dir, url, env, signal, ms }, work) {
  try {
    return await work(url)
  } catch (error) {
    if (!isDown(error)) throw error
    const service = serviceOf(dir)
    let why = whyNoStart(service, env, url)
    let started = null
    if (why === null)
      try {
        started = await startService(dir, env, signal, ms)
      } catch (failed) {
        why = failed?.message ?? String(failed)
      }
    if (started !== null) return work(started)
    const since = downSince(dir, service)
    const down = `the cstp service at ${url} is down${since === null ? '' : ` since ${since}`} (${why}); this starts it: ${startLine(dir, service)}`
    throw Object.assign(new Error(down, { cause: error }), { isDown: true })
  }
}

/**
 * Sends what waits in the spool, as history: nothing of it is stopped any more. Lines that were not sent stay there. A line that is not an
 * event, such as one that a full disk tore, and one that the server refuses, is left out. Returns the number of those.
 */
async function sendSpool(spool, to) {
  const taken = `${spool}.sending`
  if (!existsSync(taken)) {
    if (!existsSync(spool)) return 0
    renameSync(spool, taken)
  }
  const lines = (text(taken, 2 * maxSpool) ?? '').split('\n').filter(Boolean)
  let [done, unusable] = [0, 0]
  try {
    for (const line of lines) {
      const event = parsed(line)
      const query = { ...event?.query, mode: 'shadow' }
      if (typeof event?.client !== 'string' || typeof event.body !== 'string') unusable++
      else
        await send({ ...to, client: event.client, query, body: event.body }).catch((error) => {
          if (!error.isRefused) throw error
          unusable++
        })
      done++
    }
    return unusable
  } finally {
    if (done === lines.length) rmSync(taken, { force: true })
    else if (done > 0) {
      writeFileSync(`${taken}.new`, `${lines.slice(done).join('\n')}\n`, { mode: 0o600 })
      renameSync(`${taken}.new`, taken)
    }
  }
}

/** The file name, without agent and process, of reports for the service of the data folder, or for that at an address. */
export const reportsName = (client, url) => (url === undefined ? client : `${client}-${sha256(url).slice(0, 8)}`)

const sessionOf = (event) => event?.session_id ?? event?.sessionId ?? event?.conversation_id

/**
 * Sends what the client reported after calls of tools: a shell keeps it in a file for the next hook, since starting this script twice for each
 * call would be felt. Reports that were not sent stay there. Returns how many were sent.
 */
async function sendReports(to, { client, url, session }) {
  const folder = join(to.dir, 'reports')
  if (!existsSync(folder)) {
    mkdirSync(folder, { mode: 0o700 })
    return 0
  }
  const prefix = `${reportsName(client, url)}.${to.agent}.`
  const found = readdirSync(folder).flatMap((name) => {
    const at = join(folder, name)
    const ms = statSync(at, { throwIfNoEntry: false })?.mtimeMs
    return name.startsWith(prefix) && ms !== undefined ? [{ at, age: Date.now() - ms }] : []
  })
  let sent = 0
  for (const { at, age } of found.sort((a, b) => b.age - a.age)) {
    if (sent >= maxReports) break
    const isTaken = at.endsWith('.sending')
    if (isTaken && age < staleMs) continue
    const content = text(at, maxSpool) ?? ''
    const lines = parsed(content) ? [content] : content.split('\n').filter(Boolean)
    const events = lines.map(parsed)
    const isWhole = events.length > 0 && events.every((one) => one !== null)
    if (isWhole ? age < othersMs && sessionOf(events[0]) !== session : age < staleMs) continue
    const taken = isTaken ? at : `${at}.sending`
    try {
      renameSync(at, taken)
    } catch {
      // Another hook sends it.
      continue
    }
    try {
      for (const [index, event] of events.entries()) {
        if (event === null) continue
        const query = { ...repositoryAt(event.cwd ?? '/'), mode: 'shadow' }
        const { traceparent } = event
        await send({ ...to, client, query, body: lines[index], ...(traceShape.test(traceparent) && { traceparent }) })
        sent++
      }
    } catch (error) {
      if (!error.isRefused) {
        renameSync(taken, at.replace(/\.sending$/, ''))
        throw error
      }
    }
    rmSync(taken, { force: true })
  }
  return sent
}

const notSetUp = 'This repository records decisions with cstp, which is not set up here'
const howToJoin = 'To join, run cstp init in it: npm --prefix ~/cstp run init, with a clone of cstp in ~/cstp.'

/** How a repository that shares its hooks is joined, said once: in the first session without a token. */
function invitation(from, client) {
  // These show nobody what a hook of a session says; the MCP server says the same.
  const folder = client === 'copilot' || client === 'cursor' ? null : gitFolder(from)
  const mark = folder && join(folder, 'cstp-invited')
  if (!mark || existsSync(mark)) return ''
  try {
    // A link in its place may lead anywhere.
    writeFileSync(mark, '', { flag: 'wx' })
  } catch {
    return ''
  }
  return `${JSON.stringify({ systemMessage: `${notSetUp}; nothing is checked or recorded. ${howToJoin}` })}\n`
}

/** Whether a repository demands cstp of everybody who works in it. */
function isRequired(from) {
  for (let at = resolve(from); ; at = dirname(at)) {
    const shared = parsed(text(join(at, '.cstp', 'init.json'), 16 * maxFile) ?? 'null')
    if (shared) return shared.required === true
    if (dirname(at) === at) return false
  }
}

/** The data folder, the address of its service, and the credentials of the agent. */
export function connectionOf({ flags, env }) {
  const dir = flags['data-dir'] ?? (env.CSTP_DATA_DIR || join(homedir(), '.cstp'))
  const url = (flags.url ?? env.CSTP_URL ?? serviceOf(dir)?.url ?? 'http://127.0.0.1:9991').replace(/(?<!\/)\/+$/, '')
  return { dir, url, agent: env.CSTP_AGENT || 'local', token: env.CSTP_TOKEN || text(join(dir, 'token')) || '' }
}

/** What a client prints for a call that is stopped without a verdict. */
function stopped(client, reason) {
  // Copilot CLI stops the call at exit status 2 too, but tells the model no reason.
  if (client !== 'copilot') return { status: 2, out: '', err: `${reason}\n` }
  const answer = { permissionDecision: 'deny', permissionDecisionReason: reason }
  return { status: 0, out: `${JSON.stringify(answer)}\n`, err: '' }
}

/** Whether a call may run though it could not be judged: in guard mode, a tool that reads something that is not secret. */
const isHarmless = (event) =>
  reads.test(event?.tool_name ?? event?.toolName ?? '') &&
  !secrets.test(JSON.stringify(event.tool_input ?? event.toolArgs ?? ''))

/** Resolves with the exit status and what to print. */
export async function hook({ client, flags = {}, env, body: given, cwd, signal = AbortSignal.timeout(timeoutMs) }) {
  const { dir, url, agent, token } = connectionOf({ flags, env })
  const spool = join(dir, 'hook-spool.jsonl')
  const event = parsed(given)
  const name = event?.hook_event_name
  const isGate = !name || gates.test(name)
  const mode = flags.shadow ? 'shadow' : flags.guard ? 'guard' : null
  const from = event?.cwd || cwd
  const body = name && gates.test(name) ? withFields(given, surroundings(event, from, env.HOME)) : given
  const query = { ...repositoryAt(from), ...(mode && { mode }) }
  if (flags.shared && token === '' && name !== 'CstpCheck' && !isRequired(from))
    return { status: 0, out: /^sessionstart$/i.test(name) ? invitation(from, client) : '', err: '' }
  try {
    if (token === '') throw new Error(`there is no token in ${dir}: run cstp init, or set CSTP_AGENT and CSTP_TOKEN`)
    const to = { dir, agent, token, signal }
    const traceparent = [event?.traceparent, env.TRACEPARENT].find((one) => traceShape.test(one))
    const sent = { ...to, client, query, body, traceparent }
    const session = sessionOf(event)
    let reports = 0
    const answer = await withService({ dir, url, env, signal }, async (at) => {
      // Reports that the service refuses stop no call; if it is down, they stay.
      reports = await sendReports({ ...to, url: at }, { client, url: flags.url, session }).catch((error) => {
        if (isDown(error)) throw error
        return 0
      })
      return send({ ...sent, url: at })
    })
    // Doctor and init ask whether the whole way works.
    if (name === 'CstpCheck')
      return { status: 0, out: `${JSON.stringify({ url, mode: mode ?? 'enforce', reports })}\n`, err: '' }
    const unusable = isGate ? 0 : await sendSpool(spool, { ...to, url }).catch(() => 0)
    const note = unusable > 0 ? `cstp: ${unusable} unusable lines of ${spool} were left out\n` : ''
    return { status: 0, out: answer === '{}' ? '' : `${answer}\n`, err: note }
  } catch (error) {
    const why = signal.aborted ? `${url} did not answer in time` : (error?.message ?? String(error))
    const reason = `cstp can't judge this call, so it was not run: ${why}`
    if (name === 'CstpCheck') return { status: 1, out: '', err: `${why}\n` }
    if (flags['fail-open']) {
      if (!existsSync(spool) || statSync(spool).size < maxSpool)
        appendFileSync(spool, `${JSON.stringify({ client, query, body })}\n`, { mode: 0o600 })
      return { status: 0, out: '', err: '' }
    }
    if (flags.shadow || (isGate && flags.guard && isHarmless(event))) return { status: 0, out: '', err: '' }
    return isGate ? stopped(client, reason) : { status: 1, out: '', err: `cstp: ${why}\n` }
  }
}

/**
 * Answers MCP in place of the service, with no tools and one sentence: where a repository shares its settings, a server that ends at once
 * would be an error for everybody who has not set cstp up. From revision 2026-07-28 on, clients discover instead of initializing.
 */
function serveNothing(instructions) {
  const serverInfo = { name: 'cstp', version: '0.0.0' }
  const capabilities = { tools: {} }
  // What that revision wants in each result.
  const newer = {
    resultType: 'complete',
    ttlMs: 0,
    cacheScope: 'private',
    _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo },
  }
  const results = {
    initialize: ({ protocolVersion = '2025-06-18' } = {}) => ({
      protocolVersion,
      capabilities,
      serverInfo,
      instructions,
    }),
    'server/discover': () => ({ ...newer, supportedVersions: ['2026-07-28'], capabilities, instructions }),
    'tools/list': () => ({ ...newer, tools: [] }),
    ping: () => ({}),
  }
  let rest = ''
  process.stdin.setEncoding('utf8').on('data', (part) => {
    const lines = (rest + part).split('\n')
    rest = lines.pop().slice(0, 16 * maxFile)
    for (const line of lines) {
      const { id, method, params } = parsed(line) ?? {}
      if (id === undefined || typeof method !== 'string') continue
      const known = Object.hasOwn(results, method)
      const answer = known ? { result: results[method](params) } : { error: { code: -32601, message: instructions } }
      writeSync(1, `${JSON.stringify({ jsonrpc: '2.0', id, ...answer })}\n`)
    }
  })
  return new Promise((done) => process.stdin.on('end', () => done(0)))
}

/** Serves MCP with the program of the data folder, for settings that a repository shares. */
async function serveMcp(flags, env) {
  const { dir, url } = connectionOf({ flags, env })
  const service = serviceOf(dir)
  if (!service?.command) return serveNothing(`${notSetUp}; it has no tools until then. ${howToJoin}`)
  const { spawn } = await import('node:child_process')
  const [program, ...args] = [...service.command, 'mcp', '--url', url, '--data-dir', dir]
  const child = spawn(program, args, { stdio: 'inherit', env })
  return new Promise((done) => {
    child.on('error', ({ message }) =>
      done(serveNothing(`cstp has no tools: its program can't be started (${message}). ${howToJoin}`)),
    )
    child.on('exit', (status) => done(status ?? 1))
  })
}

const within = (signal, work) =>
  Promise.race([work, new Promise((_, fail) => signal.addEventListener('abort', () => fail(signal.reason)))])

const switches = new Set(['--shadow', '--guard', '--fail-open', '--shared'])
const values = new Set(['--url', '--data-dir'])

/** Flags and the first word of a command line. @throws Error naming a flag that does not exist, or lacks its value */
function argumentsOf(line) {
  const flags = {}
  const words = []
  for (let at = 0; at < line.length; at++) {
    const [name, given] = /^(--[^=]*)=(.*)$/s.exec(line[at])?.slice(1) ?? [line[at]]
    if (!name.startsWith('--')) words.push(name)
    else if (switches.has(name) && given === undefined) flags[name.slice(2)] = true
    else if (values.has(name) && (given ?? line[at + 1]) !== undefined) flags[name.slice(2)] = given ?? line[++at]
    else throw new Error(`unexpected argument ${line[at]}`)
  }
  return { flags, word: words[0] }
}

if (process.argv[1]?.endsWith('cstp-hook.mjs')) {
  try {
    const { flags, word } = argumentsOf(process.argv.slice(2))
    if (word === 'mcp') process.exitCode = await serveMcp(flags, process.env)
    else {
      const signal = AbortSignal.timeout(timeoutMs)
      const body = await (bun ? within(signal, bun.stdin.text()) : textFrom(process.stdin, signal))
      const given = { client: word, flags, env: process.env, body, cwd: process.cwd(), signal }
      const { status, out, err } = await hook(given)
      if (out !== '') writeSync(1, out)
      if (err !== '') writeSync(2, err)
      process.exit(status)
    }
  } catch (error) {
    writeSync(2, `cstp: ${error?.message ?? error}\n`)
    // An input that never ends would keep the process.
    process.exit(2)
  }
}
