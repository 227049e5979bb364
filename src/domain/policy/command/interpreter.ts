/** Interpreters, and the code that they run: of an option, a file or their input. */
import { readCode } from './code.ts'
import { effectsOf, hasEffect } from './effects.ts'
import type { ReadCode } from './hidden.ts'
import type { CodeSource } from './model.ts'
import { noStream, type Stream } from './output.ts'
import { resolve, unknown } from './paths.ts'
import { callOf, environment, record, shown, sourceOf, targetsOf } from './record.ts'
import { noteWritten } from './redirects.ts'
import { contentOf, type Given, inner, nothing, type Reader, type Scope } from './scope.ts'
import { tokensOf } from './tokens.ts'
import type { interpreters, Language } from './wrappers.ts'

export function runInterpreter(
  reader: Reader,
  program: string,
  raw: readonly string[],
  scope: Scope,
  given: Given,
  [, language, option]: (typeof interpreters)[number],
): Stream | null {
  const at = raw.findIndex((one) => option.test(one))
  const attached = option.exec(raw[at] ?? '')?.[1]
  let code: string | null = null
  let source: CodeSource = 'text'
  const file = raw.find((one) => !one.startsWith('-'))
  if (at !== -1 && (language !== 'perl' || !/^-\d/.test(raw[at]!))) code = attached ?? raw[at + 1] ?? ''
  else if (file === undefined || file === '-') {
    if (given.stdin === null || raw.some((one) => /^-(?:-version|-help|[mVvh])/.test(one))) return null
    code = given.stdin.text
    source = given.stdin.source
  } else {
    const content = contentOf(reader.all, resolve(file, scope.base))
    if (content === undefined || (/^(?:bun|deno)$/.test(program) && /^(?:run|x|install|add|test)$/.test(file)))
      return null
    code = content.text
    source = content.source
  }
  if (code === null || code.includes(unknown)) {
    const from = sourceOf(reader, [code ?? unknown], scope, given)
    record(reader, callOf(program, raw), scope, given, {
      code_from: code === null && source !== 'text' ? source : from === 'file' ? 'output' : from,
      opaque: true,
    })
    if (code === null) return noStream
  }
  const read = takeCode(reader, program, code, language, scope, given, raw, source)
  // node -p prints the value of its code.
  const printed = /^(?:-p|--print|-pe)$/.test(raw[at] ?? '') && language === 'javascript' ? read.value : read.printed
  return printed === null || printed.includes(unknown)
    ? { ...noStream, from: [program, ...(at === -1 ? [] : [`${program} -c`]), ...(given.stdin?.from ?? [])] }
    : { ...noStream, text: printed, source: 'text' }
}

/** Reads the code of an interpreter. */
export function takeCode(
  reader: Reader,
  program: string,
  code: string,
  language: Language,
  scope: Scope,
  given: Given,
  raw: readonly string[],
  source: CodeSource = 'text',
  depth = 0,
): ReadCode {
  const read = readCode(code, language)
  if (read.fork_bomb) reader.all.fork_bomb = true
  const targets = read.paths.flatMap(([word, access, recursive]) => targetsOf(word, access, recursive, scope, given))
  const written = targets.filter(({ access }) => access === 'write' || access === 'overwrite')
  if (written.length > 0) {
    // What it writes is among its texts, or comes from the network.
    const texts = tokensOf(code.slice(0, 20_000), language).flatMap(({ kind, text }) => (kind === 'text' ? [text] : []))
    const content: Stream =
      read.hosts.length > 0
        ? { ...noStream, source: 'download' }
        : { ...noStream, source: 'text', text: texts.join('\n') }
    for (const { path, access } of written) noteWritten(reader, path, content, scope, access === 'write')
  }
  const secrets = [
    ...targets.filter((one) => one.access === 'read' && one.class === 'secret'),
    ...given.substituted.flatMap((one) => one.secrets),
    ...(given.stdin?.secrets ?? []),
    ...(/(?<!\{[^{}.]{0,200}\}\s{0,9}=\s{0,9})(?:\bprocess\.env|\bos\.environ|%ENV|\bENV\.to_h)\b(?!\s*[.[])/.test(code)
      ? [environment('env')]
      : []),
  ]
  if (read.sends) for (const one of secrets) targets.push({ ...one, access: 'send' })
  const call = hasEffect(program) ? callOf(program, raw) : null
  const edited =
    call === null
      ? []
      : effectsOf(call).paths.flatMap(([word, access, recursive]) =>
          access !== 'read' ? targetsOf(word, access, recursive, scope, given) : [],
        )
  record(
    reader,
    { program, raw, args: [], flags: [...raw.filter((one) => one.startsWith('-'))], values: {}, end: 0 },
    scope,
    given,
    {
      targets: [...given.redirected, ...targets, ...edited],
      hosts: read.hosts.map(shown),
      code: shown(code),
      code_from:
        read.runs_download || (read.opaque && given.stdin?.source === 'download')
          ? 'download'
          : read.encoded
            ? 'decoded'
            : source,
      opaque: read.opaque,
    },
  )
  const at = inner(scope, { via: [...scope.via, program] })
  for (const line of read.lines) reader.line(line, inner(at))
  for (const words of read.commands) if (words.length > 0) reader.command(words, inner(at), nothing)
  if (depth < 4)
    for (const one of read.inner) takeCode(reader, program, one, language, scope, given, raw, 'decoded', depth + 1)
  return read
}
