/** Commands that run in containers, whose folders are those of the host only where they are mounted. */
import type { Call } from './effects.ts'
import { afterOptions, type Run } from './inside-run.ts'
import { type Base, normal, resolve, targetOf } from './paths.ts'
import { nothing } from './scope.ts'

/** A base for a container: only what it mounts is of the host. */
function mountsOf({ values }: Call, base: Base): Base['mounts'] {
  const mounts: [string, string][] = []
  for (const one of (values['-v'] ?? '').split('\n')) {
    const [outside = '', inside = ''] = one.replace(/^([A-Za-z]):(?=[/\\])/, '/$1').split(':')
    const path = /^[./~]/.test(outside) ? resolve(outside, base) : null
    if (path !== null && inside.startsWith('/')) mounts.push([normal(inside), path])
  }
  for (const one of (values['--mount'] ?? '').split('\n')) {
    const outside = /(?:source|src)=([^,]+)/.exec(one)?.[1]
    const inside = /(?:target|dst|destination)=([^,]+)/.exec(one)?.[1]
    const path = outside && /^[./~]/.test(outside) ? resolve(outside, base) : null
    if (path !== null && inside !== undefined) mounts.push([normal(inside), path])
  }
  return mounts
}

const elsewhere: Base = {
  // The folder where it runs is of the container.
  cwd: null,
  project: '/home/user/.',
  home: '/home/user',
  mounts: null,
  links: new Map(),
}

export const container: Run = (call, { reader, at, scope, given }) => {
  const isCompose = call.args[0] === 'compose' || call.program === 'docker-compose'
  const args = call.args[0] === 'compose' || call.args[0] === 'container' ? call.args.slice(1) : call.args
  const [verb, ...rest] = args
  if (verb === 'unshare') {
    reader.command(rest, at, { ...nothing, stdin: given.stdin })
    return {}
  }
  if (verb === 'exec') {
    const after = call.raw.slice(call.raw.indexOf(verb) + 1)
    const words = afterOptions(after, '-e --env -u --user -w --workdir --env-file --index').slice(1)
    if (words.length > 0) reader.command(words, { ...at, base: elsewhere }, { ...nothing, stdin: given.stdin })
    return {}
  }
  if (verb === 'run' || (verb === 'create' && !isCompose)) {
    if (isCompose) {
      const words = afterOptions(
        call.raw.slice(call.raw.indexOf(verb) + 1),
        '-e --env -u --user -w --workdir --name -p --publish -v --volume --entrypoint -l',
      ).slice(1)
      const volumes = call.raw.filter((_, place) => /^(?:-v|--volume)$/.test(call.raw[place - 1] ?? '')).join('\n')
      const mounts = mountsOf({ ...call, values: { '-v': volumes } }, scope.base)
      if (words.length > 0) reader.command(words, { ...at, base: { ...elsewhere, mounts } }, nothing)
      return {}
    }
    const mounts = mountsOf(call, scope.base)
    const words = rest.slice(1)
    const entry = call.values['--entrypoint']
    // Options alone are those of the program that an image is named after.
    const named = /^-/.test(words[0] ?? '') ? /([\w-]+)(?:[:@][^/]*)?$/.exec(rest[0]!)?.[1] : undefined
    const all = [entry ?? named, ...words].filter((one) => one !== undefined)
    // Other folders of a new container end with it.
    const folder = call.values['-w'] ?? call.values['--workdir'] ?? '/'
    if (all.length > 0)
      reader.command(all, { ...at, base: { ...scope.base, cwd: folder, mounts } }, { ...nothing, stdin: given.stdin })
    const targets = (mounts ?? []).flatMap(([, outside]) =>
      outside === '/' ? (targetOf(outside, 'write', scope.base, true) ?? []) : [],
    )
    return { targets }
  }
  return null
}

export const kubectl: Run = ({ raw, args }, { reader, at, given }) => {
  if (args[0] !== 'exec' && args[0] !== 'debug' && args[0] !== 'run') return null
  const dashes = raw.indexOf('--')
  const words = dashes === -1 ? args.slice(2) : raw.slice(dashes + 1)
  if (words.length > 0) reader.command(words, { ...at, base: elsewhere }, { ...nothing, stdin: given.stdin })
  return {}
}
