/** Programs that run commands which they take from places of their own: `xargs`, `find -exec`, `docker exec`, aliases of git, `awk` … */
import type { Call } from './effects.ts'
import { effectsOf } from './effects.ts'
import { container, kubectl } from './inside-containers.ts'
import { afterOptions, type Inside, type Run } from './inside-run.ts'
import { awk, cmd, crontab, escapedIn, git, later, make, packages, powershell, sed, tmux } from './inside-tools.ts'
import { found, noStream } from './output.ts'
import { resolve, targetOf, unknown } from './paths.ts'
import { contentOf, type Given, inner, nothing, type Reader, type Scope } from './scope.ts'

const xargs: Run = ({ raw }, { given, words, reader, scope }) => {
  const replace = raw.findIndex((one) => /^-(?:I|i|-replace)/.test(one))
  const marker =
    replace === -1
      ? null
      : /^-I$/.test(raw[replace]!)
        ? (raw[replace + 1] ?? '{}')
        : raw[replace]!.replace(/^-(?:I|i|-replace=?)/, '') || '{}'
  const command = afterOptions(
    raw,
    '-I -n -P -L -d -E -s -a -J -R -S --max-args --max-procs --delimiter --arg-file --max-lines --process-slot-var --max-chars',
  )
  const file = raw.findIndex((one) => /^(?:-a|--arg-file)$/.test(one))
  const input = file === -1 ? given.stdin : (contentOf(reader.all, resolve(raw[file + 1] ?? '', scope.base)) ?? null)
  const { text = null, paths = [] } = input ?? {}
  const items =
    paths.length > 0
      ? paths
      : text === null
        ? [unknown]
        : text
            .split(/[\s\0]+/)
            .filter(Boolean)
            .slice(0, 50)
  if (command.length === 0) return {}
  const next = { ...nothing, stdin: null, substituted: input === null ? [] : [input] }
  if (marker === null) words([...command, ...(items.length > 0 ? items : [unknown])], next)
  else
    for (const item of items.slice(0, 8))
      words(
        command.map((one) => one.replaceAll(marker, item)),
        next,
      )
  return {}
}

const find: Run = (call, { words, scope }) => {
  const { raw } = call
  const places = found(raw)
  const targets = effectsOf(call).paths.flatMap(
    ([word, access, recursive]) => targetOf(word, access, scope.base, recursive) ?? [],
  )
  for (let at = 0; at < raw.length; at++) {
    if (!/^-(?:exec|execdir|ok|okdir)$/.test(raw[at]!)) continue
    const rest = raw.slice(at + 1)
    const end = rest.findIndex((one) => one === ';' || one === '+')
    const command = end === -1 ? rest : rest.slice(0, end)
    for (const place of places.slice(0, 4)) words(command.map((one) => one.replaceAll('{}', place)))
  }
  return { targets }
}

const fd: Run = ({ raw, args }, { words }) => {
  const at = raw.findIndex((one) => /^(?:-x|-X|--exec|--exec-batch)$/.test(one))
  if (at === -1) return null
  const [pattern = '.', ...folders] = args.slice(
    0,
    args.length - raw.slice(at + 1).filter((one) => args.includes(one)).length,
  )
  const found = (folders.length > 0 ? folders : ['.']).map((one) => `${one}/${pattern === '.' ? '*' : unknown}`)
  const command = raw.slice(at + 1)
  const filled = command.some((one) => one.includes('{')) ? command : [...command, '{}']
  for (const place of found.slice(0, 4)) words(filled.map((one) => one.replaceAll('{}', place)))
  return {}
}

const parallel: Run = ({ raw }, { words, lines, given }) => {
  const rest = afterOptions(
    raw,
    '-j --jobs -a --arg-file -S --sshlogin --joblog --delay --timeout --retries -n -N --results',
  )
  const { text = null, paths = [] } = given.stdin ?? {}
  const input = paths.length > 0 ? paths : text === null ? [unknown] : text.split('\n').filter(Boolean)
  const split = rest.findIndex((one) => /^:::?:?\+?$/.test(one))
  const [command, items] = split === -1 ? [rest, input] : [rest.slice(0, split), rest.slice(split + 1)]
  if (command.length === 0) lines(...items)
  for (const item of items.slice(0, 16)) {
    const filled = command.some((one) => one.includes('{}'))
      ? command.map((one) => one.replaceAll('{}', item))
      : [...command, item]
    if (filled.length > 0 && filled[0]!.includes(' ')) lines(filled.join(' '))
    else if (filled.length > 0) words(filled)
  }
  return {}
}

/** `nc -e` and `socat EXEC:` give a program to the other end. */
const network: Run = ({ program, raw }, { lines }) => {
  const codes =
    program === 'socat'
      ? raw.map((one) => /(?:^|,)(?:exec|system):["']?([^,"']+)/i.exec(one)?.[1])
      : raw.map((_, at) => (/^(?:-[a-z]*[ec]|--(?:sh-)?exec)$/.test(raw[at - 1] ?? '') ? raw[at] : undefined))
  const code = codes.find((one) => one !== undefined)
  if (code === undefined) return null
  lines(code)
  return { code_from: 'download', opaque: true }
}

const table: Record<string, Run> = {
  nc: network,
  ncat: network,
  netcat: network,
  socat: network,
  xargs,
  find,
  gfind: find,
  fd,
  fdfind: fd,
  parallel,
  docker: container,
  podman: container,
  nerdctl: container,
  'docker-compose': container,
  kubectl,
  oc: kubectl,
  k: kubectl,
  git,
  awk,
  gawk: awk,
  mawk: awk,
  nawk: awk,
  sed,
  gsed: sed,
  at: later,
  batch: later,
  crontab,
  cmd,
  powershell,
  pwsh: powershell,
  npm: packages,
  pnpm: packages,
  yarn: packages,
  bun: packages,
  tmux,
  screen: tmux,
  make,
  gmake: make,
}

/** Reads what a program runs by itself; null if it is like any other program. */
export function runInside(reader: Reader, call: Call, scope: Scope, given: Given): Inside | null {
  for (const line of escapedIn(call, given.stdin?.text ?? null))
    reader.line(line, inner(scope, { via: [...scope.via, call.program] }))
  const run = Object.hasOwn(table, call.program) ? table[call.program]! : undefined
  if (run === undefined) return null
  const at = inner(scope, { via: [...scope.via, call.program === 'find' ? 'find -exec' : call.program] })
  const more = run(call, {
    reader,
    scope,
    given,
    at,
    lines(...texts) {
      for (const text of texts) if (text !== undefined && text.trim() !== '') reader.line(text, inner(at))
    },
    words(words, next = nothing) {
      if (words.length > 0) reader.command(words, inner(at), next)
    },
  })
  if (more === null) return null
  return {
    more,
    output:
      call.program === 'find'
        ? { ...noStream, from: ['find', ...(given.stdin?.from ?? [])], paths: found(call.raw) }
        : { ...noStream, from: [call.program, ...(given.stdin?.from ?? [])] },
  }
}
