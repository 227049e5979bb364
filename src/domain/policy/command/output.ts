/** What programs print, as far as their arguments say it: so that text that is sent into a shell can be read. */
import type { CodeSource, Target } from './model.ts'
import { unknown } from './paths.ts'

/** What a program reads from the one before it. */
export interface Stream {
  /** Null if it is only known at run time. */
  text: string | null
  source: CodeSource
  /** Programs that it passed through, the last one first. */
  from: string[]
  /** Secrets in it. */
  secrets: Target[]
  /** Words that stand for the paths that it lists; empty if it lists none. */
  paths: string[]
  /** The part of a text that is known, if not all of it is. */
  part?: string
}

export const noStream: Stream = { text: null, source: 'output', from: [], secrets: [], paths: [] }

const downloaders = new Set([
  'curl',
  'wget',
  'fetch',
  'aria2c',
  'http',
  'https',
  'xh',
  'lynx',
  'lwp-request',
  'get',
  'iwr',
  'irm',
  'invoke-webrequest',
  'invoke-restmethod',
  'nc',
  'ncat',
  'netcat',
  'socat',
  'telnet',
  'ftp',
  'gsutil',
  'dig',
])
export const isDownloader = (program: string): boolean => downloaders.has(program)
const decoders = new Set([
  'base64',
  'base32',
  'xxd',
  'uudecode',
  'openssl',
  'gpg',
  'rev',
  'tr',
  'gunzip',
  'zcat',
  'bunzip2',
  'xzcat',
  'unxz',
  'lz4',
  'zstd',
  'zstdcat',
  'od',
  'hexdump',
  'age',
  'sops',
  'ascii85',
  'basenc',
  'gzip',
  'iconv',
])
/** Programs whose output is their input, or a part of it. */
const passing = new Set([
  'cat',
  'tee',
  'head',
  'tail',
  'sort',
  'uniq',
  'tac',
  'pv',
  'sponge',
  'grep',
  'egrep',
  'sed',
  'cut',
  'awk',
  'nl',
  'fold',
  'column',
  'less',
  'more',
  'buffer',
  'unbuffer',
  'dos2unix',
  'xargs',
  'paste',
  'gzip',
  'bzip2',
  'xz',
  'zstd',
  'jq',
  'yq',
  'strings',
  'split',
  'tar',
  'gpg',
  'openssl',
  'base64',
  'xxd',
  'hexdump',
  'od',
  'rev',
  'tr',
  'gunzip',
  'zcat',
])

const escapes: Record<string, string> = {
  n: '\n',
  t: '\t',
  r: '\r',
  a: '\x07',
  b: '\b',
  f: '\f',
  v: '\v',
  '\\': '\\',
  e: '\x1b',
  "'": "'",
  '"': '"',
}
const unescaped = (text: string): string =>
  text.replace(
    /\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|0?([0-7]{1,3})|([ntrabfve\\'"]))/g,
    (_, hex, unicode, octal, letter) =>
      letter !== undefined
        ? escapes[letter]!
        : // What ends a word for xargs -0 ends a line here.
          String.fromCharCode(Number.parseInt(hex ?? unicode ?? octal, octal === undefined ? 16 : 8) || 10),
  )

function printf([format = '', ...values]: readonly string[]): string {
  const rest = [...values]
  let text = ''
  do {
    text += unescaped(format).replace(/%(?:%|[-+ #0]*\d{0,3}(?:\.\d{0,3})?([sdiubqxXoc]))/g, (whole, kind) =>
      kind === undefined ? '%' : whole && (kind === 'b' ? unescaped(rest.shift() ?? '') : (rest.shift() ?? '')),
    )
  } while (rest.length > 0 && /%[^%]/.test(format) && text.length < 65_536)
  return text
}

const printable = (text: string): string | null =>
  [...text].some((one) => one < '\t' || one === '\ufffd') ? null : text

/** Decodes base64, also in the form for UTF-16 that PowerShell takes. */
export function fromBase64(text: string): string | null {
  const clean = text.replace(/\s/g, '')
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(clean)) return null
  const bytes = Buffer.from(clean, 'base64')
  const wide = bytes.length > 3 && bytes[1] === 0 && bytes[3] === 0
  return printable(wide ? bytes.toString('utf16le') : bytes.toString('utf8'))
}
const fromHex = (text: string): string | null => {
  const clean = text.replace(/\s|0x|\\x/g, '')
  return /^(?:[0-9A-Fa-f]{2})+$/.test(clean) ? printable(Buffer.from(clean, 'hex').toString('utf8')) : null
}

const range = (set: string): string =>
  set.replace(/(\w)-(\w)/g, (whole, from: string, to: string) => {
    const [low, high] = [from.charCodeAt(0), to.charCodeAt(0)]
    return high - low > 0 && high - low < 64
      ? String.fromCharCode(...Array.from({ length: high - low + 1 }, (_, at) => low + at))
      : whole
  })

function translated(text: string, [from = '', to = '']: readonly string[], flags: readonly string[]): string | null {
  if (/^\[:/.test(from) || flags.includes('-c')) return null
  const [left, right] = [range(unescaped(from)), range(unescaped(to))]
  if (flags.includes('-d')) return [...text].filter((one) => !left.includes(one)).join('')
  if (right === '') return null
  return [...text].map((one) => (left.includes(one) ? (right[left.indexOf(one)] ?? right.at(-1)!) : one)).join('')
}

const known = (text: string | null): string | null => (text === null || text.includes(unknown) ? null : text)

/** What a program prints. @param read targets that it reads */
export function outputOf(
  program: string,
  raw: readonly string[],
  args: readonly string[],
  flags: readonly string[],
  input: Stream | null,
  secrets: Target[],
): Stream {
  const before = input ?? noStream
  const from = [program, ...before.from].slice(0, 16)
  const passed = passing.has(program) ? before.secrets : []
  const stream = (text: string | null, source: CodeSource, paths: string[] = []): Stream => ({
    text: known(text),
    source: known(text) === null && source === 'text' ? 'output' : source,
    from,
    secrets: [...secrets, ...passed],
    paths,
  })
  const given = before.text
  switch (program) {
    case 'echo': {
      const first = raw.findIndex((one) => !/^-[neE]+$/.test(one))
      const words = first === -1 ? [] : raw.slice(first)
      const isEscaped = raw.slice(0, raw.length - words.length).some((one) => one.includes('e'))
      const text = words.join(' ')
      return stream(`${isEscaped ? unescaped(text) : text}\n`, 'text', words)
    }
    case 'printf':
      return stream(printf(raw[0] === '--' ? raw.slice(1) : raw), 'text', raw.slice(1))
    case 'base64':
    case 'openssl': {
      const isDecoding = flags.some((one) => one === '-d' || one === '--decode' || one === '-D')
      if (isDecoding)
        return stream(
          given === null || args.length > (program === 'openssl' ? 1 : 0) ? null : fromBase64(given),
          'decoded',
        )
      return stream(null, before.source === 'download' ? 'download' : 'output')
    }
    case 'xxd':
      return stream(
        flags.includes('-r') && given !== null ? fromHex(given) : null,
        flags.includes('-r') ? 'decoded' : 'output',
      )
    case 'rev':
      return stream(
        given === null
          ? null
          : given
              .split('\n')
              .map((line) => [...line].reverse().join(''))
              .join('\n'),
        'decoded',
      )
    case 'tr':
      return stream(
        given === null ? null : translated(given, args, flags),
        before.source === 'text' ? 'decoded' : before.source,
        before.paths,
      )
    case 'yes':
      return stream('y\ny\n', 'text')
    case 'ls':
    case 'get-childitem':
    case 'gci':
      return stream(null, 'output', args.length === 0 ? ['./*'] : args.map((one) => `${one}/*`))
    case 'find':
    case 'fd':
      return stream(null, 'output', program === 'find' ? found(raw) : [])
    case 'kubectl':
    case 'oc':
      return stream(null, 'output', args[0] === 'get' && args[1] ? [`${args[1]}/${unknown}`] : [])
  }
  if (passing.has(program)) {
    const isPlain = program === 'cat' || program === 'tee' || program === 'sponge'
    const hasFiles = program === 'cat' && args.some((one) => one !== '-')
    if (isPlain && !hasFiles) return stream(given, before.source, before.paths)
    const source =
      decoders.has(program) && flags.some((one) => /^-(?:d|D|r|-decode|-decompress|-decrypt)$/.test(one))
        ? 'decoded'
        : before.source === 'text'
          ? 'output'
          : before.source
    return stream(
      null,
      program === 'cat' && hasFiles && before.from.length === 0 ? 'file' : source,
      /^(?:sort|uniq|head|tail)$/.test(program) ? before.paths : [],
    )
  }
  if (downloaders.has(program)) return stream(null, 'download')
  return stream(null, decoders.has(program) ? 'decoded' : 'output')
}

/** The places where find looks, if nothing but the kind of file narrows what it finds. */
export function found(raw: readonly string[]): string[] {
  const start = raw.findIndex((one) => /^[-!(]/.test(one) && !/^-[HLPO]/.test(one))
  const places = (start === -1 ? raw : raw.slice(0, start)).filter((one) => !/^-[HLPO]/.test(one))
  const tests = start === -1 ? [] : raw.slice(start)
  const isNarrow = tests.some(
    (one, at) =>
      /^-(?:i?name|i?path|i?wholename|i?regex|[acm](?:time|min)|newer\w*|size|user|group|perm|empty|inum|samefile|links)$/.test(
        one,
      ) &&
      !/^(?:\*|\.\*)$/.test(tests[at + 1] ?? '') &&
      !/^(?:!|-not)$/.test(tests[at - 1] ?? ''),
  )
  const all = places.length === 0 ? ['.'] : places
  return isNarrow ? all.map((one) => `${one}/${unknown}`) : all.map((one) => `${one}/*`)
}
