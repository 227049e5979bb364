/** Commands of the shell itself, which change the state in which later commands run. */
import { readVariables } from './carried.ts'
import { noStream, type Stream } from './output.ts'
import { resolve, unknown } from './paths.ts'
import { runOpaque } from './record.ts'
import { contentOf, type Given, inner, type Reader, type Scope, variableOf } from './scope.ts'

const done: Stream = { ...noStream, text: '', source: 'text' }

const setVariable = (scope: Scope, text: string): void => {
  const equals = text.indexOf('=')
  if (equals <= 0) return
  const value = text.slice(equals + 1)
  scope.vars.set(text.slice(0, equals), value === unknown ? null : value)
}

/** Variables that are read from what can't be read here. */
const noteNames = (reader: Reader, names: readonly string[], stdin: Stream | null): void => {
  if (stdin?.text === null) for (const one of names) reader.all.names.set(one, stdin)
}

/** Runs a builtin; null if the words name none. */
export function builtin(reader: Reader, words: readonly string[], scope: Scope, given: Given): Stream | null {
  const [name = '', ...rest] =
    words[0] === 'builtin' || (words[0] === 'command' && !/^-[vV]/.test(words[1] ?? '')) ? words.slice(1) : words
  const noted = () => reader.command([':'], scope, { ...given, stdin: null })
  if (given.redirected.length > 0 && /^(?:read|mapfile|readarray)$/.test(name)) noted()
  switch (name) {
    case 'cd':
    case 'pushd':
    case 'chdir':
    case 'set-location':
    case 'sl': {
      const [to] = rest.filter((one) => !/^-[LPe@]$/.test(one))
      if (given.redirected.length > 0) noted()
      const before = scope.base.cwd
      const path =
        to === undefined
          ? scope.base.home
          : to === '-'
            ? variableOf(scope, 'OLDPWD')
            : resolve(to, { ...scope.base, mounts: null })
      scope.vars.set('OLDPWD', before)
      if (to === '-' && path === null) return done
      // A command that goes to a folder above the project leaves it.
      scope.base = { ...scope.base, cwd: path }
      return done
    }
    case 'export':
    case 'declare':
    case 'typeset':
    case 'local':
    case 'readonly':
    case 'let':
      for (const one of rest) setVariable(scope, rest.includes('-n') ? one.replace('=', `=${unknown}=`) : one)
      if (name === 'export')
        readVariables(
          reader,
          rest.map((one) => [one.replace(/=.*$/s, ''), one.replace(/^[^=]*=?/, '')] as const),
          scope,
        )
      return rest.length === 0 ? null : done
    case 'unset':
      for (const one of rest) scope.vars.set(one, '')
      return done
    case 'set': {
      const dashes = rest.indexOf('--')
      const first =
        dashes === -1
          ? rest.findIndex((one, at) => !/^[-+]/.test(one) && !/^[-+]o$/.test(rest[at - 1] ?? ''))
          : dashes + 1
      if (first === -1) return null
      scope.args = rest.slice(first)
      return done
    }
    case 'shift':
      scope.args = scope.args.slice(Number(rest[0] ?? 1) || 1)
      return done
    case 'read': {
      const { paths = [], text = null } = given.stdin ?? {}
      const names = rest.filter((one, at) => !/^-/.test(one) && !/^-\w*[dnNtupai]$/.test(rest[at - 1] ?? ''))
      for (const one of names)
        scope.vars.set(one, names.length === 1 ? (text?.split('\n')[0] ?? paths[0] ?? null) : null)
      noteNames(reader, names, given.stdin)
      return done
    }
    case 'mapfile':
    case 'readarray': {
      const { paths = [], text = null } = given.stdin ?? {}
      const name = rest.findLast((one, at) => !one.startsWith('-') && !/^-[dnOsuCc]$/.test(rest[at - 1] ?? ''))
      const callback = rest[rest.indexOf('-C') + 1]
      if (rest.includes('-C') && callback) reader.line(callback, inner(scope))
      const lines = paths.length > 0 ? paths : (text?.split(/[\n\0]/).filter(Boolean) ?? [unknown])
      scope.lists.set(name ?? 'MAPFILE', lines.slice(0, 64))
      scope.vars.set(name ?? 'MAPFILE', lines[0] ?? '')
      noteNames(reader, [name ?? 'MAPFILE'], given.stdin)
      return done
    }
    case 'printf':
      if (rest[0] !== '-v' || rest[1] === undefined) return null
      scope.vars.set(rest[1], reader.command(['printf', ...rest.slice(2)], scope, given).text)
      return done
    case 'hash':
      if (rest[0] === '-p' && rest[2] !== undefined) scope.base.links.set(rest[2], rest[1]!)
      return null
    case 'history':
      if (rest[0] === '-s') reader.line(rest.slice(1).join(' '), inner(scope))
      return null
    case 'alias':
      for (const one of rest) {
        const equals = one.indexOf('=')
        if (equals > 0) scope.aliases.set(one.slice(0, equals), one.slice(equals + 1))
      }
      return done
    case 'eval': {
      const text = rest.join(' ')
      if (text.includes(unknown)) runOpaque(reader, 'eval', rest, scope, given)
      return reader.line(text, { ...scope, depth: scope.depth + 1, via: [...scope.via, 'eval'] }, given.stdin)
    }
    case 'source':
    case '.':
      return sourced(reader, name, rest, scope, given)
    case 'trap':
      if (rest.length > 1 && rest[0] !== '-' && !rest[0]!.startsWith('-'))
        reader.line(rest[0]!, inner(scope, { via: [...scope.via, 'trap'] }))
      return done
    default:
      return null
  }
}

function sourced(
  reader: Reader,
  name: string,
  [file = '', ...args]: readonly string[],
  scope: Scope,
  given: Given,
): Stream {
  const isInput = file === '/dev/stdin' || file === '-' || (file === '' && given.stdin !== null)
  const content = isInput ? given.stdin : contentOf(reader.all, resolve(file, scope.base))
  if (content?.text != null)
    return reader.line(content.text, {
      ...scope,
      depth: scope.depth + 1,
      via: [...scope.via, name],
      args: args.length > 0 ? args : scope.args,
    })
  runOpaque(reader, 'source', [file], scope, { ...given, stdin: isInput ? given.stdin : null })
  return noStream
}
