/**
 * Logins of people: an agent's token is exchanged for a random id that the browser holds. The store has only the id's hash, so every server
 * finds the login and reading the store does not allow using it.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { KeyedWriter, Store } from '../../../sdk/storage/store.ts'

/** A dashboard login, stored under the hash of its id. The id itself is not stored. */
interface Login {
  agent: string
  /** Binds the login to the token that created it; lowercase hex. */
  seal: string
  used_ms: number
  /** Absolute end, regardless of use. */
  ends_ms: number
}

export interface Logins {
  /** Starts a login with a new id. @param token_hash SHA-256 of the presented token */
  start(agent: string, token_hash: Uint8Array): Promise<{ id: string; expires_ms: number }>
  /** The login with this id, and a test whether a given token created it; null if the login has ended. */
  find(id: string): Promise<{ agent: string; expires_ms: number; madeWith(token_hash: Uint8Array): boolean } | null>
  end(id: string): Promise<void>
}

/** A login in use lasts a working day; an idle one ends sooner. */
export const longest_ms = 12 * 3_600_000
export const idle_ms = 2 * 3_600_000
/** Use is recorded at most this often, since a page makes many calls. */
const noted_ms = 60_000
const idBytes = 32
const collection = 'login'
const expiredAtOnce = 100

/** Form of an id. Nothing else is looked up. */
const idForm = new RegExp(`^[0-9a-f]{${2 * idBytes}}$`)

const hashOf = (id: string): string => createHash('sha256').update(id).digest('hex')
/** Ends the login when the token changes. The HMAC is keyed with the id, so it reveals nothing about the token to a reader of the store. */
const sealOf = (id: string, token_hash: Uint8Array): string => createHmac('sha256', id).update(token_hash).digest('hex')

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

  return {
    async start(agent, token_hash) {
      const id = randomHex(idBytes)
      const ends_ms = now() + longest_ms
      await store.transaction(async ({ keyed }) => {
        await keyed.expire(collection, now(), expiredAtOnce)
        await put(keyed, hashOf(id), { agent, seal: sealOf(id, token_hash), used_ms: now(), ends_ms })
      })
      return { id, expires_ms: ends_ms }
    },
    async find(id) {
      if (!idForm.test(id)) return null
      const [stored] = await store.keyed.get(collection, [hashOf(id)])
      const login = stored?.value as Login | undefined
      if (login === undefined || !alive(login)) return null
      if (now() - login.used_ms >= noted_ms) await note(hashOf(id))
      const { agent, seal, ends_ms } = login
      const madeWith = (token_hash: Uint8Array) =>
        timingSafeEqual(Buffer.from(seal), Buffer.from(sealOf(id, token_hash)))
      return { agent, expires_ms: ends_ms, madeWith }
    },
    async end(id) {
      if (idForm.test(id)) await store.transaction(({ keyed }) => keyed.delete(collection, [hashOf(id)]))
    },
  }
}
