/** Shells, and the code that they run: of an option, a file or their input. */
import { noStream, type Stream } from './output.ts'
import { resolve, unknown } from './paths.ts'
import { callOf, record, runOpaque, shown, sourceOf } from './record.ts'
import { contentOf, type Given, inner, type Reader, type Scope } from './scope.ts'

export function runShell(reader: Reader, program: string, raw: readonly string[], scope: Scope, given: Given): Stream {
  let at = 0
  let code: string | null = null
  let reads = false
  for (; at < raw.length; at++) {
    const one = raw[at]!
    if (!/^[-+]/.test(one) || one === '-') break
    if (one === '--') {
      at++
      break
    }
    if (one === '--rcfile' || one === '--init-file' || one === '-O' || one === '+O' || /^[-+][a-z]*o$/.test(one)) {
      at++
      continue
    }
    if (/^-\w*s/.test(one) && !one.startsWith('--')) reads = true
    if (one === '--command' || (/^-\w*c/.test(one) && !one.startsWith('--'))) {
      if (raw[at + 1] === '--') at++
      code = raw[++at] ?? ''
      at++
      break
    }
  }
  const rest = raw.slice(at)
  // `-n` reads and runs nothing, except in an interactive shell.
  const options = raw.slice(0, at)
  const checksOnly = options.some((one) => /^-[^\Wo]*n/.test(one)) && !options.some((one) => /^\+|^-\w*i/.test(one))
  const deeper = (via: string, args: readonly string[]): Scope => inner(scope, { via: [...scope.via, via], args })
  if (code !== null) {
    if (checksOnly) {
      record(reader, callOf(program, raw), scope, given, {})
      return noStream
    }
    const isUnknown = code.includes(unknown) || code.startsWith('$')
    const source = isUnknown ? sourceOf(reader, [code], scope, { ...given, stdin: null }) : 'text'
    record(reader, callOf(program, raw), scope, given, {
      code_from: source === 'file' ? 'output' : source,
      code: shown(code),
      opaque: code === unknown,
    })
    return reader.line(code, { ...deeper(`${program} -c`, rest.slice(1)), name: rest[0] }, given.stdin)
  }
  const file = reads ? undefined : rest[0]
  const args = reads ? rest : rest.slice(1)
  const isInput = file === undefined || file === '-' || file === '/dev/stdin'
  const content = isInput ? given.stdin : contentOf(reader.all, resolve(file, scope.base))
  if (content?.text != null) {
    record(reader, callOf(program, raw), scope, given, { code_from: content.source, code: shown(content.text) })
    // A script that runs itself is not read again.
    const isRunning = !isInput && scope.running.includes(file)
    return isRunning
      ? noStream
      : reader.line(content.text, {
          ...deeper(program, args),
          running: isInput ? scope.running : [...scope.running, file],
        })
  }
  if (checksOnly || (isInput && given.stdin === null)) {
    record(reader, callOf(program, raw), scope, given, {})
    return noStream
  }
  runOpaque(reader, program, isInput ? [] : [file], scope, { ...given, stdin: isInput ? given.stdin : null })
  if (isInput && given.stdin?.part) reader.line(given.stdin.part, deeper(program, args))
  return noStream
}
