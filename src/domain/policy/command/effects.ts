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
  search,
  secondOf,
} from './effects-files.ts'
import { git } from './effects-git.ts'
import { cloudFiles, connect, download, sends, transfer } from './effects-network.ts'

export { type Call, has, sends }

const table: Record<string, Effect> = {
  rm: remove,
  unlink: remove,
  srm: remove,
  trash: remove,
  rimraf: remove,
  grm: remove,
  del: removeWindows,
  erase: removeWindows,
  rd: removeWindows,
  'remove-item': removeWindows,
  ri: removeWindows,
  'del-cli': remove,
  shred: every('overwrite'),
  truncate: every('overwrite'),
  wipe: every('delete', true),
  ...Object.fromEntries(
    'scrub rmtree trash-put gvfs-trash bleachbit tmpwatch tmpreaper fdupes jdupes rmlint emptydir delete recycle kioclient5'
      .split(' ')
      .map((one) => [one, every('delete', true)]),
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
  cp: copy,
  gcp: copy,
  install: copy,
  ditto: copy,
  mv: move,
  gmv: move,
  move: move,
  'move-item': move,
  ln: secondOf((to, add) => add(to, 'write')),
  tee: (call, add) => {
    for (const one of call.args) add(one, has(call, '-a') ? 'write' : 'overwrite')
  },
  sponge: every('overwrite'),
  touch: every('write'),
  dd,
  sed: inPlace,
  gsed: inPlace,
  perl: inPlace,
  ruby: inPlace,
  chmod: permissions,
  chown: permissions,
  chgrp: permissions,
  setfacl: permissions,
  icacls: permissions,
  takeown: permissions,
  chattr: permissions,
  curl: download,
  wget: download,
  http: download,
  https: download,
  xh: download,
  aria2c: download,
  iwr: download,
  irm: download,
  'invoke-webrequest': download,
  'invoke-restmethod': download,
  scp: transfer,
  rsync: transfer,
  sftp: connect,
  ssh: connect,
  nc: connect,
  ncat: connect,
  netcat: connect,
  socat: connect,
  telnet: connect,
  ftp: connect,
  dig: connect,
  nslookup: connect,
  host: connect,
  ping: connect,
  find: search,
  gfind: search,
  tar: archive,
  gtar: archive,
  bsdtar: archive,
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
  wipefs: devices,
  fdisk: devices,
  sfdisk: devices,
  cfdisk: devices,
  gdisk: devices,
  sgdisk: devices,
  parted: devices,
  blkdiscard: devices,
  badblocks: devices,
  mkswap: devices,
  hdparm: devices,
  nvme: devices,
  cryptsetup: devices,
  mdadm: devices,
  pvcreate: devices,
  zpool: devices,
  cat: readFrom(0),
  bat: readFrom(0),
  batcat: readFrom(0),
  less: readFrom(0),
  more: readFrom(0),
  head: readFrom(0),
  tail: readFrom(0),
  tac: readFrom(0),
  nl: readFrom(0),
  strings: readFrom(0),
  xxd: readFrom(0),
  od: readFrom(0),
  hexdump: readFrom(0),
  base64: readFrom(0),
  base32: readFrom(0),
  sort: readFrom(0),
  uniq: readFrom(0),
  cut: readFrom(0),
  paste: readFrom(0),
  diff: readFrom(0),
  type: readFrom(0),
  'get-content': readFrom(0),
  gc: readFrom(0),
  fold: readFrom(0),
  rev: readFrom(0),
  gzip: readFrom(0),
  vi: readFrom(0),
  vim: readFrom(0),
  nano: readFrom(0),
  code: readFrom(0),
  open: readFrom(0),
  pbcopy: readFrom(0),
  gpg: readFrom(0),
  openssl: (call, add) => {
    for (const name of ['-in', '-inkey'])
      if (call.values[name]) add(call.values[name]!, name === '-in' && call.args[0] !== 'enc' ? 'write' : 'read')
  },
  grep: readFrom(1),
  egrep: readFrom(1),
  fgrep: readFrom(1),
  rg: readFrom(1),
  ag: readFrom(1),
  awk: readFrom(1),
  gawk: readFrom(1),
  mawk: readFrom(1),
  jq: readFrom(1),
  yq: (call, add) => {
    for (const one of call.args.slice(1)) add(one, has(call, '-i', '--inplace') ? 'write' : 'read')
  },
  git,
  gsutil: cloudFiles,
  aws: cloudFiles,
  gcloud: cloudFiles,
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
  'set-content': every('overwrite'),
  'out-file': every('overwrite'),
  'clear-content': every('overwrite'),
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
