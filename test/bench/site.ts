/** Where measured servers keep their data: what the parts need to know of a store, so that one set of parts measures both. */
import type { EmbedderName } from './embedders.ts'

/** A data directory, or the address of a database. */
export type Place = string

export interface Site {
  store: 'embedded' | 'postgres'
  /** What a reader of the table should know of it. */
  about: string
  /** Numbers of servers to measure with. */
  servers: readonly number[]
  /** So many decisions; made once, for reading. */
  seeded(size: number, embedder: EmbedderName): Promise<Place>
  /** A copy that may be written to. */
  scratch(size: number, embedder: EmbedderName): Promise<Place>
  /** Nothing in it yet, a data directory or a database. */
  empty(name: string): Promise<Place>
  /** Settings of a server on a place. @param number tells several at once apart: each has its own segments, and finds them again */
  env(place: Place, number?: number): Promise<Record<string, string>>
  close(): Promise<void>
}

/** Makes a thing once for each name. */
export function once<T>(make: (name: string) => Promise<T>): (name: string) => Promise<T> {
  const made = new Map<string, Promise<T>>()
  return (name) => {
    const known = made.get(name) ?? make(name)
    made.set(name, known)
    return known
  }
}
