/** The parts of a store, throwing nothing but storage errors. */
import type { StorageError } from '../../../sdk/storage/errors.ts'

type Method = (...args: never[]) => Promise<unknown>

/** Returns what makes of a part the same part, whatever it throws turned into a storage error. */
export const translating =
  (translate: (error: unknown) => StorageError) =>
  <T extends { [K in keyof T]: Method }>(part: T): T => {
    const methods = Object.entries<Method>(part).map(([name, method]) => [
      name,
      (...args: never[]) =>
        method(...args).catch((error: unknown) => {
          throw translate(error)
        }),
    ])
    return Object.fromEntries(methods) as T
  }
