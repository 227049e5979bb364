/** The cookies of the dashboard: that of a session, and that of a login which is under way at the issuer; and for whose requests they count. */

/** The pages send this header with every call. Other sites can't send it without a CORS preflight, which does not allow it. */
const pageHeader = 'x-cstp-dashboard'

/** Whether a request comes from a page of this service, not from another site's. */
export function fromOwnPage(request: Request, public_url: string | null): boolean {
  const { headers, method } = request
  if (headers.get(pageHeader) !== '1') return false
  const site = headers.get('sec-fetch-site')
  if (site !== null && site !== 'same-origin') return false
  const origin = headers.get('origin')
  if (origin === null) return method === 'GET' || method === 'HEAD'
  if (!URL.canParse(origin)) return false
  return new URL(origin).host === headers.get('host') || (public_url !== null && origin === new URL(public_url).origin)
}

/** @param public_url address of the service, if it is set @param trust_proxy trusted proxies in front of it */
export function createCookies({ public_url, trust_proxy }: { public_url: string | null; trust_proxy: number }) {
  const isSecure = (request: Request): boolean =>
    public_url?.startsWith('https:') === true ||
    request.url.startsWith('https:') ||
    (trust_proxy > 0 && /^https$/i.test(request.headers.get('x-forwarded-proto')?.split(',').at(-1)?.trim() ?? ''))
  // Browsers accept the `__Host-` prefix only for cookies that are Secure and limited to this host.
  const cookieName = (secure: boolean) => (secure ? '__Host-cstp' : 'cstp')
  const cookie = (request: Request, id: string, seconds: number): string => {
    const secure = isSecure(request)
    const parts = [`${cookieName(secure)}=${id}`, 'Path=/', 'HttpOnly', 'SameSite=Strict', `Max-Age=${seconds}`]
    return [...parts, ...(secure ? ['Secure'] : [])].join('; ')
  }
  // Sent when the issuer leads the browser back, which is another site.
  const pendingCookie = (request: Request, id: string): string => {
    const rest = `HttpOnly; SameSite=Lax; Max-Age=${id === '' ? 0 : 600}${isSecure(request) ? '; Secure' : ''}`
    return `cstp-login=${id}; Path=/dashboard/callback; ${rest}`
  }
  const cookieIn = (request: Request, cookieNamed: string): string | null => {
    const name = `${cookieNamed}=`
    const parts = request.headers.get('cookie')?.split(';') ?? []
    return (
      parts
        .map((part) => part.trim())
        .find((part) => part.startsWith(name))
        ?.slice(name.length) ?? null
    )
  }
  const idOf = (request: Request): string | null => cookieIn(request, cookieName(isSecure(request)))

  return { cookie, pendingCookie, cookieIn, idOf }
}
