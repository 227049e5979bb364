/** Finds calls in the code of one-liners whose function or arguments are somewhere else in it. */
import { deletesByName, permitsByName, runsByName } from './calls.ts'
import type { Access } from './model.ts'
import { unknown } from './paths.ts'
import type { Token } from './tokens.ts'
import type { Language } from './wrappers.ts'

export interface ReadCode {
  /** Lines for a shell. */
  lines: string[]
  /** Commands by their words. */
  commands: string[][]
  paths: [word: string, access: Access, recursive: boolean][]
  hosts: string[]
  /** Code inside the code. */
  inner: string[]
  /** Runs code that it makes or gets at run time. */
  opaque: boolean
  /** What it runs is made by decoding. */
  encoded: boolean
  /** Runs code that it downloads. */
  runs_download: boolean
  fork_bomb: boolean
  /** Whether it sends something. */
  sends: boolean
  /** What it prints; null if it prints nothing that can be read. */
  printed: string | null
  /** Its value, if it is an expression of literals. */
  value: string | null
}

const path = /(?:^|[\s"'({|=,<>])((?:~|\/(?=[\w.*])|[A-Za-z]:[\\/])[^\s"'(){};,|<>]{0,400})/g
const deletesByPlace =
  /(?:^|[.:>])(?:File|Files|Dir|Pathname|FileUtils|FileManager|fs|promises|os|Deno)(?:\.|::|->)(?:delete\w*|rm\w*|remove\w*|unlink\w*)$/

/** A function that is found by its name, or passed on, is called with arguments that are not beside it: any path outside the project may be one. */
export function readHidden(found: ReadCode, tokens: readonly Token[], code: string, language: Language): void {
  const words = tokens.flatMap(({ kind, text }) =>
    kind === 'mark' || text.length > 60 ? [] : text.split(/[.>:]+/).map((one) => one.replace(/[!?]$/, '')),
  )
  const texts = tokens.flatMap(({ kind, text }) => (kind === 'text' ? [text] : []))
  const has = (...shapes: RegExp[]) => words.some((one) => shapes.some((shape) => shape.test(one)))
  const isKnown = (kind: Access): boolean =>
    found.paths.some(([path, access]) => access === kind && !path.includes(unknown) && !/\s\//.test(path))
  const add = (access: Access): void => {
    for (const [at, { kind, text }] of tokens.entries())
      if (kind === 'text' && text === '/' && tokens[at - 1]?.text === '(' && tokens[at - 2]?.kind === 'mark')
        found.paths.push([text, access, true])
    for (const text of language === 'other' ? [code, ...texts] : texts)
      for (const one of text.slice(0, 2_000).matchAll(path)) found.paths.push([one[1]!, access, true])
  }
  const deletes = has(deletesByName) || (language === 'other' && has(/^(?:delete|unlink|rm|rmdir)$/))
  const placed = tokens.some(({ kind, text }) => kind === 'name' && deletesByPlace.test(text))
  if ((deletes || placed) && !isKnown('delete')) add('delete')
  if (has(permitsByName) && !isKnown('permissions')) add('permissions')
  if (found.lines.length + found.commands.length > 0 || !has(runsByName)) return
  found.lines.push(...texts.filter((one) => /^\S+\s+\S/.test(one) && !one.includes('%')))
  if (texts.length > 1)
    found.commands.push(...texts.flatMap((one, at) => (/^[\w./-]+$/.test(one) ? [texts.slice(at)] : [])).slice(0, 4))
}
