/** Programs whose options, settings or input are commands. */
import { readCode } from './code.ts'
import { type Call, effectsOf } from './effects.ts'
import { afterOptions, type Run } from './inside-run.ts'
import type { Target } from './model.ts'
import { splitArguments } from './options.ts'
import { resolve, targetOf } from './paths.ts'
import { contentOf, nothing, type Scope, variableOf } from './scope.ts'
import { fromBase64 } from './texts.ts'
import { shells } from './wrappers.ts'

/** Settings of git on the line, also those in variables. */
function gitSettings(call: Call, at: Scope): string[] {
  const variable = (name: string) => variableOf(at, name) ?? ''
  const count = Math.min(Number(variable('GIT_CONFIG_COUNT')) || 0, 50)
  const counted = Array.from(
    { length: count },
    (_, one) => `${variable(`GIT_CONFIG_KEY_${one}`)}=${variable(`GIT_CONFIG_VALUE_${one}`)}`,
  )
  const quoted = [...variable('GIT_CONFIG_PARAMETERS').matchAll(/'([^']+)'(?:='([^']*)')?/g)]
  const given = (call.values['-c'] ?? '').split('\n').filter(Boolean)
  return [...given, ...counted, ...quoted.map(([, key, value]) => (value === undefined ? key! : `${key}=${value}`))]
}

export const git: Run = (call, { lines, words, reader, at }) => {
  const settings = gitSettings(call, at)
  const [name] = call.args
  // Settings that stand for options.
  for (const setting of call.raw.includes('--mirror') ? [] : settings) {
    if (name === 'clean' && /^clean\.requireforce=(?:false|no|off|0|)$/i.test(setting))
      words(['git', ...call.raw.slice(call.end), '--force'])
    const spec = name === 'push' ? /^remote\.[^=]+\.(?:push|mirror)=(.*)$/i.exec(setting)?.[1] : undefined
    if (spec !== undefined) words(['git', 'push', '--mirror', ...(spec === 'true' ? [] : [spec])])
  }
  for (const setting of settings) {
    const equals = setting.indexOf('=')
    const [key, value] = [setting.slice(0, equals), setting.slice(equals + 1)]
    if (key.toLowerCase() === `alias.${name}`) {
      if (value.startsWith('!')) lines(`${value.slice(1)} ${call.args.slice(1).join(' ')}`)
      else words(['git', ...value.split(/\s+/), ...call.raw.slice(call.raw.indexOf(name!) + 1)])
    }
  }
  // After its first word, -C is another option.
  const folder = splitArguments('git', call.raw.slice(0, call.end)).values['-C']
  const deeper =
    folder === undefined
      ? null
      : {
          ...at.base,
          cwd: folder.split('\n').reduce<string | null>((cwd, one) => resolve(one, { ...at.base, cwd }), at.base.cwd),
        }
  for (const one of call.args) if (one.startsWith('ext::')) lines(one.slice(5).replaceAll('%', '').trim())
  if (name === 'bisect' && call.args[1] === 'run') words(call.raw.slice(call.raw.indexOf('run') + 1))
  if (name === 'submodule' && call.args[1] === 'foreach')
    lines(
      call.args
        .slice(2)
        .filter((one) => !one.startsWith('-'))
        .join(' '),
    )
  if (deeper === null) return null
  const rest = call.raw.slice(call.end)
  reader.command(
    ['git', ...settings.flatMap((one) => ['-c', one]), ...rest],
    { ...at, via: at.via.slice(0, -1), base: deeper },
    nothing,
  )
  return {}
}

/** A program whose code calls a shell by `system` or similar. */
export const awk: Run = (call, { lines, scope, given }) => {
  const [code = ''] = call.args
  if (!/system|getline|\|/.test(code)) return null
  const read = readCode(code, 'awk')
  // A field of the input is a command.
  const runsInput = /system\s*\(\s*\$/.test(code)
  lines(
    ...(runsInput ? [given.stdin?.text ?? undefined] : []),
    ...read.lines,
    ...[...code.matchAll(/"([^"]{1,400})"\s*\|\s*getline|\|\s*"([^"]{1,400})"/g)].map((one) => one[1] ?? one[2]),
  )
  const targets = effectsOf(call).paths.flatMap(([word, access, recursive]): Target[] =>
    [targetOf(word, access, scope.base, recursive)].filter((one) => one !== null),
  )
  return {
    targets,
    code,
    ...(read.encoded && { code_from: 'decoded', opaque: true }),
    ...(runsInput && given.stdin && { code_from: given.stdin.source, opaque: given.stdin.text === null }),
  }
}

export const later: Run = (_, { lines, given }) => {
  lines(given.stdin?.text ?? undefined)
  return {}
}

export const crontab: Run = ({ args }, { lines, given }) => {
  const text = given.stdin?.text ?? given.stdin?.part
  if (args[0] !== '-' || text === undefined) return null
  for (const line of text.split('\n').slice(0, 50)) lines(line.replace(/^\s*(?:@\w+|(?:[\d*,/-]+\s+){5})/, ''))
  return {}
}

export const cmd: Run = ({ raw }, { lines }) => {
  const at = raw.findIndex((one) => /^\/\/?[ckCK]$/.test(one))
  if (at === -1) return null
  lines(
    raw
      .slice(at + 1)
      .join(' ')
      .replaceAll('\\', '/')
      .replaceAll('&', ';'),
  )
  return {}
}

const evaluates = /\b(?:iex|invoke-expression)\b|\[scriptblock\]::create/i
const downloads =
  /\b(?:i[wr][mr]|curl|wget|invoke-(?:webrequest|restmethod)|download(?:string|data)|start-bitstransfer)\b/i

export const powershell: Run = ({ raw }, { lines }) => {
  const at = raw.findIndex((one) => /^-e(?:nc?|ncodedcommand|c)?$/i.test(one))
  const text = at === -1 ? raw.join(' ') : fromBase64(raw[at + 1] ?? '')
  if (text !== null && evaluates.test(text) && downloads.test(text)) return { code_from: 'download', opaque: true }
  if (at === -1) return null
  lines(text ?? undefined)
  return { code_from: 'decoded', opaque: text === null }
}

export const packages: Run = ({ program, args, raw }, { words, lines }) => {
  const [verb] = args
  if (verb !== 'exec' && verb !== 'x' && verb !== 'dlx' && !(program === 'yarn' && /^(?:rimraf|shx)$/.test(verb ?? '')))
    return null
  const call = raw.findIndex((one) => one === '-c' || one === '--call')
  if (call !== -1) lines(raw[call + 1])
  else
    words(afterOptions(raw.slice(raw.indexOf(verb!) + (verb === 'rimraf' || verb === 'shx' ? 0 : 1)), '-p --package'))
  return {}
}

export const tmux: Run = ({ raw }, { lines }) => {
  const at = raw.findIndex((one) => one === 'send-keys' || one === 'send' || one === '-X')
  if (at === -1) return null
  lines(
    raw
      .slice(at + 1)
      .filter((one, index, all) => !/^(?:-\w+|Enter|C-m|^M)$/.test(one) && all[index - 1] !== '-t')
      .join(' '),
  )
  return {}
}

/** `make` with a makefile on the line. */
export const make: Run = ({ raw, values }, { lines, given, reader, at }) => {
  const file = values['-f'] ?? 'Makefile'
  const written = contentOf(reader.all, resolve(file, at.base))?.text
  const evaluated = raw.filter((one) => one.includes('=')).map((one) => one.replace(/^--eval=/, ''))
  const [shell, flags] = ['SHELL=', '.SHELLFLAGS='].map((name) =>
    raw.find((one) => one.startsWith(name))?.slice(name.length),
  )
  const before = shell === undefined || shells.has(shell.replace(/^.*\//, '')) ? '' : `${shell} ${flags ?? ''} `
  for (const text of [/^(?:-|\/dev\/stdin)$/.test(file) ? given.stdin?.text : written, ...evaluated])
    for (const one of (text ?? '')
      .replace(/\$\((\w+)\)/g, '$$$1')
      .replaceAll('$$', '$')
      .split('\n')) {
      const recipe = /^(?:[^\s#:=]{1,80} ?:[^;=]{0,200};|\t)\s*[@+-]{0,3}(.+)$/.exec(one)?.[1]
      if (recipe !== undefined) lines(`${before}${recipe}`)
      for (const inner of one.matchAll(/\$\(shell ([^)]{1,400})\)/g)) reader.line(inner[1] ?? '', at)
    }
  return null
}

/** How programs with a language or a prompt of their own run a line of a shell: in an argument, or in what they read. */
const escapes: readonly [program: RegExp, line: RegExp][] = [
  [/^(?:sqlite3|litecli|duckdb)$/, /^[ \t]{0,40}\.(?:shell|system|sh)[ \t]{1,40}(.+)$/gm],
  [/^(?:sqlite3|litecli|duckdb)$/, /^[ \t]{0,40}\.(?:output|once|import)[ \t]{1,40}"?\|([^"\n]+)/gm],
  [
    /^(?:psql|pgcli|usql)$/,
    /\\![ \t]{0,40}([^\n]+)|\b(?:to|from)[ \t]{1,40}program[ \t]{1,40}'([^']+)'|\\(?:o|g|copy[^|\n]*)[ \t]{0,40}\|[ \t]{0,40}([^\n]+)/gim,
  ],
  [/^(?:mysql|mariadb|mycli)$/, /(?:^|;)[ \t]{0,40}(?:\\!|system)[ \t]{1,40}([^\n;]+)/gim],
  [/^(?:gdb|lldb|cgdb|pdb|r2|radare2)$/, /^[ \t]{0,40}(?:shell|platform shell|!|make)[ \t]{0,40}(.+)$/gm],
  [
    /^(?:ftp|sftp|lftp|mail|mailx|mutt|telnet|bc|dc|gnuplot|units|pry|cadaver|tftp|smbclient|psftp|ghci|octave|gp|bpython|ipython\d?)$/,
    /^[ \t]{0,40}(?:~!|:!|!!?|shell|system)[ \t]{0,40}(.+)$/gm,
  ],
  [/^(?:tclsh|wish|expect)$/, /(?:^|[;\n[{"])[ \t]{0,40}(?:spawn|exec|system)[ \t]{1,40}([^\n;\]]+)/g],
  [
    /^(?:vi|vim|nvim|ex|view|vimdiff|ed|red|less|more|man|nano|emacs)$/,
    /^\+?:?[ \t]{0,40}(?:sil(?:ent)?!? )?(?:\d+|%)?(?:r|w)?[ \t]{0,40}!(.+)$/gm,
  ],
  [/^g?sed$/, /(?:^|[;\n{])[ \t]{0,40}(?:\d{1,9}|\$|\/[^/\n]{0,80}\/)?e[ \t]{1,40}([^\n]+)$/gm],
  [/^(?:jq|yq)$/, /\bsystem[ \t]{0,40}\(?"([^"]+)"/g],
  [/^(?:rsync|scp|fzf|sk|kubectl|ssh|scp|sftp|autossh|mosh)$/, /(?:execute|become|reload)(?:-silent)?[(:]([^)\n]+)/gm],
]

/** `e` of sed runs what it reads. */
export const sed: Run = ({ raw }, { lines, given }) => {
  lines(
    ...raw.flatMap(
      (one) =>
        /^s([^\s\\])(?:\\.|(?!\1)[^\\]){0,400}\1(.{0,400})\1[gpI\d]*e$/s.exec(one)?.[2]?.replace(/\\(.)/g, '$1') ?? [],
    ),
  )
  if (
    given.stdin === null ||
    !raw.some((one) =>
      /^(?:-\w*e)?(?:.*[;}])?\s*(?:\d+|\$)?(?:s([/|#,]).{0,400}\1[gpI\d]{0,4}e|e)\s*(?:;|$)/.test(one.slice(0, 1_000)),
    )
  )
    return null
  lines(given.stdin.text ?? given.stdin.part)
  return { code_from: given.stdin.source, opaque: given.stdin.text === null }
}

/** Lines of a shell that a program runs by the escapes of its own language. */
export const escapedIn = ({ program, raw }: Call, input: string | null): string[] => [
  ...escapes.flatMap(([name, line]) =>
    name.test(program)
      ? [...raw, input ?? ''].flatMap((text) =>
          [...text.slice(0, 4_000).matchAll(line)].map((one) => one.slice(1).find((part) => part !== undefined) ?? ''),
        )
      : [],
  ),
]
