/**
 * Logins of people: an agent's token is exchanged for a random id that a browser holds. The store knows the id's hash alone, so that
 * every server finds the login and nobody who reads the store can use it.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { KeyedWriter, Store } from '../../../sdk/storage/store.ts'

/** A person who is logged in at the dashboard; stored under the hash of the login's id, which itself is stored nowhere. */
interface Login {
  agent: string
  /** Ties the login to the token that it was made with, lowercase hex. */
  seal: string
  used_ms: number
  /** When it ends, however much it is used. */
  ends_ms: number
}

export interface Logins {
  /** Starts a login with a new id. @param token_hash SHA-256 of the token that was shown */
  start(agent: string, token_hash: Uint8Array): Promise<{ id: string; expires_ms: number }>
  /** The login behind an id, and what tells whether it was made with a token; null where it has ended. */
  find(id: string): Promise<{ agent: string; expires_ms: number; madeWith(token_hash: Uint8Array): boolean } | null>
  end(id: string): Promise<void>
}

/** A login that is used lasts a working day, one that is not ends sooner. */
export const longest_ms = 12 * 3_600_000
export const idle_ms = 2 * 3_600_000
/** A use is noted this seldom: a page makes many calls. */
const noted_ms = 60_000
const idBytes = 32
const collection = 'login'
const expiredAtOnce = 100

/** An id is looked for only where it has the form of one. */
const idForm = new RegExp(`^[0-9a-f]{${2 * idBytes}}$`)

const hashOf = (id: string): string => createHash('sha256').update(id).digest('hex')
/** With a token that has changed the login ends. Keyed by the id, it tells a reader of the store nothing about the token. */
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
      // It may have been ended meanwhile, and must stay so.
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
