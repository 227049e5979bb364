/** The service of a data directory, as its clients find it. */
import { serviceOf, startLine, startService } from '../../../plugin/hooks/cstp-hook.mjs'

/** How long a first start may take: it loads the embedding model. */
const startMs = 30_000

type State = { state: 'up' } | { state: 'started'; since: string | null } | { state: 'down'; why: string; fix: string }

/** Starts the service unless it answers, as a hook does, and waits longer. */
export async function begin(data_dir: string, env: Record<string, string | undefined>): Promise<State> {
  const service = serviceOf(data_dir)
  const isUp = await fetch(`${service?.url}/health`, { signal: AbortSignal.timeout(2_000) }).then(
    ({ ok }) => ok,
    () => false,
  )
  if (isUp) return { state: 'up' }
  const since = service?.stopped_at ?? null
  const down = (why: string): State => ({
    state: 'down',
    why: `the service at ${service?.url ?? 'no known address'} is down${since === null ? '' : ` since ${since}`} (${why})`,
    fix: startLine(data_dir, service),
  })
  if (!service?.command) return down('it was never started here')
  if (env.CSTP_IDLE_EXIT === '0') return down('CSTP_IDLE_EXIT is 0, so clients do not start it')
  const lacking = service.secrets?.find((name) => !env[name])
  if (lacking !== undefined) return down(`it needs ${lacking} in the environment`)
  try {
    await startService(data_dir, env, undefined, startMs)
    return { state: 'started', since }
  } catch (error) {
    return down((error as Error).message)
  }
}
