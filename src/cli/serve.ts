/** cstp serve: runs the service until stopped. */
import { quoted } from '../../plugin/hooks/cstp-hook.mjs'
import type { Settings } from '../app/config/config.ts'
import { noteService } from '../app/service-file.ts'
import { adminAgent, localAgent, ownAgents, tokenPath } from '../core/token-file.ts'
import { version } from '../core/version.ts'
import { aborted, defineCommand, toggle } from './command.ts'
import { jsonLine, openLog, type Terminal } from './terminal.ts'

/** A shell command that calls the server; it reads the token from its file, so that the token is never shown. */
const curlLine = (url: string, data_dir: string, agent: string): string =>
  `curl -s ${url}/cstp -H 'Content-Type: application/json' -H "Authorization: Bearer ${agent}:$(cat ${quoted(tokenPath(data_dir, agent))})" ` +
  `-d '{"jsonrpc":"2.0","id":1,"method":"cstp.${agent === adminAgent ? 'listAudit' : 'getStats'}"}'`

function banner(url: string, settings: Settings, { paint }: Terminal): string {
  const { data_dir, embedder, embedding_model, drivers, auth_tokens } = settings
  const rows: [string, string][] = [
    ['dashboard', `${url}/dashboard`],
    ['data', data_dir],
    ['embedder', embedding_model ? `${embedder}, ${embedding_model}` : embedder],
    ...(drivers.length > 0 ? [['drivers', drivers.join(', ')] as [string, string]] : []),
    [
      'agents',
      auth_tokens
        ? auth_tokens.map(({ agent }) => agent).join(', ')
        : ownAgents.map(({ agent }) => `${agent}, token in ${tokenPath(data_dir, agent)}`).join('; '),
    ],
  ]
  const head = `${paint.bold(`cstp ${version}`)} answers at ${paint.cyan(url)}`
  const lines = [head, ...rows.map(([name, value]) => `  ${paint.dim(name.padEnd(10))}${value}`)]
  const trial = auth_tokens
    ? []
    : [
        '',
        'As an agent, which may read and write:',
        curlLine(url, data_dir, localAgent),
        '',
        'As the administrator, for people only:',
        curlLine(url, data_dir, adminAgent),
      ]
  return `${[...lines, ...trial, '', 'Ctrl-C stops it.'].join('\n')}\n\n`
}

/** Resolves when there was no call for this time. Waiting for it keeps no process that was stopped. */
async function idle({ idleMs }: { idleMs(): number }, limit_ms: number): Promise<void> {
  for (let left = limit_ms; left > 0; left = limit_ms - idleMs())
    await new Promise<void>((resolve) => setTimeout(resolve, Math.min(left, 60_000)).unref())
}

export const serve = defineCommand({
  name: 'serve',
  summary: 'Start the service.',
  about: [
    'Serves JSON-RPC 2.0 at POST /cstp, and GET /health, /ready and /metrics, until Ctrl-C or SIGTERM. Decisions, catalogue and vectors are stored in the data directory; nothing else is needed.',
    'Without CSTP_AUTH_TOKENS the first start creates two random tokens in the data directory: the file token is for agents (local: read and write), admin.token for people (admin: everything but evidence). The service never runs without authentication.',
    'With --json it prints one line with url, data_dir, token_file and admin_token_file on stdout when it is ready. Logs go to stderr.',
    'Clients on the same machine start it when they need it (service.json in the data directory says how). With --on-demand, as they call it, it ends after CSTP_IDLE_EXIT without a call.',
    'SIGHUP reloads the guardrails; they are also reloaded within seconds of a change.',
  ],
  reloads: true,
  flags: { 'on-demand': toggle('End after CSTP_IDLE_EXIT without a call.') },
  examples: [
    ['cstp serve', 'serve on 127.0.0.1:9991 with the data in ~/.cstp'],
    ['cstp serve --port 0 --data-dir ./data --log-level warn', 'a free port, another folder, a quiet log'],
    ['CSTP_AUTH_TOKENS=planner:…,operator:… CSTP_ADMIN_AGENTS=operator cstp serve', 'an agent, and an administrator'],
  ],
  async run({ terminal, json, configuration, signal, flags, env }) {
    const configured = await configuration()
    const { settings } = configured
    const { data_dir, auth_tokens } = settings
    const log = openLog(configured)
    try {
      // Loaded only here, so that other commands don't wait for it.
      const serving = await (await import('../app/serving.ts')).serveOn(settings, log)
      const { url } = serving
      const fileOf = (agent: string) => (auth_tokens ? null : tokenPath(data_dir, agent))
      const files = { token_file: fileOf(localAgent), admin_token_file: fileOf(adminAgent) }
      await terminal.out(
        json ? jsonLine({ url, data_dir, ...files, pid: process.pid }) : banner(url, settings, terminal),
      )
      process.on('SIGHUP', () => void serving.reload())
      const noteEnd = await noteService(configured, url, env, flags['on-demand'])
      try {
        const ends = flags['on-demand'] && settings.idle_exit > 0 ? [idle(serving, settings.idle_exit * 1_000)] : []
        await Promise.race([aborted(signal), serving.failure, ...ends])
        log('info', 'stopping')
      } finally {
        await serving.stop()
        await noteEnd()
      }
      log('info', 'stopped')
      return 0
    } finally {
      log.flush()
    }
  },
})
