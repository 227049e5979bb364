/** Commands that a program is given to run where no table says so: in a setting, an option or a variable, as its last words, or in a file that this line wrote. */
import { type Call, hasEffect } from './effects.ts'
import { takeCode } from './interpreter.ts'
import type { Stream } from './output.ts'
import { resolve, targetOf } from './paths.ts'
import { callOf, record } from './record.ts'
import { contentOf, type Given, inner, nothing, type Reader, type Scope } from './scope.ts'
import { interpreters, shells, unwrap } from './wrappers.ts'

const names =
  'rm rmdir unlink shred truncate wipe dd mkfs[\\w.]* mke2fs wipefs blkdiscard chmod chown chattr git find tar rsync mv cp tee sed curl wget nc ncat socat scp ssh [bdkz]?a?sh fish busybox sudo doas env eval exec xargs python[\\d.]* perl ruby node php lua awk osascript powershell pwsh kill pkill killall systemctl shutdown reboot cstp base64 nohup setsid timeout cd source kubectl helm docker podman aws gcloud az terraform tofu pulumi psql mysql mariadb mongosh redis-cli npm pnpm yarn npx rmtree unlinkSync rmSync system'
    .split(' ')
    .join('|')
const carriable = new RegExp(`^(?:${names})$`)
/** Whether a text may be a line that does harm; only such a text is read as one. */
const carries = new RegExp(`(?:^|[\\s;&|({!'"\`=/@.])(?:${names})(?=[\\s('"]|$)`)

/** Options and settings named after what is done with their value: it is run. */
const runs =
  /(?:^|[-._])(?:alias|scripts?)\.[\w:-]+$|(?:exec|run|runner|cmd|commands?|hook|filter|clean|smudge|pager|editor|shell|scripts?|eval|program|askpass|rsh|rsync-path|action|handler|wrapper|before|after|prepare|cleanup|pre|post|up|down|helper|fsmonitor|external|pack|preview|startas)$/i
/** Short options that take a line in programs of many kinds. */
const shortRuns = /^-(?:[ecxXIPzEC]|TT)$/
const alsoShort = /^(?:git -x|(?:g|bsd)?tar -I|rsync -e|man -P|zip -TT)$/
/** Variables that hold a text for people. */
const saysText =
  /(?:MSG|MESSAGE|TITLE|BODY|TEXT|PROMPT|NAME|DESC\w*|COMMENT|NOTES?|SUBJECT|SUMMARY|REASON|QUERY|PATTERN)$/i
/** Variables that name code for a program: libraries, startup files, options, commands. Others name data, which may be downloaded. */
const namesCode =
  /^(?:PATH|ENV|CC|CXX|BROWSER|(?:NODE|GEM|LUA|GCONV)_PATH)$|(?:[a-z\d]PATH|LIB|OPTS?|RC)$|_ENV$|AGENT|ASKPASS|CMD|COMMAND|CONFIG|DIFF|DOTDIR|DYLD|EDITOR|EXEC|FLAGS|HOOK|IMPORT|INIT|LIBRARY|LOADER|MODULE|OPTION|PAGER|PLUGIN|PRELOAD|PROGRAM|REQUIRE|SCRIPT|SHELL|SSH|START|WRAPPER/i

/** Programs whose words are text, or that look at files and run nothing. */
const texts = new Set(
  'echo printf command : true false test [ [[ man info which type whereis whatis apropos tldr cheat history logger notify-send say wall write mail figlet cowsay toilet expr seq yes basename dirname realpath readlink ls ll stat file du tree wc md5sum sha1sum sha256sum cksum touch mkdir mktemp export set unset read local declare alias unalias trap apt apt-get dpkg yum dnf pacman apk brew port snap gem shellcheck shfmt hadolint bat code cmp comm join jq yq tr psql mysql sqlite3 cstp claude codex gemini opencode copilot aider llm ollama bd linear jira gh glab hub prettier eslint biome docker podman kubectl'.split(
    ' ',
  ),
)
const isText = (program: string): boolean => texts.has(program) || hasEffect(program)
const interprets = (program: string): boolean =>
  shells.has(program) || interpreters.some(([shape]) => shape.test(program))

/** Files that a tool for building, testing or deploying runs by their name. */
const entries =
  /^(?:(?:setup|conftest|noxfile|fabfile|tasks|dodo|manage)\.py|(?:GNU)?[Mm]akefile|[Jj]ustfile|Rakefile|Vagrantfile|Fastfile|SConstruct|wscript|CMakeLists\.txt|build\.(?:rs|zig|sbt|gradle(?:\.kts)?)|[\w-]+\.(?:tf|gemspec|podspec)|(?:gulp|Grunt|rollup|webpack|vite|vitest|jest|eslint|babel|metro|next|playwright)[\w.-]*\.[cm]?[jt]s|package\.json|\.npmrc|\.envrc|Taskfile\.ya?ml)$/
const prose =
  /\.(?:md|txt|jsonl?|json5|ya?ml|toml|csv|tsv|html?|xml|s?css|svg|rst|adoc|sql|lock|log|diff|patch|ini|cfg|conf|graphql|proto|tex)$/i
const languages: Record<string, string> = { py: 'python', rb: 'ruby', pl: 'perl', php: 'php', lua: 'lua' }

/** Reads what a program runs besides what is known of it. */
export function readCarried(reader: Reader, call: Call, scope: Scope, given: Given): void {
  const { program, raw } = call
  const at = inner(scope, { via: [...scope.via, program] })
  const isInterpreter = interprets(program)
  // Of a wrapper, they are most often those of the command inside, which is read as one.
  const hasOptions = !isText(program) && !isInterpreter && unwrap(program, raw) === null
  const variables = [...given.assignments]
  readVariables(reader, variables, at)
  if (!isInterpreter && !/^(?:echo|printf|cstp)$/.test(program))
    for (const [index, one] of raw.entries()) {
      const [, name = one, value = raw[index + 1] ?? ''] = /^(?:-o|--?)?([\w.:-]+)=(.*)$/s.exec(one) ?? []
      const isNamed = runs.test(name) && (name !== one || /^--?\w|\.\w/.test(one))
      if (isNamed || (shortRuns.test(one) && (hasOptions || alsoShort.test(`${program} ${one}`))))
        readText(reader, value, at)
    }
  if (reader.all.files.size > 0) readFiles(reader, call, at, variables)
  for (const one of isInterpreter ? raw : []) {
    const code = /^data:\w+\/javascript,(.+)$/s.exec(one)?.[1]
    if (code !== undefined) readCode(reader, code, 'javascript', at)
  }
  // A module that runs what it is given, such as timeit.
  if (isInterpreter && raw.includes('-m')) for (const one of raw) readText(reader, one, at)
}

/** Reads the last words of a program that no table knows as a command. */
export function readLastWords(reader: Reader, call: Call, scope: Scope, given: Given): void {
  const { program, raw } = call
  if (isText(program) || interprets(program)) return
  // What is not known to only read changes what it is given.
  const guard = raw.flatMap((one) => targetOf(one, 'write', scope.base) ?? []).filter((one) => one.class === 'guard')
  if (guard.length > 0) record(reader, call, scope, nothing, { targets: guard })
  const inside = raw.findIndex((one) => carriable.test(one.replace(/^.*\//, '')))
  if (inside === -1 || inside === raw.length - 1) return
  reader.command(raw.slice(inside), inner(scope, { via: [...scope.via, program] }), { ...nothing, stdin: given.stdin })
}

/** Reads what variables of the environment hold, which programs run by names of their own. */
export function readVariables(reader: Reader, variables: readonly (readonly [string, string])[], scope: Scope): void {
  for (const [name, value] of variables) if (!saysText.test(name)) readText(reader, value, scope)
}

/** Reads a text of any kind: as a line, and as code of a language that is not known. */
function readText(reader: Reader, text: string, scope: Scope): void {
  if (!carries.test(text)) return
  reader.line(text.replace(/^[\s!|@["']+|^(?:exec|system)[=:]/, ''), inner(scope))
  if (/[({]/.test(text)) readCode(reader, text, 'other', scope)
}

const readCode = (reader: Reader, text: string, language: string, scope: Scope): void => {
  takeCode(reader, language, text, language as never, scope, nothing, [])
}

/** Reads the files of this line that a program is given by their path or the path of their folder, or runs by their name. */
function readFiles(reader: Reader, { program, raw }: Call, scope: Scope, variables: [string, string][]): void {
  const pathsIn = (all: readonly string[]): string[] =>
    all.flatMap((one) => one.split(/[\s=:,@]+/)).flatMap((one) => resolve(one, scope.base) ?? [])
  for (const path of pathsIn(variables.flatMap(([name, value]) => (namesCode.test(name) ? [value] : [])))) {
    const content = contentOf(reader.all, path)
    if (content?.text === null && /^(?:download|decoded)$/.test(content.source))
      record(reader, callOf(program, raw), scope, nothing, { code_from: content.source, opaque: true })
  }
  if (isText(program) && program !== 'git') return
  const given = program === 'git' ? raw.flatMap((one) => /^[\w.]+=(.+)$/s.exec(one)?.[1] ?? []) : raw
  const named = pathsIn([...given, ...variables.map(([, value]) => value)]).filter((one) => one !== scope.base.cwd)
  for (const [path, content] of [...reader.all.files].slice(0, 20)) {
    // A language looks for its modules in the folder where it runs.
    const isModule = program.startsWith(languages[/\.(\w+)$/.exec(path)?.[1] ?? ''] ?? '-')
    const isEntry =
      (isModule || entries.test(path.replace(/^.*\//, ''))) && path.replace(/\/[^/]*$/, '') === scope.base.cwd
    if (isEntry || named.some((one) => path === one || path.startsWith(`${one}/`)))
      readFile(reader, path, content, scope)
  }
}

function readFile(reader: Reader, path: string, { text }: Stream, scope: Scope): void {
  if (text === null || (prose.test(path) && !entries.test(path.replace(/^.*\//, '')))) return
  const extension = /\.(\w+)$/.exec(path)?.[1] ?? ''
  const language = languages[extension] ?? (/^[cm]?[jt]sx?$/.test(extension) ? 'javascript' : null)
  if (language !== null) {
    readCode(reader, text, language, scope)
    return
  }
  if (/^(?:sh|bash|zsh)$/.test(extension)) {
    reader.line(text, inner(scope))
    return
  }
  readCode(reader, text, 'other', scope)
  for (const line of text.split('\n').slice(0, 200)) readText(reader, line.replace(/^[\s@+-]+/, ''), scope)
  for (const [, one] of text.slice(0, 20_000).matchAll(/(?<!\\)"((?:[^"\\\n]|\\.){4,400})"/g))
    readText(reader, one!, scope)
}
