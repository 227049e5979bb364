#!/usr/bin/env node
// Sends what a hook of an agent's client says to a cstp server and prints the answer: cstp-hook.mjs <client> [--shadow] [--fail-open] [--url <url>]
// A tool call that could not be judged is stopped (exit status 2), in no other event and not with --shadow or --fail-open.
import { appendFileSync, existsSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

const gates = /^(?:PreToolUse|preToolUse|BeforeTool|beforeShellExecution|beforeMCPExecution)$/
const timeoutMs = 4_000
const maxSpool = 10 * 1_048_576

const text = (path) => {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return null
  }
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
  const remote = /\[remote "origin"\][^[]*?^\s*url\s*=\s*(\S+)/m.exec(config)?.[1]
  const project = remote && /(?<![^/:])([^/:]+\/[^/:]+?)(?:\.git)?\/?$/.exec(remote)?.[1]
  const branch = /^ref: refs\/heads\/(.+)$/.exec(text(join(folder, 'HEAD')) ?? '')?.[1]
  return { ...(project && { project }), ...(branch && { branch }) }
}

/** Sends one event. Throws if no verdict comes back. */
async function send({ url, token, client, query, body }) {
  const response = await fetch(`${url}/hooks/${client}?${new URLSearchParams(query)}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body,
    redirect: 'error',
    signal: AbortSignal.timeout(timeoutMs),
  })
  const answer = await response.text()
  if (!response.ok) throw new Error(`${url} answered ${response.status} ${answer.slice(0, 200)}`)
  if (response.headers.get('cstp-failed') !== null) throw new Error(`${url} could not judge it`)
  return answer
}

/** Sends what waits in the spool, as history: nothing of it is stopped any more. */
async function sendSpool(spool, to) {
  const taken = `${spool}.sending`
  if (!existsSync(taken)) {
    if (!existsSync(spool)) return
    renameSync(spool, taken)
  }
  for (const line of (text(taken) ?? '').split('\n').filter(Boolean)) {
    const { client, query, body } = JSON.parse(line)
    await send({ ...to, client, query: { ...query, mode: 'shadow' }, body })
  }
  rmSync(taken, { force: true })
}

/** Resolves with the exit status and what to print. */
export async function hook({ client, flags = {}, env, body, cwd }) {
  const dir = env.CSTP_DATA_DIR || join(homedir(), '.cstp')
  const url = (flags.url ?? env.CSTP_URL ?? 'http://127.0.0.1:9991').replace(/(?<!\/)\/+$/, '')
  const token = `${env.CSTP_AGENT || 'local'}:${env.CSTP_TOKEN || text(join(dir, 'token')) || ''}`
  const spool = join(dir, 'hook-spool.jsonl')
  let event = {}
  try {
    event = JSON.parse(body)
  } catch {}
  const isGate = !event?.hook_event_name || gates.test(event.hook_event_name)
  const query = { ...repositoryAt(event?.cwd || cwd), ...(flags.shadow && { mode: 'shadow' }) }
  try {
    const answer = await send({ url, token, client, query, body })
    if (!isGate) await sendSpool(spool, { url, token }).catch(() => {})
    return { status: 0, out: answer === '{}' ? '' : `${answer}\n`, err: '' }
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
    const body = readFileSync(0, 'utf8')
    const { status, out, err } = await hook({
      client: positionals[0],
      flags,
      env: process.env,
      body,
      cwd: process.cwd(),
    })
    process.stdout.write(out)
    process.stderr.write(err)
    process.exitCode = status
  } catch (error) {
    process.stderr.write(`cstp: ${error?.message ?? error}\n`)
    process.exitCode = 2
  }
}
