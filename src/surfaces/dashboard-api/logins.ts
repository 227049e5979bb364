/**
 * Logins of people: an agent's token is exchanged for a random id that the browser holds. The store has only the id's hash, so every server
 * finds the login and reading the store does not allow using it.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { KeyedWriter, Store } from '../../../sdk/storage/store.ts'
import type { Caller, Identity, Scope } from '../../core/caller.ts'
import type { Pending, Person, PersonLogins } from './person.ts'

/** A dashboard login, stored under the hash of its id. The id itself is not stored. */
interface Login {
  agent: string
  /** Binds the login to the token that created it; lowercase hex. Empty if an issuer authenticated the person. */
  seal: string
  /** The person whom an issuer authenticated, as it said at the login. */
  person?: { scopes: readonly Scope[]; identity: Identity; sid: string | null } & Pick<
    Caller,
    'workspace' | 'workspaces'
  >
  used_ms: number
  /** Absolute end, regardless of use. */
  ends_ms: number
}

/** A login that was found. */
export interface Found {
  agent: string
  expires_ms: number
  /** Whether this token created it; false for a person of an issuer. */
  madeWith(token_hash: Uint8Array): boolean
  /** Whom an issuer authenticated; null if a token created the login. */
  person: Person | null
}

export interface Logins extends PersonLogins {
  /** Starts a login with a new id. @param token_hash SHA-256 of the presented token */
  start(agent: string, token_hash: Uint8Array): Promise<{ id: string; expires_ms: number }>
  /** The same for a person whom an issuer authenticated. */
  startPerson(person: Person): Promise<{ id: string; expires_ms: number }>
  /** A code that begins one login of the agent, within a minute. */
  offer(agent: string, token_hash: Uint8Array): Promise<string>
  /** Whose login a code begins; null if it was used before, or is over. */
  redeem(code: string): Promise<Pick<Found, 'agent' | 'madeWith'> | null>
  /** The login with this id; null if it has ended. */
  find(id: string): Promise<Found | null>
  end(id: string): Promise<void>
}

/** A login in use lasts a working day; an idle one ends sooner. */
export const longest_ms = 12 * 3_600_000
export const idle_ms = 2 * 3_600_000
/** Use is recorded at most this often, since a page makes many calls. */
const noted_ms = 60_000
const idBytes = 32
const collection = 'login'
/** Ways to the issuer and back, by the hash of the browser's id. */
const pendingCollection = 'login_pending'
/** Codes that begin a login, by their hash. */
const codeCollection = 'login_code'
const code_ms = 60_000
/** When an issuer said that a person, or a session, has logged out. */
const endedCollection = 'login_ended'
const pending_ms = 600_000
const expiredAtOnce = 100

/** Form of an id. Nothing else is looked up. */
const idForm = new RegExp(`^[0-9a-f]{${2 * idBytes}}$`)

const hashOf = (id: string): string => createHash('sha256').update(id).digest('hex')
/** Ends the login when the token changes. The HMAC is keyed with the id, so it reveals nothing about the token to a reader of the store. */
const sealOf = (id: string, token_hash: Uint8Array): string => createHmac('sha256', id).update(token_hash).digest('hex')

const isSealOf = (id: string, seal: string) => (token_hash: Uint8Array) =>
  seal !== '' && timingSafeEqual(Buffer.from(seal), Buffer.from(sealOf(id, token_hash)))

const keyOfSub = (issuer: string, sub: string): string => hashOf(JSON.stringify(['sub', issuer, sub]))
const keyOfSid = (issuer: string, sid: string): string => hashOf(JSON.stringify(['sid', issuer, sid]))

export function createLogins(input: {
  store: Pick<Store, 'keyed' | 'transaction'>
  now(): number
  randomHex(bytes: number): string
}): Logins {
  const { store, now, randomHex } = input
  const alive = ({ used_ms, ends_ms }: Login) => ends_ms > now() && used_ms >= now() - idle_ms

  const put = (keyed: KeyedWriter, id_hash: string, login: Login): Promise<void> =>
    keyed.put(collection, id_hash, login, { expires_ms: Math.min(login.ends_ms, login.used_ms + idle_ms + 1) })

  const note = (id_hash: string): Promise<void> =>
    store.transaction(async ({ keyed }) => {
      // If the login was ended meanwhile, it must stay ended.
      const [stored] = await keyed.get(collection, [id_hash])
      if (stored !== undefined) await put(keyed, id_hash, { ...(stored.value as Login), used_ms: now() })
    })

  async function begin(login: (id: string) => Pick<Login, 'agent' | 'seal' | 'person'>) {
    const id = randomHex(idBytes)
    const ends_ms = now() + longest_ms
    await store.transaction(async ({ keyed }) => {
      await keyed.expire(collection, now(), expiredAtOnce)
      await put(keyed, hashOf(id), { ...login(id), used_ms: now(), ends_ms })
    })
    return { id, expires_ms: ends_ms }
  }

  /** Gives out what is kept under an id, once. */
  const takeFrom = (kept: string, id: string): Promise<unknown> =>
    store.transaction(async ({ keyed }) => {
      const [stored] = await keyed.get(kept, [hashOf(id)])
      if (stored === undefined) return null
      await keyed.delete(kept, [hashOf(id)])
      return stored.expires_ms !== null && stored.expires_ms <= now() ? null : stored.value
    })

  /** Whether the issuer said that the person has logged out since. */
  async function isOver({ person, ends_ms }: Login): Promise<boolean> {
    if (person === undefined) return false
    const { identity, sid } = person
    const { issuer, sub } = identity
    const keys = [keyOfSub(issuer, sub), ...(sid === null ? [] : [keyOfSid(issuer, sid)])]
    const ended = await store.keyed.get(endedCollection, keys)
    return ended.some(({ value }) => (value as { at_ms: number }).at_ms >= ends_ms - longest_ms)
  }

  return {
    start: (agent, token_hash) => begin((id) => ({ agent, seal: sealOf(id, token_hash) })),
    startPerson: ({ caller: { agent, scopes, identity, ...where }, sid }) =>
      begin(() => ({ agent, seal: '', person: { ...where, scopes: [...scopes], identity: identity!, sid } })),
    async pend(id, pending) {
      await store.transaction(async ({ keyed }) => {
        await keyed.expire(pendingCollection, now(), expiredAtOnce)
        await keyed.put(pendingCollection, hashOf(id), pending, { expires_ms: now() + pending_ms })
      })
    },
    take: async (id) => (await takeFrom(pendingCollection, id)) as Pending | null,
    async offer(agent, token_hash) {
      const code = randomHex(idBytes)
      await store.transaction(async ({ keyed }) => {
        await keyed.expire(codeCollection, now(), expiredAtOnce)
        const offered = { agent, seal: sealOf(code, token_hash) }
        await keyed.put(codeCollection, hashOf(code), offered, { expires_ms: now() + code_ms })
      })
      return code
    },
    async redeem(code) {
      const offered =
        idForm.test(code) && ((await takeFrom(codeCollection, code)) as Pick<Login, 'agent' | 'seal'> | null)
      return offered ? { agent: offered.agent, madeWith: isSealOf(code, offered.seal) } : null
    },
    async endAll({ issuer, sub, sid }) {
      const key = sid === null ? keyOfSub(issuer, sub!) : keyOfSid(issuer, sid)
      await store.transaction(async ({ keyed }) => {
        await keyed.expire(endedCollection, now(), expiredAtOnce)
        await keyed.put(endedCollection, key, { at_ms: now() }, { expires_ms: now() + longest_ms })
      })
    },
    async find(id) {
      if (!idForm.test(id)) return null
      const [stored] = await store.keyed.get(collection, [hashOf(id)])
      const login = stored?.value as Login | undefined
      if (login === undefined || !alive(login) || (await isOver(login))) return null
      if (now() - login.used_ms >= noted_ms) await note(hashOf(id))
      const { agent, seal, ends_ms, person } = login
      const madeWith = isSealOf(id, seal)
      const found = { agent, expires_ms: ends_ms, madeWith }
      if (person === undefined) return { ...found, person: null }
      const { sid, scopes, ...rest } = person
      return { ...found, person: { caller: { ...rest, agent, scopes: new Set(scopes) }, sid } }
    },
    async end(id) {
      if (idForm.test(id)) await store.transaction(({ keyed }) => keyed.delete(collection, [hashOf(id)]))
    },
  }
}
