/** Runs git on repositories that nobody vouches for: no program that their settings name is run, nothing is fetched, nothing is written. */

/** Options of every call. A setting on the command line outweighs that of the repository. */
const safeOptions = [
  '--no-pager',
  '--literal-pathspecs',
  ...[
    'core.fsmonitor=false',
    'core.hooksPath=/dev/null',
    'core.attributesFile=/dev/null',
    'core.alternateRefsCommand=',
    'core.sshCommand=false',
    'core.gitProxy=',
    'diff.external=',
    'log.showSignature=false',
    'log.showRoot=true',
    'gpg.program=false',
    'protocol.allow=never',
    'protocol.ext.allow=never',
    'uploadpack.packObjectsHook=',
    'submodule.recurse=false',
    'gc.auto=0',
    'maintenance.auto=false',
  ].flatMap((one) => ['-c', one]),
]

/** The environment without variables of git, which may name another repository and programs; objects that are missing are not fetched. */
function safeEnv(env: Record<string, string | undefined>): Record<string, string | undefined> {
  const kept = Object.fromEntries(Object.entries(env).filter(([name]) => !/^GIT_(?!EXEC_PATH$)/.test(name)))
  return {
    ...kept,
    LC_ALL: 'C',
    GIT_TERMINAL_PROMPT: '0',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_NO_LAZY_FETCH: '1',
    GIT_ALLOW_PROTOCOL: 'none',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_PAGER: 'cat',
  }
}

/** Starts git in a folder. */
export const startGit = (folder: string, args: readonly string[], stdin: 'pipe' | 'ignore' = 'ignore') =>
  Bun.spawn(['git', ...safeOptions, '-C', folder, ...args], {
    env: safeEnv(process.env),
    stdin,
    stdout: 'pipe',
    stderr: 'ignore',
  })

const maxText = 65_536

/** What git prints, without white space around it; null if it fails, prints nothing, or more than 64 KiB. */
export async function gitText(folder: string, ...args: string[]): Promise<string | null> {
  try {
    const child = startGit(folder, args)
    const parts: Uint8Array[] = []
    let size = 0
    for await (const part of child.stdout as unknown as AsyncIterable<Uint8Array>) {
      size += part.length
      if (size > maxText) child.kill()
      else parts.push(part)
    }
    const text = Buffer.concat(parts).toString('utf8').trim()
    return (await child.exited) === 0 && text !== '' ? text : null
  } catch {
    return null
  }
}

/** `owner/repo` from the URL of a git remote. */
export const repositoryOf = (remote: string | null): string | null =>
  remote === null ? null : (/[/:]([^/:\s]+\/[^/\s]+?)(?:\.git)?\/?$/.exec(remote)?.[1] ?? null)
