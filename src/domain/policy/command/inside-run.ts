/** What a program that runs commands of its own is given to read them with. */
import type { Call } from './effects.ts'
import type { Invocation } from './model.ts'
import type { Stream } from './output.ts'
import type { Given, Reader, Scope } from './scope.ts'

export interface Inside {
  more: Partial<Invocation>
  output: Stream
}

export type Run = (
  call: Call,
  run: {
    reader: Reader
    scope: Scope
    given: Given
    at: Scope
    lines(...texts: (string | undefined)[]): void
    words(words: readonly string[], given?: Given): void
  },
) => Partial<Invocation> | null

/** Arguments after options, of which the named ones take a value. */
export function afterOptions(raw: readonly string[], values: string): string[] {
  const taking = new Set(values.split(' '))
  let at = 0
  while (at < raw.length && /^-./.test(raw[at]!)) {
    if (raw[at] === '--') return raw.slice(at + 1)
    at += taking.has(raw[at]!) ? 2 : 1
  }
  return raw.slice(at)
}
