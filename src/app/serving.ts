/** The service as it runs: it begins again, on the same port, if the database turns out to be an earlier state of itself. */
import type { Log } from '../core/log.ts'
import type { Settings } from './config/config.ts'
import { StoreLost } from './lifecycle.ts'
import { type Serving, serve } from './server.ts'

/**
 * Starts the service. After a promotion of a replica that lagged, or a snapshot that was restored under it, it stops to acknowledge anything,
 * loads everything again and goes on; unless the database contradicts what was signed, which a start refuses.
 */
export async function serveOn(settings: Settings, log: Log): Promise<Serving> {
  let current = await serve(settings, log)
  const { url } = current
  const again = { ...settings, port: Number(new URL(url).port) }
  const { promise: failure, reject } = Promise.withResolvers<never>()
  failure.catch(() => {})
  let beginning = Promise.resolve()
  let isStopping = false

  async function begin(error: StoreLost): Promise<void> {
    log('error', 'The database was replaced by an earlier state of itself; everything is loaded again', {
      error: error.message,
    })
    await current.stop()
    if (isStopping) return
    current = await serve(again, log, true)
    log('info', 'Loaded again')
    follow()
  }
  function follow(): void {
    current.failure.catch((error) => {
      if (isStopping) return
      if (error instanceof StoreLost) beginning = begin(error).catch(reject)
      else reject(error)
    })
  }
  follow()
  return {
    url,
    failure,
    idleMs: () => current.idleMs(),
    reload: () => current.reload(),
    async stop() {
      isStopping = true
      await beginning
      await current.stop()
    },
  }
}
