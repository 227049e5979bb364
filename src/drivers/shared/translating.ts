/** Converts everything that a part of a driver throws to storage errors. */
import type { StorageError } from '../../../sdk/storage/errors.ts'

type Method = (...args: never[]) => Promise<unknown>

/** Returns a function that wraps all methods of a part. */
export const translating =
  (translate: (error: unknown) => StorageError) =>
  <T extends { [K in keyof T]: Method }>(part: T): T => {
    const failed = (error: unknown): never => {
      throw translate(error)
    }
    const methods = Object.entries<Method>(part).map(([name, method]) => [
      name,
      (...args: never[]) => method(...args).catch(failed),
    ])
    return Object.fromEntries(methods) as T
  }
