/** What identities of one workspace see of the access to the service. */
import { type Agent, type Caller, createAuthenticator } from '../../core/caller.ts'
import { jwtIn, type Refusal } from '../../surfaces/http/bearer.ts'
import type { Access } from '../routes.ts'

const elsewhere: Refusal = { cause: 'invalid', why: 'it is for another workspace' }

/** The access of a workspace, or of the default one: callers of all others are strangers to it, whatever chose the workspace. */
export function accessIn(access: Access, workspace?: string): Access {
  const own = (caller: Caller | null): Caller | null => (caller?.workspace === workspace ? caller : null)
  const { issuer, session, ...rest } = access
  let [all, agents]: (readonly Agent[])[] = [[], []]
  const ownAgents = () => {
    const now = access.agents()
    if (now !== all) [all, agents] = [now, now.filter(({ caller }) => own(caller) !== null)]
    return agents!
  }
  return {
    ...rest,
    agents: ownAgents,
    authenticate: createAuthenticator(ownAgents),
    signatures: { ...rest.signatures, caller: (request) => own(rest.signatures.caller(request)) },
    ...(issuer && {
      issuer: {
        ...issuer,
        async verify(token, headers) {
          const found = await issuer.verify(token, headers)
          return 'agent' in found && own(found) === null ? elsewhere : found
        },
      },
    }),
    ...(session && { session: async (request) => own(await session(request)) }),
  }
}

/** The workspace of the sender of a request; undefined for the default one, and for strangers, whom that refuses. */
export async function workspaceOf(access: Access, request: Request): Promise<string | undefined> {
  const { authenticate, signatures, issuer, session } = access
  const header = request.headers.get('authorization')
  if (header === null) return request.headers.has('cookie') ? (await session?.(request))?.workspace : undefined
  const caller = authenticate(header) ?? signatures.caller(request)
  if (caller) return caller.workspace
  const token = issuer ? jwtIn(header) : null
  const found = token === null ? null : await issuer!.verify(token, request.headers)
  return found !== null && 'agent' in found ? found.workspace : undefined
}
