/** What git does to files: those whose uncommitted changes it discards, above all. */
import { type Call, type Effect, has } from './effects-files.ts'

/** Files that are made again from others, whose changes are no work. */
const generated =
  /(?:^|\/)(?:[\w.-]+\.lock(?:b|file)?|[\w-]+-lock\.(?:json|ya?ml)|go\.sum|[\w.-]+\.(?:snap|min\.js|map))$|(?:^|\/)(?:dist|build|out|coverage|node_modules|__snapshots__|\.next|target)(?:\/|$)/

const looksLikePath = (word: string): boolean =>
  /^(?:\.{1,2}(?:\/.*)?|:\/.*|:\(.*|.*\/|.*[*].*|\/.*|~.*)$/.test(word) ||
  (/\.[A-Za-z][A-Za-z\d]{0,4}$/.test(word) && !/^v?\d|^(?:origin|upstream|release|hotfix|feature)\//.test(word))

/** Paths whose uncommitted changes are discarded. */
function discarded(call: Call): string[] {
  const [word, ...rest] = call.args
  if (has(call, '--patch', '-p', '--interactive')) return []
  if (word === 'restore')
    return has(call, '--staged') && !has(call, '--worktree') ? [] : has(call, '--pathspec-from-file') ? ['.'] : rest
  if (word !== 'checkout') return []
  if (has(call, '--pathspec-from-file')) return ['.']
  const dashes = call.raw.indexOf('--')
  if (dashes !== -1) return call.raw.slice(dashes + 1)
  if (has(call, '--new', '--orphan', '-t', '--track', '--detach', '-d')) return []
  return rest.length > 1 ? rest.slice(1) : rest.filter(looksLikePath)
}

export const git: Effect = (call, add, host) => {
  const [word, ...rest] = call.args
  if (word === 'rm' && !has(call, '--cached', '-n', '--dry-run'))
    for (const one of rest) add(one, 'delete', has(call, '-r'))
  for (const one of discarded(call))
    if (!generated.test(one)) add(one.replace(/^:\/$/, '.').replace(/^:(?:\/|\(top\))/, './'), 'overwrite')
  if (/^(?:diff|show|cat-file|log)$/.test(word ?? '')) for (const one of rest) add(one.replace(/^[^:]*:/, ''), 'read')
  if (word === 'worktree' && rest[0] === 'remove' && has(call, '--force')) add(rest[1] ?? '.', 'overwrite')
  if (word === 'clone') host(rest[0] ?? '?')
  if (word === 'push' || word === 'fetch' || word === 'pull' || word === 'ls-remote') host(rest[0] ?? 'origin')
}
