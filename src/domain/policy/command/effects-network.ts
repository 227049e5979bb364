/** Which files programs send, and which hosts they connect to. */
import { type Call, type Effect, has, last, remote } from './effects-files.ts'
import { isDownloader } from './output.ts'

const address = (word: string): string | null =>
  /^(?:[a-z][a-z\d+.-]*:\/\/)?(?:[^@/\s]*@)?([\w.-]+\.[a-z]{2,}|localhost|\d{1,3}(?:\.\d{1,3}){3}|\[[\da-f:]+\])(?:[:/?#]|$)/i.exec(
    word,
  )?.[1] ?? null

const sentFiles = (text: string | undefined): string[] =>
  (text ?? '').split('\n').flatMap((one) => {
    const at = /^(?:[^=@<]*=|[\w-]+(?==?@))?=?[@<]([^;]+)/.exec(one)?.[1]
    return at === undefined || at === '-' ? [] : [at]
  })

export const download: Effect = (call, add, host) => {
  for (const one of call.args)
    if (one.startsWith('file:')) add(one, 'read')
    else if (/^https?$|^xh$/.test(call.program) && /^[\w.-]+:?=?@./.test(one))
      add(one.slice(one.indexOf('@') + 1), 'send')
  for (const one of call.args) host(address(one) ?? '?')
  for (const one of (call.values['--url'] ?? '').split('\n')) if (one !== '') host(address(one) ?? '?')
  for (const name of ['-d', '--data-binary', '--data-urlencode', '--data-ascii', '--json', '-F', '--data-raw']) {
    if (name === '--data-raw') continue
    for (const one of sentFiles(call.values[name])) add(one, 'send')
  }
  for (const name of ['-T', '--post-file', '--body-file'])
    for (const one of (call.values[name] ?? '').split('\n')) if (one !== '' && one !== '-') add(one, 'send')
  for (const one of (call.program === 'wget' ? call.values['-O'] : call.values['-o'])?.split('\n') ?? [])
    if (one !== '-') add(one, 'write')
}

export const transfer: Effect = (call, add, host) => {
  const to = last(call.args)
  if (to === undefined) return
  const away = remote(to)
  if (away !== null) host(away)
  for (const one of call.args.slice(0, -1)) {
    const from = remote(one)
    if (from !== null) host(from)
    else add(one, away === null ? 'read' : 'send', true)
  }
  if (has(call, '--remove-source-files')) for (const one of call.args.slice(0, -1)) add(one, 'delete', true)
  if (away !== null) return
  const empties =
    call.program === 'rsync' && call.flags.some((one) => one.startsWith('--delete')) && !has(call, '--dry-run')
  add(empties ? to.replace(/\/?$/, '/*') : to, empties ? 'delete' : 'write', empties)
}

/** The objects that a cloud's command for files copies. */
export const cloudFiles: Effect = (call, add, host) => {
  const [, verb] = call.args
  const words = call.args.filter((one) => !/^(?:s3|storage|cp|mv|sync|rsync|rm|ls)$/.test(one))
  const to = last(words)
  if (
    to === undefined ||
    !/^(?:s3|gs|azure|https?):\/\//.test(to) ||
    !/^(?:cp|mv|sync|rsync)$/.test(verb ?? call.args[0] ?? '')
  )
    return
  host(to)
  for (const one of words.slice(0, -1)) if (!/^\w+:\/\//.test(one)) add(one, 'send', true)
}

export const connect: Effect = (call, _, host) => {
  const first = call.args.find((one) => address(one) !== null) ?? call.args[0]
  if (first !== undefined) host(address(first) ?? first)
}

/** Programs that send what they read to another machine. */
export const sends = ({ program, args, flags, values }: Call): boolean => {
  if (
    /^(?:nc|ncat|netcat|socat|telnet|ftp|sftp|sendmail|mail|mailx|mutt|ssh|scp|rsync|croc|wormhole|transfer|ngrok|rclone|dig|nslookup|host|ping|gist)$/.test(
      program,
    )
  )
    return true
  if (program === 'gh') return args[0] === 'gist' || args[0] === 'issue' || args[0] === 'pr'
  if (/^(?:aws|gsutil|gcloud|az|s3cmd|mc)$/.test(program))
    return args.includes('cp') || args.includes('mv') || args.includes('sync') || args.includes('upload')
  return isDownloader(program) && (flags.length > 0 || args.length > 0 || Object.keys(values).length > 0)
}
