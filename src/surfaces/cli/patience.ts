/** Waits where a server limits the rate: for commands that send many calls. */
import { CstpError } from '../../../sdk/errors.ts'
import { type Connection, connect } from './connection.ts'

/** A connection that sends a call again, after the time that the server names, when it was not taken for the rate alone. */
export function patient(connection: Connection, waited: (seconds: number) => void = () => {}): Connection {
  const send = async (method: string, params: unknown): Promise<unknown> => {
    for (;;) {
      try {
        return await connection.send(method, params)
      } catch (error) {
        // Such a call was refused before it was looked at: sending it again does nothing twice.
        if (!(error instanceof CstpError) || error.error !== 'rate_limited') throw error
        const seconds = Math.min(60, Math.max(1, Number(error.data?.retry_after ?? 1)))
        waited(seconds)
        await Bun.sleep(seconds * 1_000)
      }
    }
  }
  return connect(send, connection.where, connection.close)
}
