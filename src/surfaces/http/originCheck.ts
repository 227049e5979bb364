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

/** A page loaded from an IP address came from that address: no name was rebound. */
const isAddress = (name: string): boolean => /^(?:\d+(?:\.\d+){3}|\[[0-9a-f:.]+\])$/i.test(name)

/**
 * Whether requests may name this host. In DNS rebinding, a page of another site whose own name resolves to this machine sends that name.
 * @param hosts host names, without a port; null for any
 */
export function hostCheck(hosts: readonly string[] | null): (host: string | null) => boolean {
  if (hosts === null) return () => true
  return (host) => {
    const name = host === null ? null : nameIn(`http://${host}`)
    return name !== null && (isAddress(name) || hosts.includes(name))
  }
}

/**
 * The host names that requests may use: those of this machine, of the listening address and of the public address. Null (any) if the
 * service listens for other machines and no public address is set, since the names by which they reach it are unknown.
 */
export function hostsOf({ host, public_url }: { host: string; public_url: string | null }): string[] | null {
  const name = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
  const local = loopback.has(name) || /^127\./.test(name)
  if (!local && public_url === null) return null
  return [...loopback, name, ...(public_url === null ? [] : [nameIn(public_url) ?? ''])]
}
