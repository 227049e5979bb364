/** Reads one command by its words: what it is, what it does, and what it runs in turn. */
import { readCarried, readLastWords } from './carried.ts'
import { type Call, effectsOf, has, sends } from './effects.ts'
import { runInside } from './inside.ts'
import { runInterpreter, takeCode } from './interpreter.ts'
import type { Target } from './model.ts'
import { noteOrigins } from './origins.ts'
import { noStream, outputOf, type Stream } from './output.ts'
import { resolve, unknown } from './paths.ts'
import { callOf, environment, record, runOpaque, shown, targetsOf, worstOf } from './record.ts'
import { noteWritten } from './redirects.ts'
import { contentOf, type Given, inner, nothing, type Reader, type Scope } from './scope.ts'
import { runShell } from './shell.ts'
import { interpreters, shells, unwrap } from './wrappers.ts'

/** The name of a program without its folder. */
const nameOf = (word: string): string => {
  const name = word.replace(/^.*[/\\](?=[^/\\])/, '').replace(/\.(?:exe|cmd|bat)$/i, '')
  return /^[A-Z][a-zA-Z]+-[A-Z]\w+$/.test(name) || /^[A-Z]{2,}$/.test(name) ? name.toLowerCase() : name
}

export function runCommand(reader: Reader, words: readonly string[], scope: Scope, given: Given): Stream {
  const [named = '', ...raw] = words
  if (named === '') return noStream
  // A glob in the name of a program stands for one of the system.
  const first = named.replace(/\[(.)\]/g, '$1').replace(/(?<=\/)[^/]*[*?][^/]*$/, unknown)
  const base = first.replace(/^.*\/(?=.)/s, '')
  if (base.includes(unknown)) {
    // A part that is not known may be empty, and the words after it a command.
    const rest = first.replaceAll(unknown, '')
    if (rest === '') {
      if (/^[a-z]/.test(raw[0] ?? '')) reader.command(raw, inner(scope), given)
    } else if (/^[\w./-]+$/.test(rest) && !rest.endsWith('/')) reader.command([rest, ...raw], inner(scope), given)
  }
  if (base.startsWith(unknown)) {
    reader.all.opaque.add('the name of a program is only known at run time')
    const source = worstOf(given.substituted)
    // What deletes by its options is taken for it.
    const deletes = raw.some((one) => /^-[a-zA-Z]*(?:rf|fr|Rf|fR)/.test(one)) ? callOf('rm', raw).args : []
    record(reader, callOf('', raw), scope, given, {
      opaque: true,
      code_from: source === 'text' ? 'output' : source,
      targets: deletes.flatMap((one) => targetsOf(one, 'delete', true, scope, given)),
    })
    return noStream
  }
  // A name that this line gave to another program, or to a file that it wrote, is looked for in the folders that it set.
  const folders = first.includes('/') ? [] : (scope.vars.get('PATH') ?? '').split(':').slice(0, 8)
  const places = first.includes('/') ? [first] : folders.map((one) => `${one}/${first}`)
  const [place = null] = places
    .flatMap((one) => resolve(one, scope.base) ?? [])
    .filter((one) => scope.base.links.has(one) || reader.all.files.has(one))
  const program = nameOf(scope.base.links.get(place ?? first) ?? first)
  const known = scope.functions.get(program)
  if (known !== undefined && !scope.running.includes(known)) {
    const at = { ...scope, args: raw, running: [...scope.running, known], depth: scope.depth + 1 }
    const output = reader.node(known, at, given.stdin)
    // It runs in the shell itself, and may leave the folder.
    scope.base = at.base
    return output
  }
  const file =
    place !== null || first.includes('/') ? ranFile(reader, program, place ?? first, raw, scope, given) : null
  if (file !== null) return file
  const alias = scope.aliases.get(program)
  if (alias !== undefined && !scope.running.includes(program)) {
    const quoted = raw.map((one) => `'${one.replaceAll("'", `'\\''`)}'`.replace(/^'(~[\w.-]*\/?)/, "$1'")).join(' ')
    return reader.line(
      `${alias} ${quoted}`,
      { ...scope, running: [...scope.running, program], depth: scope.depth + 1 },
      given.stdin,
    )
  }
  readCarried(reader, callOf(program, raw), scope, given)
  if (shells.has(program)) return runShell(reader, program, raw, scope, given)
  if (asksForHelp(program, raw)) {
    record(reader, callOf('man', [program]), scope, { ...given, stdin: null }, {})
    return noStream
  }
  const inside = runInside(reader, callOf(program, raw), scope, given)
  if (inside !== null) {
    record(reader, callOf(program, raw), scope, { ...given, stdin: given.stdin }, inside.more)
    return inside.output
  }
  const wrapped = unwrap(program, raw)
  // Without a command it starts a shell, which reads its input.
  if (wrapped !== null && wrapped.words === null && wrapped.code.length === 0 && given.stdin !== null)
    if (wrapped.elsewhere || /^(?:sudo|su|doas|runuser)$/.test(program)) wrapped.words = ['sh']
  if (wrapped !== null && (wrapped.words !== null || wrapped.code.length > 0)) {
    const call = callOf(program, raw)
    const sent = sends(call) ? (given.stdin?.secrets ?? []) : []
    record(reader, call, scope, nothing, { targets: sent.map((one): Target => ({ ...one, access: 'send' })) })
    const at = inner(scope, { via: [...scope.via, program] })
    for (const [name, value] of wrapped.assignments) at.vars.set(name, value)
    if (wrapped.folder !== null) at.base = { ...at.base, cwd: resolve(wrapped.folder, at.base) }
    // On another machine nothing belongs to the project.
    if (program === 'nsenter') at.base = { ...at.base, mounts: null }
    if (wrapped.elsewhere)
      at.base = { cwd: '/home/user', project: '/home/user/.', home: '/home/user', mounts: null, links: new Map() }
    let output = noStream
    for (const text of wrapped.code) {
      if (
        text.includes(unknown) &&
        given.substituted.some(({ source }) => source === 'download' || source === 'decoded')
      )
        runOpaque(reader, program, [text], scope, given)
      output = reader.line(text, at, given.stdin)
    }
    if (wrapped.words !== null) output = reader.command(wrapped.words, at, given)
    return output
  }
  readLastWords(reader, callOf(program, raw), scope, given)
  const language = interpreters.find(([shape]) => shape.test(program))
  const main =
    language === undefined
      ? -1
      : raw.findIndex((one) => /(?:^|\/)(?:cstp(?:\.mjs)?|cstp[^/]*\/(?:.*\/)?src\/main\.ts)$/.test(one))
  if (main !== -1) record(reader, callOf('cstp', raw.slice(main + 1)), scope, given, {})
  if (language !== undefined) {
    const output = runInterpreter(reader, program, raw, scope, given, language)
    if (output !== null) return output
  }
  return runPlain(reader, callOf(program, raw), scope, given)
}

const runsOthers = /^(?:xargs|parallel|ssh|autossh|mosh|find|gfind|tmux|screen|at|batch|cstp)$/

/** Whether a program only explains itself, such as `git push --force --help`. */
const asksForHelp = (program: string, raw: readonly string[]): boolean =>
  (raw[0] === '--help' || raw.at(-1) === '--help') &&
  !raw.includes('--') &&
  !runsOthers.test(program) &&
  unwrap(program, raw) === null &&
  interpreters.every(([shape]) => !shape.test(program))

const builds = /\/(?:configure|autogen\.sh|bootstrap(?:\.sh)?|buildconf|gradlew|mvnw|build\.sh)$/

/** A file that this line downloaded or wrote, run by its path; null for any other. */
function ranFile(
  reader: Reader,
  program: string,
  word: string,
  raw: readonly string[],
  scope: Scope,
  given: Given,
): Stream | null {
  const path = resolve(word, scope.base)
  if (path === null) return null
  const content = contentOf(reader.all, path)
  if (content === undefined) return null
  const { text, source } = content
  // What builds a program is unpacked or cloned to be run.
  if (source === 'download' && !reader.all.files.has(path) && builds.test(path)) return null
  if (text === null) {
    record(reader, callOf(program, raw), scope, given, { code_from: source, opaque: true })
    return noStream
  }
  if (scope.depth > 12) return null
  const [, interpreter = 'sh'] = /^#! *(?:\S*\/)?(?:env +(?:-S +)?)?(?:\S*\/)?([\w.-]+)/.exec(text) ?? []
  return reader.command([interpreter, word, ...raw], inner(scope, { via: [...scope.via, program] }), given)
}

const compilers =
  /^(?:gcc|g\+\+|cc|c99|clang(?:\+\+)?|tcc|rustc|go|javac|java|zig|swiftc|ghc|nim|crystal|kotlinc|scalac|dotnet|v)$/

/** Programs that print their words. */
const passesWords = /^(?:echo|printf)$/

/** Commands whose output is a secret. */
const printsSecrets =
  /^(?:gh auth (?:token|status .*(?:-t|--show-token))|glab auth token|gcloud auth (?:application-default )?print-|az account get-access-token|aws (?:configure get|configure export-credentials|sts get-session|secretsmanager get-secret|ssm get-parameter|ecr get-login)|heroku auth:token|security (?:find-\w+-password|dump-keychain|export)|secret-tool (?:lookup|search)|pass (?:show |-c )?\w|op (?:read|item get)|bw (?:get|list|export)|lpass show|vault (?:read|kv get|token lookup)|doppler secrets|kubectl (?:.* )?get secrets?|oc (?:whoami -t|get secret)|git credential fill|npm token |docker-credential-\S+ get|gpg(?:2)? (?:.* )?(?:--export-secret|-d|--decrypt)|sops (?:-d|--decrypt)|keyring get|infisical secrets|fnox get|chezmoi secret|history )/

/** Programs that print a token, with the hosts that it is for. */
const ownHosts =
  /^(?:gh (?:api\.)?github\.com|glab gitlab\.com|gcloud [\w-]+\.(?:googleapis\.com|[\w.-]*run\.app)|az (?:management\.azure|dev\.azure|graph\.microsoft)\.com|[\w-]+ (?:localhost|127\.0\.0\.1))$/

/** Options that send it somewhere else. */
const diverts = /^(?:-[xK]$|--(?:(?:pre)?prox|socks|connect-to$|reso|conf))/

const printed = (text: string): Stream => ({ ...noStream, text: text.includes(unknown) ? null : text, source: 'text' })

/** A program that runs nothing else. */
function runPlain(reader: Reader, call: Call, scope: Scope, given: Given): Stream {
  const { paths, hosts } = effectsOf(call)
  if (/^(?:remove-item|ri)$/.test(call.program))
    for (const one of given.stdin?.paths ?? []) paths.push([one, 'delete', true])
  const targets: Target[] = []
  const secrets: Target[] = []
  for (const [word, access, recursive] of paths) {
    for (const target of targetsOf(word, access, recursive, scope, given)) {
      targets.push(target)
      if (access !== 'read' && access !== 'send') continue
      const tainted = contentOf(reader.all, target.path)?.secrets ?? []
      secrets.push(...tainted, ...(target.class === 'secret' ? [target] : []))
      if (access === 'send') for (const one of tainted) targets.push({ ...one, access: 'send' })
    }
  }
  noteOrigins(reader, call, scope, given, targets, hosts.length > 0, secrets)
  if (sends(call)) {
    const goesOn =
      hosts.length === 0 ||
      call.flags.some((one) => diverts.test(one)) ||
      [...given.assignments].some(([name]) => /_proxy$/i.test(name))
    const streamed = [...(given.stdin?.secrets ?? []), ...given.substituted.flatMap((one) => one.secrets)].filter(
      ({ path }) => goesOn || !hosts.every((host) => ownHosts.test(`${path} ${host}`)),
    )
    for (const one of streamed) targets.push({ ...one, access: 'send' })
  }
  for (const target of targets)
    if (target.access === 'send' && /^\/etc\/passwd$/.test(target.path)) target.class = 'secret'
  if (compilers.test(call.program))
    for (const text of [
      given.stdin?.text,
      ...call.raw.map((one) => contentOf(reader.all, resolve(one, scope.base))?.text),
    ])
      if (text != null) takeCode(reader, call.program, text, 'other', scope, nothing, call.raw)
  if (given.stdin !== null && /^(?:tee|dd|sponge|install)$/.test(call.program))
    for (const { path, access } of targets)
      if (access !== 'read') noteWritten(reader, path, given.stdin, scope, has(call, '-a'))
  record(reader, call, scope, given, {
    targets: [...given.redirected, ...targets],
    hosts: hosts.map(shown),
    code: statements(call, given),
  })
  if (call.program === 'git' && call.flags.includes('--show-toplevel')) return printed(scope.base.project)
  if (call.program === 'git' && call.raw.some((one) => /^--(?:absolute-git-dir|git-(?:common-)?dir)$/.test(one)))
    return printed(`${scope.base.project}/.git`)
  if (/^(?:ln|cp|install)$/.test(call.program) && call.args.length === 2) {
    const [to, from] = call.args.map((one) =>
      resolve(/^[a-z]\w*$/.test(one) && call.program === 'cp' ? `/bin/${one}` : one, scope.base),
    )
    // A copy of a program is that program under another name.
    if (to && from && (call.flags.includes('-s') || /\/s?bin\/[^/]+$/.test(to))) scope.base.links.set(from, to)
  }
  if (call.program === 'pwd' && scope.base.cwd !== null) return printed(scope.base.cwd)
  if (/^(?:realpath|readlink|greadlink|which|type|command|whence)$/.test(call.program) && call.args.length === 1)
    return printed(call.args[0]!)
  if (call.program === 'basename' && call.args[0])
    return printed(call.args[0].split('/').findLast((one) => one !== '') ?? '/')
  const [path] = call.program === 'dirname' ? call.args.map((one) => resolve(one, scope.base)) : []
  if (path) return printed(path.replace(/\/[^/]*$/, '') || '/')
  const dumps =
    (/^(?:env|printenv|export|set|declare)$/.test(call.program) && call.args.length === 0) ||
    call.flags.some((one) => one.startsWith('--export-secret-')) ||
    printsSecrets.test(`${call.program} ${call.raw.slice(0, 6).join(' ')} `)
  if (dumps) secrets.push(environment(call.program === 'printenv' ? 'env' : call.program))
  // What reads a file of this line has its text before it.
  const [file] =
    given.stdin === null
      ? call.args.slice(-1).flatMap((one) => contentOf(reader.all, resolve(one, scope.base)) ?? [])
      : []
  const output = outputOf(
    call.program,
    call.raw,
    file ? call.args.slice(0, -1) : call.args,
    call.flags,
    given.stdin ?? file ?? null,
    secrets,
  )
  const made =
    output.text === null && output.source === 'output' && passesWords.test(call.program)
      ? worstOf(given.substituted)
      : 'text'
  return made === 'decoded' || made === 'download' ? { ...output, source: made } : output
}

/** Statements for a database, from an option or the input. */
function statements({ program, args, values }: Call, { stdin }: Given): string {
  if (
    !/^(?:sql|psql|mysql|mariadb|sqlite3|mongo|mongosh|redis-cli|valkey-cli|clickhouse-client|cqlsh|sqlcmd|duckdb|cockroach|bq|snowsql|snow|influx|neo4j|cypher-shell|turso|litecli|pgcli|mycli|usql|supabase|wrangler)$/.test(
      program,
    )
  )
    return ''
  const given = ['-c', '-e', '--eval', '-q', '-Q', '--query', '--command', '--execute'].flatMap((name) =>
    values[name] === undefined ? [] : [values[name]],
  )
  const between = /^(?:redis|valkey)-cli$/.test(program) ? ' ' : ';\n'
  return shown([...given, ...args, stdin?.text ?? stdin?.part ?? ''].join(between).trim())
}
