/** Expands the words of a command, and opens what its redirects name. */
import { forEachChild, type Redirection, type SyntaxNode } from 'unbash'
import type { Target } from './model.ts'
import { joined, mixed, noStream, type Stream } from './output.ts'
import { resolve, targetAt, unknown } from './paths.ts'
import { worstOf } from './record.ts'
import { contentOf, elementsIn, inner, nothing, type Reader, type Scope, variableOf } from './scope.ts'
import { bodyOf, textOf, type WordTools } from './words.ts'

/** A substitution drops the newlines at the end of its output. */
function withoutNewlines(text: string): string {
  let end = text.length
  while (text[end - 1] === '\n') end--
  return text.slice(0, end)
}

export function toolsFor(reader: Reader, scope: Scope, stdin: Stream | null, substituted: Stream[]): WordTools {
  return {
    valueOf(name) {
      const made = reader.all.names.get(name)
      if (made) substituted.push(made)
      return variableOf(scope, name)
    },
    noteComputed: () => void substituted.push({ ...noStream, source: 'decoded' }),
    readInside(part) {
      const read = (node: SyntaxNode, depth: number): void =>
        forEachChild(node, (child) => {
          if (child.type === 'Script') substituted.push(reader.node(child, inner(scope, { in: 'substitution' }), stdin))
          else if (depth < 20) read(child, depth + 1)
        })
      read(part, 0)
    },
    fileOf(script) {
      const output = reader.node(script, inner(scope, { in: 'substitution' }), stdin)
      const path = `/dev/fd/${63 - reader.all.files.size}`
      substituted.push(output)
      reader.all.files.set(path, output)
      return path
    },
    elementsIn: (name) => elementsIn(scope, name),
    outputOf(script) {
      const output = reader.node(script, inner(scope, { in: 'substitution' }), stdin)
      substituted.push(output)
      if (output.text !== null) return withoutNewlines(output.text)
      const [last] = output.from
      if (last === 'mktemp') return '/tmp/mktemp'
      return output.paths.length === 1 && !output.paths[0]!.includes(unknown) ? output.paths[0]! : null
    },
  }
}

interface Opened {
  stdin: Stream | null
  targets: Target[]
}

export function openAll(
  reader: Reader,
  redirects: readonly Redirection[],
  scope: Scope,
  before: Stream | null,
  substituted: Stream[],
): Opened {
  let stdin = before
  const targets: Target[] = []
  const tools = toolsFor(reader, scope, before, substituted)
  const put = (text: string): Stream => ({
    ...mixed(substituted),
    ...(text.includes(unknown) ? { source: worstOf(substituted), part: text } : { text, source: 'text' }),
  })
  const open = ({ descriptor }: Redirection, stream: Stream): void => {
    if (descriptor?.type === 'FileDescriptor' && descriptor.value > 2)
      reader.all.files.set(`/dev/fd/${descriptor.value}`, stream)
    else stdin = stream
  }
  for (const one of redirects) {
    if (one.type === 'HereString') {
      const from = substituted.length
      const text = textOf(one.target, tools)
      open(one, text === unknown && substituted.length > from ? substituted.at(-1)! : put(`${text}\n`))
      continue
    }
    if (one.type === 'HereDoc') {
      const body = bodyOf(one.body.text, one.delimiter?.quoted ? undefined : one.body.parts, tools)
      open(one, put(one.operator === '<<-' ? body.replace(/^\t+/gm, '') : body))
      continue
    }
    if (one.operator === '<&') stdin = contentOf(reader.all, `/dev/fd/${one.target?.value}`) ?? stdin
    if (one.target === undefined || (/&$/.test(one.operator) && /^(?:\d+|-)$/.test(one.target.value))) continue
    const word = textOf(one.target, tools)
    if (word.startsWith('/dev/tcp/') || word.startsWith('/dev/udp/')) {
      reader.command(['nc', word.split('/')[3] ?? '?', word.split('/')[4] ?? ''], scope, { ...nothing, stdin: before })
      // What it reads is from the network too, at once or by `0>&1`.
      const reads = (other: Redirection) =>
        other.type === 'Redirect' &&
        (other.operator.startsWith('<') ||
          (other.descriptor?.type === 'FileDescriptor' && other.descriptor.value === 0))
      if (one.descriptor?.type === 'FileDescriptor' && one.descriptor.value > 2)
        reader.all.files.set(`/dev/fd/${one.descriptor.value}`, { ...noStream, source: 'download' })
      else if (redirects.some(reads)) stdin = { ...noStream, source: 'download' }
      continue
    }
    const path = resolve(word, scope.base)
    if (path === null) continue
    const isRead = one.operator === '<'
    const target = targetAt(
      path,
      isRead ? 'read' : one.operator.includes('>>') || one.operator === '<>' ? 'write' : 'overwrite',
      scope.base,
    )
    if (isRead) {
      const content = contentOf(reader.all, path)
      open(one, content ?? { ...noStream, source: 'file', secrets: target.class === 'secret' ? [target] : [] })
    }
    targets.push(target)
  }
  return { stdin, targets }
}

/** Remembers what a command's output put into files. */
export function noteOutput(reader: Reader, targets: readonly Target[], output: Stream, scope: Scope): void {
  for (const { path, access } of targets) {
    if (access === 'read') continue
    noteWritten(reader, path, output, scope, access === 'write')
  }
}

/** Files that a login or a schedule runs. */
const startup =
  /\/(?:\.(?:bash(?:rc|_profile|_login|_logout)|profile|z(?:shrc|shenv|profile|login|logout)|xinitrc|xprofile)|rc\.local|crontab|cron\.\w+\/[^/]+|cron\/crontabs\/[^/]+|profile\.d\/[^/]+|autostart\/[^/]+\.desktop|systemd\/(?:user|system)\/[^/]+\.service|fish\/config\.fish)$/

/** Remembers what is put into a file; what will be run by itself is read. */
export function noteWritten(reader: Reader, path: string, output: Stream, scope: Scope, adds: boolean): void {
  if (/^\/dev\/(?!shm\/)/.test(path)) return
  const before = adds ? reader.all.files.get(path) : undefined
  const now = before === undefined ? output : joined(before, output)
  reader.all.files.set(path, now)
  if (!startup.test(path)) return
  for (const line of (now.text ?? now.part ?? '').split('\n').slice(0, 50))
    reader.line(line.replace(/^Exec\w*=|^\s*(?:@\w+|(?:[\d*,/-]+\s+){5})\s*(?:\w+\s+(?=\S+\s))?/, ''), inner(scope))
}
