/** What programs do to the files among their arguments. */
import type { Access } from './model.ts'
import type { Split } from './options.ts'
import { found } from './output.ts'

/** A call of a program, before its paths are resolved. */
export interface Call extends Split {
  program: string
  /** All arguments as they were given. */
  raw: readonly string[]
}

export interface Effects {
  paths: [word: string, access: Access, recursive: boolean][]
  hosts: string[]
}

export type Effect = (
  call: Call,
  add: (word: string, access: Access, recursive?: boolean) => void,
  host: (name: string) => void,
) => void

export const has = ({ flags }: Call, ...names: string[]): boolean => names.some((one) => flags.includes(one))
export const last = (all: readonly string[]): string | undefined => all.at(-1)
/** `host:path`, but not a Windows drive. */
export const remote = (word: string): string | null =>
  /^(?:[\w.-]+@)?[\w.-]{2,}:(?!\\)/.exec(word)?.[0].slice(0, -1) ??
  (/^(?:rsync|ssh|sftp|scp):\/\/([^/]+)/.exec(word)?.[1] || null)

export const every =
  (access: Access, recursive?: boolean): Effect =>
  (call, add) => {
    for (const one of call.args) add(one, access, recursive)
  }
export const readFrom =
  (skip: number): Effect =>
  (call, add) => {
    for (const one of call.args.slice(skip)) add(one, 'read', has(call, '-r', '-R'))
  }

export const remove: Effect = (call, add) => {
  const recursive =
    has(call, '-r', '-R', '--recursive', '-d') ||
    call.program === 'trash' ||
    call.program === 'rimraf' ||
    call.program === 'srm'
  for (const one of call.args) add(one, 'delete', recursive)
}

/** `del`, `rd` and `Remove-Item` of Windows. */
export const removeWindows: Effect = ({ raw, flags }, add) => {
  const recursive = raw.some((one) => /^(?:\/s|-r\w*|-recurse)$/i.test(one)) || flags.includes('-Recurse')
  for (const one of raw) {
    if (/^(?:\/[a-z]|-\w+)$/i.test(one) || /^(?:SilentlyContinue|Stop|Ignore|Continue)$/.test(one)) continue
    for (const path of one.split(','))
      add(path.replaceAll('\\', '/').replace(/^\$(?:env:USERPROFILE|HOME)|%USERPROFILE%/i, '~'), 'delete', recursive)
  }
}

export const copy: Effect = (call, add) => {
  const into = call.values['-t']
  const sources = into === undefined ? call.args.slice(0, -1) : call.args
  const to = into ?? last(call.args)
  if (to === undefined || (into === undefined && call.args.length < 2)) return
  for (const one of sources) add(one, 'read', has(call, '-r'))
  add(
    to,
    sources.length === 1 && sources[0] === '/dev/null' ? 'overwrite' : /^\/dev\//.test(to) ? 'overwrite' : 'write',
  )
}

export const move: Effect = (call, add) => {
  const into = call.values['-t']
  const to = into ?? last(call.args)
  if (to === undefined) return
  // Temporary folders are emptied.
  const isLost = /^\/(?:dev\/null$|(?:private\/|var\/)?tmp(?:\/|$)|dev\/shm)/.test(to)
  for (const one of into === undefined ? call.args.slice(0, -1) : call.args) add(one, isLost ? 'delete' : 'write', true)
  add(to, 'write')
}

export const permissions: Effect = (call, add) => {
  // The mode may look like an option, as in `chmod -x`.
  const given = has(call, '--reference')
    ? call.args
    : call.args.slice(call.program === 'chmod' && call.raw.some((one) => /^-[rwxXst]+$/.test(one)) ? 0 : 1)
  for (const one of given) add(one, 'permissions', has(call, '-R', '--recursive'))
}

export const search: Effect = (call, add) => {
  const { raw: whole } = call
  // What -exec runs is a command of its own.
  const raw: string[] = []
  for (let at = 0; at < whole.length; at++) {
    if (/^-(?:exec|execdir|ok|okdir)$/.test(whole[at]!)) while (at < whole.length && !/^[;+]$/.test(whole[at]!)) at++
    else raw.push(whole[at]!)
  }
  if (raw.includes('-delete')) {
    const junk = raw.some(
      (one, at) =>
        /^-i?name$/.test(one) &&
        /^(?:\.DS_Store|\*\.py[co]|__pycache__|Thumbs\.db|\*\.sw[op]|\*~|\.\*\.sw\?|\*\.orig|\*\.rej|\._\*|\*\.class)$/.test(
          raw[at + 1] ?? '',
        ),
    )
    if (!junk) for (const one of found(raw)) add(one, 'delete', true)
  }
  for (const [at, one] of raw.entries()) if (/^-(?:fprintf?|fls)$/.test(one)) add(raw[at + 1] ?? '', 'overwrite')
}

export const archive: Effect = (call, add) => {
  const old = /^[A-Za-z]+$/.test(call.raw[0] ?? '') ? call.raw[0]! : ''
  const isCreating = has(call, '-c', '--create') || old.includes('c')
  const file = call.values['-f'] ?? (old.includes('f') ? call.raw[1] : undefined)
  const folders = call.values['-C']?.split('\n')
  const rest = call.args.flatMap((one) =>
    one === old || one === file
      ? []
      : /^[/~]/.test(one)
        ? [one]
        : (folders?.map((folder) => `${folder}/${one}`) ?? [one]),
  )
  if (isCreating) {
    for (const one of rest) add(one, has(call, '--remove-files') ? 'delete' : 'read', true)
    if (file !== undefined && file !== '-') add(file, 'write')
  } else {
    if (file !== undefined) add(file, 'read')
    if (call.values['-C'] !== undefined) add(call.values['-C'], 'write')
  }
}

export const dd: Effect = ({ raw }, add) => {
  for (const one of raw) {
    if (one.startsWith('of=')) add(one.slice(3), 'overwrite')
    if (one.startsWith('if=')) add(one.slice(3), 'read')
  }
}

export const devices: Effect = ({ raw }, add) => {
  for (const one of raw) if (/^\/dev\/|^[A-Za-z]:$|^\0$/.test(one)) add(one, 'overwrite')
}

export const inPlace: Effect = (call, add) => {
  const files =
    has(call, '-e', '-f') || call.program === 'perl' || call.program === 'ruby' ? call.args : call.args.slice(1)
  const edits = call.raw.some((one) => /^-\w*i(?:\.\w+)?$|^--in-place|^-[np]?i|^-pi/.test(one))
  const empties = call.raw.some((one) => /^(?:1,\$)?d$/.test(one))
  for (const one of files)
    add(one, !edits ? 'read' : empties ? 'delete' : /\.git\/hooks\//.test(one) ? 'overwrite' : 'write')
}

/** Editors, which write by commands of options or of their input. */
export const scripted: Effect = (call, add) => {
  const empties = call.raw.some((one) => /(?:%|1,\$)d/.test(one))
  const writes = /^e[dx]$/.test(call.program) || call.raw.some((one) => /^\+?(?:.*[|:])?(?:wq?a?|x|up)!?$/.test(one))
  for (const one of call.args) add(one, empties ? 'overwrite' : writes ? 'write' : 'read')
}
