/** What the gateway itself asks servers. */
import { type Fields, fieldsOf, type Id, type Message, type Response } from './messages.ts'

export interface Asking {
  /** @param send gets the request. @throws if the server refuses or does not answer */
  ask(server: string, method: string, params: unknown, send: (message: Message) => Promise<void>): Promise<Fields>
  /** Whether this answers a request of the gateway. */
  takes(response: Response): boolean
  /** Those that a server was asked, or one of them, get no answer. @returns whether there were any */
  end(which: { server: string } | { id: Id }, why: string): boolean
}

const timeoutMs = 60_000
/** Most pages of a list that are read. */
const maxPages = 100

/** @param secret begin of the ids, so that a client can't use one of them */
export function openAsking(secret: string): Asking {
  const asked = new Map<unknown, { server: string; resolve(answer: Fields): void }>()
  let next = 0
  return {
    async ask(server, method, params, send) {
      const id = `${secret}-${next++}`
      const { promise, resolve, reject } = Promise.withResolvers<Fields>()
      asked.set(id, { server, resolve })
      const timer = setTimeout(() => reject(new Error(`${server} does not answer ${method}`)), timeoutMs)
      try {
        await send({ jsonrpc: '2.0', id, method, params } as Message)
        const { error, result } = await promise
        if (error !== undefined) throw new Error(`${server} refuses ${method}: ${String(fieldsOf(error).message)}`)
        return fieldsOf(result)
      } finally {
        clearTimeout(timer)
        asked.delete(id)
      }
    },
    takes(response) {
      const one = asked.get(response.id)
      one?.resolve(response as unknown as Fields)
      return one !== undefined
    },
    end(which, message) {
      const found =
        'id' in which ? [asked.get(which.id)] : [...asked.values()].filter((one) => one.server === which.server)
      for (const one of found) one?.resolve({ error: { message } })
      return found[0] !== undefined
    },
  }
}

/** The entries of all pages of a list. @param ask asks for a page */
export async function listed(
  member: string,
  params: Fields,
  ask: (params: Fields) => Promise<Fields>,
): Promise<unknown[]> {
  const all: unknown[] = []
  let cursor: unknown
  for (let page = 0; page < maxPages; page++) {
    const result = await ask({ ...params, ...(cursor !== undefined && { cursor }) })
    if (Array.isArray(result[member])) all.push(...result[member])
    cursor = result.nextCursor
    if (cursor === undefined) break
  }
  return all
}
