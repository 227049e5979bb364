#!/usr/bin/env node
// Sends what a hook of an agent's client says to a cstp server and prints the answer: cstp-hook.mjs <client> [--shadow] [--fail-open] [--url <url>]
// A tool call that could not be judged is stopped (exit status 2), in no other event and not with --shadow or --fail-open.
import {
  appendFileSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { addAbortSignal } from 'node:stream'
import { text as textFrom } from 'node:stream/consumers'
import { parseArgs } from 'node:util'

const gates = /^(?:PreToolUse|preToolUse|BeforeTool|beforeShellExecution|beforeMCPExecution)$/
/** Deadline of everything that the script does: clients wait 5 s, and then run the call. */
const timeoutMs = 4_000
/** Statuses that the same event would get again. */
const refusals = new Set([400, 404, 413, 422])
const maxSpool = 10 * 1_048_576
const maxFile = 65_536

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

/** The folder of git's files above a directory; that of a worktree names another one. */
function gitFolder(from) {
  for (let at = resolve(from); ; at = dirname(at)) {
    const path = join(at, '.git')
    if (existsSync(path)) {
      const link = statSync(path).isFile() ? /^gitdir: (.+)$/m.exec(text(path) ?? '') : null
      return link ? resolve(at, link[1]) : path
    }
    if (dirname(at) === at) return null
  }
}

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

/** Sends one event. Throws if no verdict comes back. */
async function send({ url, token, client, query, body, signal }) {
  const response = await fetch(`${url}/hooks/${client}?${new URLSearchParams(query)}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body,
    redirect: 'error',
    signal,
  })
  const answer = await response.text()
  if (!response.ok) {
    const error = new Error(`${url} answered ${response.status} ${answer.slice(0, 200)}`)
    throw Object.assign(error, { isRefused: refusals.has(response.status) })
  }
  if (response.headers.get('cstp-failed') !== null) throw new Error(`${url} could not judge it`)
  return answer
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

/** Resolves with the exit status and what to print. */
export async function hook({ client, flags = {}, env, body, cwd, signal = AbortSignal.timeout(timeoutMs) }) {
  const dir = env.CSTP_DATA_DIR || join(homedir(), '.cstp')
  const url = (flags.url ?? env.CSTP_URL ?? 'http://127.0.0.1:9991').replace(/(?<!\/)\/+$/, '')
  const token = `${env.CSTP_AGENT || 'local'}:${env.CSTP_TOKEN || text(join(dir, 'token')) || ''}`
  const spool = join(dir, 'hook-spool.jsonl')
  const event = parsed(body)
  const isGate = !event?.hook_event_name || gates.test(event.hook_event_name)
  const query = { ...repositoryAt(event?.cwd || cwd), ...(flags.shadow && { mode: 'shadow' }) }
  try {
    const answer = await send({ url, token, client, query, body, signal })
    const unusable = isGate ? 0 : await sendSpool(spool, { url, token, signal }).catch(() => 0)
    const note = unusable > 0 ? `cstp: ${unusable} unusable lines of ${spool} were left out\n` : ''
    return { status: 0, out: answer === '{}' ? '' : `${answer}\n`, err: note }
  } catch (error) {
    const cause = error?.cause?.code ?? error?.cause?.message
    const reason = `cstp: this call can't be judged: ${error?.message ?? error}${cause ? ` (${cause})` : ''}`
    if (flags['fail-open']) {
      if (!existsSync(spool) || statSync(spool).size < maxSpool)
        appendFileSync(spool, `${JSON.stringify({ client, query, body })}\n`, { mode: 0o600 })
      return { status: 0, out: '', err: '' }
    }
    if (flags.shadow) return { status: 0, out: '', err: '' }
    if (!isGate) return { status: 1, out: '', err: `${reason}\n` }
    // Copilot CLI stops the call at exit status 2 too, but tells the model no reason.
    if (client === 'copilot')
      return {
        status: 0,
        out: `${JSON.stringify({ permissionDecision: 'deny', permissionDecisionReason: reason })}\n`,
        err: '',
      }
    return { status: 2, out: '', err: `${reason}\n` }
  }
}

if (process.argv[1]?.endsWith('cstp-hook.mjs')) {
  try {
    const options = { shadow: { type: 'boolean' }, 'fail-open': { type: 'boolean' }, url: { type: 'string' } }
    const { values: flags, positionals } = parseArgs({ options, allowPositionals: true })
    const signal = AbortSignal.timeout(timeoutMs)
    const body = await textFrom(addAbortSignal(signal, process.stdin))
    const { status, out, err } = await hook({
      client: positionals[0],
      flags,
      env: process.env,
      body,
      cwd: process.cwd(),
      signal,
    })
    process.stdout.write(out)
    process.stderr.write(err)
    process.exitCode = status
  } catch (error) {
    process.stderr.write(`cstp: ${error?.message ?? error}\n`)
    process.exitCode = 2
  }
}
