/** Notes which files a program fills with what it downloads, unpacks or reads of secrets. */
import type { Call } from './effects.ts'
import { remote } from './effects-files.ts'
import type { Target } from './model.ts'
import { isDownloader, noStream, type Stream } from './output.ts'
import { resolve, targetOf } from './paths.ts'
import { contentOf, type Given, type Reader, type Scope } from './scope.ts'

const download: Stream = { ...noStream, source: 'download' }

export function noteOrigins(
  { all }: Reader,
  { program, args, flags, values }: Call,
  { base }: Scope,
  { stdin }: Given,
  targets: readonly Target[],
  connects: boolean,
  secrets: Target[],
): void {
  const downloads = isDownloader(program) || (connects && /^(?:scp|rsync)$/.test(program))
  const put = downloads ? download : secrets.length > 0 ? { ...noStream, secrets } : null
  if (put !== null)
    for (const { access, path } of targets) if (access === 'write' || access === 'overwrite') all.files.set(path, put)
  if (downloads && /^(?:scp|rsync)$/.test(program))
    for (const one of args.slice(0, -1)) {
      const path = remote(one) === null ? null : resolve(`${args.at(-1)}/${one.replace(/^.*[/:]/s, '')}`, base)
      if (path !== null) all.files.set(path, download)
    }
  if (/^(?:cp|mv|ln|install)$/.test(program)) {
    // A copy is what it is a copy of.
    const into = values['-t'] ?? args.at(-1) ?? ''
    for (const one of values['-t'] === undefined ? args.slice(0, -1) : args) {
      const content = contentOf(all, resolve(one, base))
      const places = [...(/(?:^|\/)\.{0,2}$/.test(into) ? [] : [into]), `${into}/${one.replace(/^.*\//s, '')}`]
      for (const path of places.flatMap((to) => resolve(to, base) ?? [])) if (content) all.files.set(path, content)
    }
  }
  // What comes out of a pipe with a name is written by another command, perhaps one that reads the network.
  if (program === 'mkfifo')
    for (const one of args) all.files.set(resolve(one, base) ?? one, { ...noStream, source: 'decoded' })
  if (/^(?:wget|aria2c|axel)$/.test(program) || (program === 'curl' && flags.includes('-O')))
    for (const one of args) {
      const name = one.replace(/[?#].*$/, '').replace(/^.*\//s, '')
      const path = resolve(name, { ...base, cwd: resolve(values['-P'] ?? values['--output-dir'] ?? '.', base) })
      if (path !== null) all.files.set(path, download)
    }
  // What comes out of a downloaded archive is downloaded; in a project it is unpacked to be built.
  const clones = program === 'git' && args[0] === 'clone'
  const unpacks = /^(?:tar|gtar|bsdtar|unzip)$/.test(program)
  const into = clones ? args[2] : unpacks ? (values['-C'] ?? values['-d']) : undefined
  const folder = into === undefined ? null : targetOf(into, 'write', base)
  if (folder?.class !== 'temp') return
  const archives = [stdin, ...[...args, values['-f'] ?? ''].map((one) => contentOf(all, resolve(one, base)))]
  if (clones || archives.some((one) => one?.source === 'download')) all.files.set(`${folder.path}/`, download)
}
