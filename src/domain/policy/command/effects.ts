/** What programs do to the paths among their arguments, and which hosts they connect to. */
import {
  archive,
  type Call,
  copy,
  dd,
  devices,
  type Effect,
  type Effects,
  every,
  has,
  inPlace,
  move,
  permissions,
  readFrom,
  remove,
  removeWindows,
  scripted,
  search,
} from './effects-files.ts'
import { git } from './effects-git.ts'
import { cloudFiles, connect, download, sends, transfer } from './effects-network.ts'

export { type Call, has, sends }

const all = (names: string, effect: Effect): Record<string, Effect> =>
  Object.fromEntries(names.split(' ').map((one) => [one, effect]))

const table: Record<string, Effect> = {
  ...all('rm unlink srm trash rimraf grm del-cli', remove),
  ...all('del erase rd remove-item ri', removeWindows),
  ...all('cp gcp install ditto', copy),
  ...all('mv gmv move move-item', move),
  ...all('sed gsed perl ruby', inPlace),
  ...all('chmod chown chgrp setfacl icacls takeown chattr', permissions),
  ...all('curl wget http https xh aria2c iwr irm invoke-webrequest invoke-restmethod', download),
  ...all('sftp ssh nc ncat netcat socat telnet ftp dig nslookup host ping', connect),
  ...all('tar gtar bsdtar', archive),
  ...all(
    'wipefs fdisk sfdisk cfdisk gdisk sgdisk parted blkdiscard badblocks mkswap hdparm nvme cryptsetup mdadm pvcreate zpool',
    devices,
  ),
  ...all(
    'cat bat batcat less more head tail tac nl strings xxd od hexdump base64 base32 sort uniq cut paste diff type get-content gc fold rev gzip nano code open pbcopy gpg',
    readFrom(0),
  ),
  ...all('vi vim nvim ex ed red', scripted),
  ...all('grep egrep fgrep rg ag awk gawk mawk jq', readFrom(1)),
  ...all('gsutil aws gcloud', cloudFiles),
  ...all('shred truncate sponge set-content out-file clear-content', every('overwrite')),
  wipe: every('delete', true),
  ...all(
    'scrub rmtree trash-put gvfs-trash bleachbit tmpwatch tmpreaper fdupes jdupes rmlint emptydir delete recycle kioclient5',
    every('delete', true),
  ),
  gio: ({ args }, add) => {
    if (/^(?:trash|remove)$/.test(args[0] ?? '')) for (const one of args.slice(1)) add(one, 'delete', true)
  },
  rclone: ({ args }, add) => {
    const [verb, ...paths] = args
    if (/^(?:delete|deletefile|purge|rmdirs?|cleanup)$/.test(verb ?? ''))
      for (const one of paths) add(one, 'delete', true)
    if (verb === 'sync') add(paths[1] ?? '', 'delete', true)
    if (verb === 'move') add(paths[0] ?? '', 'delete', true)
    if (/^(?:copy|copyto|sync|move|moveto|cat)$/.test(verb ?? '') && /^:?[\w-]+(?:,[^:]*)?:/.test(paths[1] ?? ''))
      add(paths[0] ?? '', 'send', true)
  },
  ln: (call, add) => {
    const [from, to] = call.args
    if (to !== undefined) add(to, from === '/dev/null' && has(call, '-f') ? 'overwrite' : 'write')
  },
  robocopy: ({ args, raw }, add) => {
    if (raw.some((one) => /^\/(?:mir|purge)$/i.test(one))) add(args[1] ?? '', 'delete', true)
  },
  tee: (call, add) => {
    for (const one of call.args) add(one, has(call, '-a') ? 'write' : 'overwrite')
  },
  touch: every('write'),
  dd,
  scp: transfer,
  rsync: transfer,
  find: search,
  gfind: search,
  zip: (call, add) => {
    for (const [at, one] of call.args.entries())
      add(one, at === 0 ? 'write' : has(call, '-m', '--move') ? 'delete' : 'read', true)
  },
  '7z': (call, add) => {
    for (const one of call.args.slice(2)) add(one, has(call, '-sdel') ? 'delete' : 'read', true)
  },
  unzip: (call, add) => {
    if (call.args[0]) add(call.args[0], 'read')
  },
  openssl: (call, add) => {
    for (const name of ['-in', '-inkey'])
      if (call.values[name]) add(call.values[name]!, name === '-in' && call.args[0] !== 'enc' ? 'write' : 'read')
  },
  yq: (call, add) => {
    for (const one of call.args.slice(1)) add(one, has(call, '-i', '--inplace') ? 'write' : 'read')
  },
  git,
  gh: (call, add, host) => {
    if (call.args[0] === 'gist' && call.args[1] === 'create') {
      host('gist.github.com')
      for (const one of call.args.slice(2)) add(one, 'send')
    }
  },
  sqlite3: (call, add) => {
    if (call.args[0])
      add(
        call.args[0],
        /^\s*(?:select|explain|pragma|\.(?!import|restore))/i.test(call.args[1] ?? '') ? 'read' : 'write',
      )
  },
  'add-content': every('write'),
}

/** Whether it is known what a program does to files. */
export const hasEffect = (program: string): boolean => Object.hasOwn(table, program)

/** The effects of a call. Programs that are not known have none. */
export function effectsOf(call: Call): Effects {
  const found: Effects = { paths: [], hosts: [] }
  const effect = Object.hasOwn(table, call.program)
    ? table[call.program]!
    : /^(?:mkfs|newfs|mke2fs)(?:\.|$)/.test(call.program)
      ? devices
      : null
  effect?.(
    call,
    (word, access, recursive = false) => {
      if (found.paths.length < 128) found.paths.push([word, access, recursive])
    },
    (name) => {
      if (found.hosts.length < 32) found.hosts.push(name)
    },
  )
  return found
}
