/** Which web pages may call the service, and by which host names: a page of another site must not act as the user. */

const loopback = new Set(['localhost', '127.0.0.1', '[::1]', '::1'])

/** The host name in a URL; null if it is not a URL. */
function nameIn(url: string): string | null {
  return URL.canParse(url) ? new URL(url).hostname : null
}

/** Programs send no origin. Pages of the listed origins may call; `*` stands for those of this machine. */
export function allowedOrigin(origin: string | null, listed: readonly string[]): boolean {
  if (origin === null || listed.includes(origin)) return true
  const name = /^https?:\/\//.test(origin) ? nameIn(origin) : null
  return listed.includes('*') && name !== null && loopback.has(name)
}

/** @param hosts host names, without a port; null for any */
export function allowedHost(host: string | null, hosts: readonly string[] | null): boolean {
  if (hosts === null) return true
  const name = host === null ? null : nameIn(`http://${host}`)
  return name !== null && hosts.includes(name)
}

/**
 * The host names that requests may use: those of this machine and of the public address if the service listens on a loopback address;
 * any otherwise, as the names by which other machines reach it are unknown.
 */
export function hostsOf({ host, public_url }: { host: string; public_url: string | null }): string[] | null {
  const name = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
  if (!loopback.has(name) && !/^127\./.test(name)) return null
  return [...loopback, name, ...(public_url === null ? [] : [nameIn(public_url) ?? ''])]
}
