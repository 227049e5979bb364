/**
 * Access tokens of an issuer: what a path tells a client that lacks one, or the scope.
 * @see RFC 6750 (challenges), RFC 9728 (metadata of a protected resource), RFC 8707 (the resource is the audience)
 */
import { type Caller, type Scope, scopes } from '../../core/caller.ts'
import { json, plainError, type Route } from './route.ts'

/** Why a token is refused: it is not valid, or the keys to check it can't be had now. */
export interface Refusal {
  cause: 'invalid' | 'unavailable'
  /** For the caller: without quotes, and nothing of the token. */
  why: string
}

/** The issuer whose tokens are accepted. */
export interface Issuer {
  /** Its identifier, a URL. */
  issuer: string
  /** What its names of scopes begin with; may be empty. */
  prefix: string
  /** Address of this service. */
  url(): string
  /** @param token a JWT @param headers of its request, which choose the workspace of a caller who has several */
  verify(token: string, headers: Headers): Promise<Caller | Refusal>
}

const metadataPath = '/.well-known/oauth-protected-resource'
/** Paths that are resources of their own. */
const resources = ['/mcp']
const jwt = /^Bearer +([\w-]+\.[\w-]+\.[\w-]+)$/i

/** The JWT in an `Authorization` header; null if it contains none. */
export const jwtIn = (header: string | null): string | null => jwt.exec(header ?? '')?.[1] ?? null

/** What a client that may read and record asks for. */
const usual: readonly Scope[] = ['read', 'write']

function challenge(
  issuer: Issuer,
  path: string,
  needed: readonly Scope[],
  error?: [code: string, why: string],
): string {
  const parts = [
    'realm="cstp"',
    ...(error ? [`error="${error[0]}"`, `error_description="${error[1].replace(/[^ !#-[\]-~]/g, ' ')}"`] : []),
    `resource_metadata="${issuer.url()}${metadataPath}${resources.includes(path) ? path : ''}"`,
    `scope="${needed.map((scope) => issuer.prefix + scope).join(' ')}"`,
  ]
  return `Bearer ${parts.join(', ')}`
}

/** 401 for a caller without a valid token. @param refusal absent if it sent none */
export function unauthorized(issuer: Issuer, path: string, scope: Scope | null, refusal?: Refusal): Response {
  if (refusal?.cause === 'unavailable') return plainError(503, 'unavailable', refusal.why, { 'retry-after': '5' })
  const message = refusal
    ? `The access token is refused: ${refusal.why}`
    : `An Authorization header is needed: Bearer <agent>:<token>, or an access token of ${issuer.issuer}`
  const header = challenge(issuer, path, scope ? [scope] : usual, refusal && ['invalid_token', refusal.why])
  return plainError(401, 'unauthorized', message, { 'www-authenticate': header })
}

/** Names in the answer the scope that the call needs, if the caller has a token of the issuer and can ask for another. */
export function insufficient(
  response: Response,
  issuer: Issuer | undefined,
  caller: Caller,
  path: string,
  scope: Scope,
): Response {
  if (issuer && caller.identity && !caller.scopes.has(scope))
    response.headers.set(
      'www-authenticate',
      challenge(issuer, path, [scope], ['insufficient_scope', `this call needs the scope ${scope}`]),
    )
  return response
}

/** Where clients read which issuer gives tokens for this service. */
export function metadataRoutes(issuer: Issuer): Record<string, Route> {
  const route = (path: string): Route => ({
    methods: ['GET', 'HEAD'],
    handle: () =>
      json({
        resource: issuer.url() + path,
        authorization_servers: [issuer.issuer],
        scopes_supported: scopes.map((scope) => issuer.prefix + scope),
        bearer_methods_supported: ['header'],
        resource_name: 'cstp',
      }),
  })
  return Object.fromEntries(['', ...resources].map((path) => [metadataPath + path, route(path)]))
}

/** The audiences of tokens for this service, if the settings name none. */
export const ownAudiences = (url: string): string[] => [url, `${url}/`, ...resources.map((path) => url + path)]
