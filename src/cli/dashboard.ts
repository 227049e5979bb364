/** cstp dashboard: opens the dashboard in the browser, logged in. */
import { defineCommand, toggle } from './command.ts'
import { connectionFlags, openConnection } from './connection.ts'
import { Failure } from './failure.ts'
import { addressOf, isHere } from './remote.ts'
import { jsonLine } from './terminal.ts'

const openers: Partial<Record<NodeJS.Platform, string[]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

/** Whether a program took the address. */
function openBrowser(url: string): boolean {
  const [program, ...given] = openers[process.platform] ?? ['xdg-open']
  const path = Bun.which(program!)
  if (path === null) return false
  Bun.spawn([path, ...given, url], { stdio: ['ignore', 'ignore', 'ignore'] }).unref()
  return true
}

export const dashboard = defineCommand({
  name: 'dashboard',
  summary: 'Open the dashboard in the browser, logged in.',
  about: [
    'Logs in as admin, or as the agent of --agent and --token. The browser gets a code that works once, within a minute, on this machine; the token is in no address. Without a browser the address is printed.',
    'For a service on another machine, open its address and log in there.',
  ],
  flags: { ...connectionFlags, print: toggle('Print the address, and open no browser.') },
  examples: [
    ['cstp dashboard', 'the dashboard of the service on this machine'],
    ['cstp dashboard --print', 'the address, for a browser of your choice'],
  ],
  async run(run) {
    const { flags, json, terminal } = run
    const url = addressOf(flags.url, await run.configuration())
    if (flags.local || !isHere(url))
      throw new Failure(`this works with a service on this machine only; log in at ${url}/dashboard`)
    const { get } = await openConnection(run, { admin: 'always', signal: run.signal })
    const response = await get!('/dashboard/code', { method: 'POST', body: '' })
    const { code, message } = (await response.json().catch(() => ({}))) as { code?: string; message?: string }
    if (code === undefined) throw new Failure(message ?? `${url} has no dashboard (HTTP ${response.status})`)
    // After the #, no server and no log sees it.
    const address = `${url}/dashboard#code=${code}`
    if (json) await terminal.out(jsonLine({ url: address }))
    else if (flags.print || !openBrowser(address)) await terminal.out(`${address}\nIt works once, within a minute.\n`)
    else await terminal.out(`Opened ${url}/dashboard\n`)
  },
})
