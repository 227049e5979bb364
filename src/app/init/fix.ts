/** The line that fixes what a proof found. */
import { serviceOf } from '../../../plugin/hooks/cstp-hook.mjs'

/** A port that nothing listens on. */
function freePort(): number {
  const probe = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  try {
    return probe.port
  } finally {
    probe.stop(true)
  }
}

/**
 * @param problem as the hook or the MCP server reported it
 * @param again the line that runs `cstp init` in the folder once more
 */
export function fixOf(problem: string, again: string, data_dir: string): string {
  const start = /this starts it: (.+)$/.exec(problem)?.[1]
  if (start !== undefined) return start
  if (/another program answers at|is the service of another data folder/.test(problem))
    return `${again} --port ${freePort()}`
  if (problem.includes('CSTP_TOKEN is not set'))
    return 'set CSTP_AGENT and CSTP_TOKEN, which cstp token issues on the server'
  // A service that starts writes the tokens that it lacks.
  const pid = serviceOf(data_dir)?.pid
  return problem.includes('there is no token in') && pid ? `kill ${pid}; sleep 2; ${again}` : again
}
