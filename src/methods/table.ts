/** Every method by its wire name. */
import type { Method, MethodTable } from '../calls/method.ts'
import * as declared from './index.ts'

export const methods: MethodTable = new Map(
  Object.entries(declared as unknown as Record<string, Method>)
    .map(([name, method]) => [`cstp.${name}`, method] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1)),
)
