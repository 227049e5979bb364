/** From which pages, and under which names, a browser may reach the service: a page elsewhere must not speak for the person at the screen. */

const loopback = new Set(['localhost', '127.0.0.1', '[::1]', '::1'])

/** The name in a URL; null where it is none. */
function nameIn(url: string): string | null {
  return URL.canParse(url) ? new URL(url).hostname : null
}

/** Programs send no origin. Of pages those listed may call; `*` lists those of this machine. */
export function allowedOrigin(origin: string | null, listed: readonly string[]): boolean {
  if (origin === null || listed.includes(origin)) return true
  const name = /^https?:\/\//.test(origin) ? nameIn(origin) : null
  return listed.includes('*') && name !== null && loopback.has(name)
}

/** @param hosts names, without a port; null for any */
export function allowedHost(host: string | null, hosts: readonly string[] | null): boolean {
  if (hosts === null) return true
  const name = host === null ? null : nameIn(`http://${host}`)
  return name !== null && hosts.includes(name)
}

/**
 * The names that requests may use: those of this machine where the service listens on it alone, with that of its public address;
 * any where it listens to others, as nobody can say by what names they know it.
 */
export function hostsOf({ host, public_url }: { host: string; public_url: string | null }): string[] | null {
  const name = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
  if (!loopback.has(name) && !/^127\./.test(name)) return null
  return [...loopback, name, ...(public_url === null ? [] : [nameIn(public_url) ?? ''])]
}
