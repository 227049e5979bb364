/** What programs print, as far as their arguments say it: so that text that is sent into a shell can be read. */
import type { CodeSource, Target } from './model.ts'
import { unknown } from './paths.ts'
import { fromBase64, fromHex, printf, substituted, translated, unescaped } from './texts.ts'

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
  /** It is an edited script: to run it is to run that file. */
  script?: boolean
}

export const noStream: Stream = { text: null, source: 'output', from: [], secrets: [], paths: [] }

/** Outputs one after the other. */
export const joined = (a: Stream | null, b: Stream): Stream =>
  a === null
    ? b
    : {
        text: a.text === null || b.text === null ? null : a.text + b.text,
        source: a.source === 'text' ? b.source : a.source,
        from: [...new Set([...b.from, ...a.from])],
        secrets: [...a.secrets, ...b.secrets],
        paths: [...a.paths, ...b.paths],
        part: `${a.text ?? a.part ?? ''}${b.text ?? b.part ?? ''}`,
      }

/** Files that are run or sourced, unlike pages, data and lists. */
const scripts = /(?:^|\/)(?:\.env[\w.-]*|\.\w*(?:rc|profile)|[\w.-]+\.(?:sh|bash|zsh|env|tpl))$/
/** Texts by which awk and cut put in what is in no file. */
const ownText = /"|^(?:-v|--assign=?)?\s*[a-z_]\w*=(?![=~])|^--out/i
/** Whether a program only takes lines out of scripts or fills them in. */
function edits(program: string, raw: readonly string[], args: readonly string[], flags: readonly string[]): boolean {
  const takesCode =
    /^(?:e?grep|[gm]?awk)$/.test(program) || (program.endsWith('sed') && !flags.some((one) => /^-[ef]$/.test(one)))
  return (
    (/^(?:cat|head|tail|e?grep|tac|g?sed)$/.test(program) ||
      (program === 'tr' && flags.includes('-d')) ||
      (/^(?:cut|[gm]?awk)$/.test(program) && !raw.some((one) => ownText.test(one)))) &&
    (program === 'tr' || args.slice(takesCode ? 1 : 0).every((one) => one === '-' || scripts.test(one)))
  )
}
/** `s` of sed, with any character between its parts. */
const replaces = /(?<=^-[A-Za-z]*|[^A-Za-z]|^)s([^\s\\])(?:\\.|(?!\1)[^\\])*\1((?:\\.|(?!\1)[^\\])*)\1/gs
/** The texts that `sed` puts in. */
const putIn = (raw: readonly string[]): string =>
  raw
    .flatMap((one) => [
      ...[...one.slice(0, 2_000).matchAll(replaces)].map(([, by, text]) => text!.replaceAll(`\\${by}`, by!)),
      ...[...one.slice(0, 2_000).matchAll(/(?:^|[;{\n])[\d$,]*[aic]\\?\s*([^\n]+)/g)].map(([, text]) => text!),
    ])
    .join('\n')

/** What is known of several texts that are put together. */
export const mixed = (all: readonly Stream[]): Stream => ({
  ...noStream,
  source:
    (['download', 'decoded', 'output'] as const).find((worst) => all.some(({ source }) => source === worst)) ?? 'text',
  secrets: all.flatMap((one) => one.secrets),
})

const downloaders = new Set(
  'curl wget fetch aria2c http https xh lynx lwp-request get iwr irm invoke-webrequest invoke-restmethod nc ncat netcat socat telnet ftp gsutil dig'.split(
    ' ',
  ),
)
export const isDownloader = (program: string): boolean => downloaders.has(program)
/** Commands that print what somebody else wrote. */
const copiesText = /^(?:aws s3 cp s3:\S+ -$|gh (?:gist view|api) )/
const decoders = new Set(
  'base64 unzip funzip 7z unrar cpio tar base32 xxd uudecode openssl gpg rev tr gunzip zcat bunzip2 xzcat unxz lz4 zstd zstdcat od hexdump age sops ascii85 basenc gzip iconv'.split(
    ' ',
  ),
)
const makers = new Set(
  'sed gsed awk gawk mawk cut fold paste column nl head tail dd strings date fmt pr shuf expr split fc'.split(' '),
)
/** Whether a program makes a text of another one, by parts or other characters. */
export const makesText = (program: string): boolean => makers.has(program) || decoders.has(program)
/** Programs whose output is their input, or a part of it. */
const passing = new Set(
  'cat tee head tail sort uniq tac pv sponge grep egrep sed cut awk nl fold column less more buffer unbuffer dos2unix xargs paste gzip bzip2 xz zstd jq yq strings split tar gpg openssl base64 xxd hexdump od rev tr gunzip zcat'.split(
    ' ',
  ),
)

const known = (text: string | null): string | null => (text === null || text.includes(unknown) ? null : text)

/** A tilde that was in quotes, which stands for a file while it is a path. */
const quoted = (word: string): string => word.replace(/^\.\/(?=~)/, '')

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
  const from = [program, ...(program === 'git' && args[0] === 'diff' ? ['git diff'] : []), ...before.from].slice(0, 16)
  const passed = passing.has(program) ? before.secrets : []
  const script =
    edits(program, raw, args, flags) && (input === null ? scripts.test(args.at(-1) ?? '') : before.script === true)
  const stream = (text: string | null, source: CodeSource, paths: string[] = []): Stream => ({
    ...(script && { script, part: `${before.part ?? ''}\n${/^g?sed$/.test(program) ? putIn(raw) : ''}` }),
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
      const words = (first === -1 ? [] : raw.slice(first)).map(quoted)
      const isEscaped = raw.slice(0, raw.length - words.length).some((one) => one.includes('e'))
      const text = words.join(' ')
      return stream(`${isEscaped ? unescaped(text) : text}\n`, 'text', words)
    }
    case 'printf':
      return stream(printf((raw[0] === '--' ? raw.slice(1) : raw).map(quoted)), 'text', raw.slice(1))
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
    case 'sed':
    case 'gsed': {
      const text = given === null ? null : substituted(given, args, flags)
      if (text !== null) return stream(text, 'decoded')
      break
    }
    case 'lsblk':
    case 'findmnt':
    case 'df':
    case 'blkid':
      return stream(null, 'output', [`/dev/${unknown}`])
    case 'yes':
      return stream('y\ny\n', 'text')
    case 'ls':
    case 'get-childitem':
    case 'gci':
      return stream(
        null,
        'output',
        args.length === 0 ? ['./*'] : args.map((one) => (flags.includes('-d') ? one : `${one}/*`)),
      )
    case 'rg':
    case 'ag':
    case 'grep':
    case 'tree':
    case 'locate':
    case 'du': {
      const places = args.filter((one) => /^[~./]/.test(one)).map((one) => `${one}/${unknown}`)
      if (given !== null || places.length === 0) break
      return { ...stream(null, 'output', places), secrets: [...secrets, ...passed] }
    }
    case 'find':
    case 'fd':
      return stream(null, 'output', program === 'find' ? found(raw) : [])
    case 'pgrep':
    case 'pidof':
      return stream(
        null,
        'output',
        args.map((one) => one.replace(/\[(.)\]/g, '$1')),
      )
    case 'git': {
      const lists =
        args[0] === 'ls-files' ||
        raw.includes('--name-only') ||
        (args[0] === 'status' && raw.some((one) => /^(?:-s|--short|--porcelain)/.test(one)))
      if (!lists) break
      const isAll =
        args[0] === 'ls-files' &&
        args.length === 1 &&
        !raw.some((one) => /^-[dmi]$|^--(?:deleted|modified|ignored|unmerged)$/.test(one))
      return stream(null, 'output', [isAll ? './*' : `./${unknown}`])
    }
    case 'kubectl':
    case 'oc':
      return stream(null, 'output', args[0] === 'get' && args[1] ? [`${args[1]}/${unknown}`] : [])
  }
  if (program === 'jq' && /^-\w*n/.test(raw.find((one) => one.startsWith('-')) ?? '')) return stream(null, 'decoded')
  if (passing.has(program)) {
    const isPlain = program === 'cat' || program === 'tee' || program === 'sponge'
    const hasFiles = program === 'cat' && args.some((one) => one !== '-')
    if (isPlain && !hasFiles) return stream(given, before.source, before.paths)
    const source =
      decoders.has(program) && flags.some((one) => /^-(?:d|D|r|-decode|-decompress|-decrypt)$/.test(one))
        ? 'decoded'
        : before.source !== 'text'
          ? before.source
          : // A text of the line that is made into another one hides what it says.
            given !== null && /^(?:sed|awk|cut|fold|paste|column|nl)$/.test(program)
            ? 'decoded'
            : 'output'
    return stream(
      null,
      program === 'cat' && hasFiles && before.from.length === 0 ? 'file' : source,
      /^(?:sort|uniq|head|tail)$/.test(program)
        ? before.paths
        : before.paths.map((one) => one.replace(/[^/]*$/, unknown)),
    )
  }
  if (downloaders.has(program) || copiesText.test(`${program} ${args.join(' ')}`)) return stream(null, 'download')
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
  return isNarrow ? all.map((one) => `${one}/${unknown}`) : all.map((one) => `${one}/**`)
}
