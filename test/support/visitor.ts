/** What a browser does with cookies and redirects, for tests that need no page. */

/** Visits an address and follows redirects, until one leads to `end`, but not to a path `through`. @returns the address of that redirect */
export async function follow(
  start: string | URL,
  end: string,
  jar = new Map<string, string>(),
  through?: string,
): Promise<URL> {
  let at = new URL(start)
  for (let step = 0; step < 20; step++) {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(at, { redirect: 'manual', headers: { cookie } })
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';')
      const equals = pair.indexOf('=')
      jar.set(pair.slice(0, equals), pair.slice(equals + 1))
    }
    const location = response.headers.get('location')
    if (location === null) throw new Error(`${at} answers ${response.status}: ${(await response.text()).slice(0, 500)}`)
    at = new URL(location, at)
    if (at.href.startsWith(end) && at.pathname !== through) return at
  }
  throw new Error(`too many redirects: ${at}`)
}
