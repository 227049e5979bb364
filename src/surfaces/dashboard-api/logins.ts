/**
 * Logins of people: an agent's token is exchanged for a random id that a browser holds. The store knows the id's hash alone, so that
 * every server finds the login and nobody who reads the store can use it.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { Login, Store } from '../../../sdk/storage/store.ts'

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

/** An id is looked for only where it has the form of one. */
const idForm = new RegExp(`^[0-9a-f]{${2 * idBytes}}$`)

const hashOf = (id: string): string => createHash('sha256').update(id).digest('hex')
/** With a token that has changed the login ends. Keyed by the id, it tells a reader of the store nothing about the token. */
const sealOf = (id: string, token_hash: Uint8Array): string => createHmac('sha256', id).update(token_hash).digest('hex')

export function createLogins(input: {
  store: Pick<Store, 'logins' | 'transaction'>
  now(): number
  randomHex(bytes: number): string
}): Logins {
  const { store, now, randomHex } = input
  const alive = ({ used_ms, expires_ms }: Login) => expires_ms > now() && used_ms >= now() - idle_ms

  const note = (login: Login): Promise<void> =>
    store.transaction(async (tx) => {
      // It may have been ended meanwhile, and must stay so.
      if (await tx.logins.get(login.id_hash)) await tx.logins.put({ ...login, used_ms: now() })
    })

  return {
    async start(agent, token_hash) {
      const id = randomHex(idBytes)
      const expires_ms = now() + longest_ms
      await store.transaction(async (tx) => {
        await tx.logins.expire(now(), now() - idle_ms)
        await tx.logins.put({ id_hash: hashOf(id), agent, seal: sealOf(id, token_hash), used_ms: now(), expires_ms })
      })
      return { id, expires_ms }
    },
    async find(id) {
      if (!idForm.test(id)) return null
      const login = await store.logins.get(hashOf(id))
      if (!login || !alive(login)) return null
      if (now() - login.used_ms >= noted_ms) await note(login)
      const { agent, seal, expires_ms } = login
      const madeWith = (token_hash: Uint8Array) =>
        timingSafeEqual(Buffer.from(seal), Buffer.from(sealOf(id, token_hash)))
      return { agent, expires_ms, madeWith }
    },
    async end(id) {
      if (idForm.test(id)) await store.transaction((tx) => tx.logins.delete(hashOf(id)))
    },
  }
}
