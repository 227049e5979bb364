/** Reads the calls for files, processes and networks in the code of one-liners, by their names and literal arguments. */
import {
  connects,
  deletes,
  deletesAll,
  gets,
  opens,
  permits,
  prints,
  processes,
  reads,
  runsCode,
  runsDownload,
  runsLine,
  runsSql,
  runsWords,
  writes,
} from './calls.ts'
import { fold } from './fold.ts'
import { type ReadCode, readHidden } from './hidden.ts'
import { unknown } from './paths.ts'
import { beginsAsSql } from './sql.ts'
import { isMark, type Token, textIn, tokensOf } from './tokens.ts'
import type { Language } from './wrappers.ts'

const maxCode = 20_000
/** Makes a text of other characters: beside or inside of a text that is run, it hides what that says. */
const encodes =
  /b(?:ase)?_?(?:16|32|58|64|85)|a85|atob|decode64|unhexlify|fromhex|'hex'|decompress|inflate|gunzip|rot_?13|fromCharCode|\bchr\b|marshal|\b(?:un)?pack\b|unescape|decodeURI|revers|\[::-1\]|strrev|\btr\/|\^|%c|charCode|translate|['"]{2}\.join|join\(['"]{2}\)|implode\(['"]{2}/i
/** Decodes: anywhere in code that runs what can't be read, that may be what it decodes. Ordinary code joins, reverses and encodes. */
const decodes =
  /b(?:ase)?_?(?:16|32|58|64|85)_?decode|decode_?(?:b(?:ase)?)?_?(?:16|32|58|64|85)|from_?base64|decodebytes|a2b_|atob|,\s{0,9}['"](?:hex|base64)|a85|unhexlify|fromhex|decompress|inflate|gunzip|rot_?13|fromCharCode|charCode|\bchr\b|marshal|\b(?:un)?pack\b|unescape|decodeURI|\[::-1\]|['"]{2}\)\.reverse|\w['"]\.reverse|\(reversed\(|\breverse[\s(]{1,9}['"$]|strrev|[\w)\]]\s?\^\s?[\w(]/i
const callsComputed =
  /\bgetattr\((?![^,()]*,\s*['"]\w*['"]\))|globals\(\)|__dict__|__builtins__|\bvars\(|(?<!\[['"]\w{1,40}['"])\]\s*\(|\.(?:public_)?send\((?!:)|\.constructor\b|&\{|&\$|call_user_func|\$\w+\(/
/** Reads code. Bounded, and never throws. */
export function readCode(code: string, language: Language): ReadCode {
  const found: ReadCode = {
    lines: [],
    commands: [],
    paths: [],
    hosts: [],
    inner: [],
    ...{ opaque: false, encoded: false },
    runs_download: false,
    fork_bomb: false,
    sends: false,
    ...{ printed: null, value: null },
  }
  const known = language === 'other' ? code.replace(/(?<=[a-z])-(?=[a-z])/g, '_') : code
  const tokens = fold(tokensOf(known.slice(0, maxCode), language), language)
  if (code.length > maxCode) found.opaque = true

  /** The arguments of a call from after its opening bracket; each with the texts in it joined. */
  const argumentsAt = (start: number, bare: boolean): { all: Token[][]; end: number } => {
    const all: Token[][] = [[]]
    let depth = 0
    let at = start
    for (; at < tokens.length && at - start < 400; at++) {
      const one = tokens[at]!
      if (one.kind === 'mark') {
        if (bare && depth === 0 && (one.text === '\n' || one.text === ';' || one.text === '}')) break
        if ('([{'.includes(one.text)) depth++
        else if (')]}'.includes(one.text)) {
          if (depth === 0) break
          depth--
        } else if (one.text === ',' && depth === 0) {
          all.push([])
          continue
        }
      }
      all.at(-1)!.push(one)
    }
    return { all, end: at }
  }
  const textsIn = (expression: readonly Token[]): string[] =>
    expression.flatMap((one) => (one.kind === 'text' ? [one.text] : []))
  const hasList = (expression: readonly Token[]): boolean =>
    isMark(expression[0], '[') ||
    (/^(?:new|String)$/.test(expression[0]?.text ?? '') && expression.some((one) => isMark(one, '{')))

  for (let at = 0; at < tokens.length; at++) {
    const one = tokens[at]!
    if (one.kind === 'text') {
      // `$` before a template runs it in Bun and zx.
      // A line that awk sends into a shell.
      if (language === 'awk' && isMark(tokens[at + 1], '|') && /^\S*sh\b/.test(tokens[at + 2]?.text ?? ''))
        found.lines.push(one.text)
      if (one.quote === '`' && (/^(?:ruby|perl|php)$/.test(language) || tokens[at - 1]?.text === '$'))
        found.lines.push(one.text)
      if (/^https?:\/\//.test(one.text)) found.hosts.push(/^https?:\/\/([^/:?#]+)/.exec(one.text)?.[1] ?? '?')
      continue
    }
    if (one.kind !== 'name') continue
    const name = one.text
    if (isMark(tokens[at + 1], '=') && !isMark(tokens[at + 2], '=')) continue
    const bare = !isMark(tokens[at + 1], '(')
    const takesBare = /^(?:ruby|perl|applescript|awk|lua|php)$/.test(language)
    if (bare && !(takesBare && (tokens[at + 1]?.kind === 'text' || tokens[at + 1]?.kind === 'name'))) {
      // Path('/x').unlink(), pathlib: the path is before the method.
      continue
    }
    const { all } = argumentsAt(bare ? at + 1 : at + 2, bare)
    const first = all[0] ?? []
    // `f`, `join(folder, f)` and `f.unlink()`.
    const looped = (first.length > 0 ? first : [one])
      .flatMap((part) => part.items ?? [])
      .filter((item) => first.length < 2 || item.endsWith('/*'))
    const text = textIn(first)
    if (/^(?:path|pathlib\.Path|Path|Pathname\.new|new Path)$/.test(name)) {
      // The method that is called on a path, within the next few tokens.
      const { end } = argumentsAt(at + 2, false)
      const method = tokens.slice(end + 1, end + 12).find(({ kind }) => kind === 'name')?.text ?? ''
      const chained = tokens
        .slice(end + 1, end + 3)
        .some((mark) => mark.kind === 'mark' && (mark.text === '.' || mark.text === '/'))
      if (chained && deletes.test(method)) found.paths.push([text, 'delete', deletesAll.test(method)])
      else if (chained && /^(?:write_text|write_bytes|open|touch)$/.test(method))
        found.paths.push([text, 'write', false])
      else if (chained && /^(?:read_text|read_bytes)$/.test(method)) found.paths.push([text, 'read', false])
    }
    // A part that is decoded, by a call beside a text or inside of it.
    const hides = ({ kind, text: part }: Token): boolean =>
      encodes.test(kind === 'name' ? part : (/\{[^{}]{0,80}\(/.exec(part)?.[0] ?? ''))
    if ((runsLine.test(name) || runsWords.test(name)) && first.some(hides)) found.opaque = found.encoded = true
    if (runsLine.test(name) || (name === 'exec' && language !== 'python')) {
      if (hasList(first)) found.commands.push(textsIn(first))
      else if (
        all.length > 1 &&
        (language === 'ruby' || language === 'perl') &&
        all.every((part) => part.length === 1 && part[0]!.kind === 'text')
      )
        found.commands.push(all.flatMap(textsIn))
      else if (text.replaceAll(unknown, '').trim() !== '') found.lines.push(text)
      else found.opaque = true
    } else if (
      runsWords.test(name) &&
      (processes.test(name) ||
        /spawn|execFile|Popen|check_|posix_spawn|exec[lv]p?e?$/.test(name) ||
        (language !== 'python' && /(?:^|\.)exec$/.test(name)) ||
        /(?:^|\.)(?:run|call)$/.test(name))
    ) {
      if (hasList(first)) found.commands.push(textsIn(first))
      else if (/spawn|execFile|exec[lv]/.test(name)) {
        const words = all.slice(0, /spawn[lv]|execl/.test(name) ? undefined : 2).flatMap(textsIn)
        if (/execl|execv|spawn[lv]/.test(name)) words.splice(hasList(all[1] ?? []) || /execl/.test(name) ? 1 : 0, 1)
        if (words.length > 0) found.commands.push(words)
      } else if (text !== '') found.lines.push(text)
    } else if (runsCode.test(name) && !/re\.compile|\.(?:exec|load)$/.test(name)) {
      const calls = first.filter(({ kind }) => kind === 'name').map((part) => part.text)
      if (calls.some((call) => gets.test(call) && /request|url|http|fetch|open|get/i.test(call)))
        found.runs_download = true
      else if (first.length > 0 && first.every(({ kind }) => kind === 'text')) found.inner.push(text)
      else if (first.length > 0) found.opaque = true
    } else if (
      deletes.test(name) &&
      (language !== 'javascript' || !/^(?:delete|remove|map\.|set\.)/i.test(name) || /fs\b/.test(name)) &&
      (text !== '' || looped.length > 0) &&
      !/\.(?:append|pop)$/.test(name)
    ) {
      const texts = takesBare || hasList(first) ? all.map(textIn).filter(Boolean) : [text]
      for (const path of looped.length > 0 ? looped : hasList(first) ? textsIn(first) : texts)
        found.paths.push([path, 'delete', deletesAll.test(name)])
    } else if (opens.test(name)) {
      const mode = all.slice(1).flatMap(textsIn).join(' ')
      const combined = /^\s*(>{1,2}|<)\s*(.+)$/.exec(text)
      if (combined) found.paths.push([combined[2]!, combined[1] === '<' ? 'read' : 'overwrite', false])
      else if (/^[>]/.test(mode) || /[wxa+]/.test(mode.slice(0, 3)))
        found.paths.push([
          all.length > 2 && /^\+?[<>]/.test(mode) ? textIn(all[2]!) : text,
          /[w>]|^\+</.test(mode.slice(0, 2)) ? 'overwrite' : 'write',
          false,
        ])
      else if (text !== '') found.paths.push([text, 'read', false])
    } else if (permits.test(name)) {
      const paths = [...all.flatMap(textsIn), ...looped].filter((one) => /[/~.]/.test(one))
      for (const one of paths) found.paths.push([one, 'permissions', /_R$/.test(name) || one.endsWith('/*')])
    } else if (writes.test(name) && text !== '') {
      const to = /copy|cp|move|rename|symlink/i.test(name) ? textIn(all[1] ?? []) : text
      if (/copy|cp/i.test(name)) found.paths.push([text, 'read', true])
      found.paths.push([
        to,
        /Sync$|(?:^|\.)write|put_contents/.test(name) && !/append/.test(name) ? 'overwrite' : 'write',
        false,
      ])
    } else if (reads.test(name) && text !== '') found.paths.push([text, 'read', false])
    // Not a program, but read as the clients of databases are.
    if (runsSql.test(name) && beginsAsSql(text)) found.commands.push(['sql', text])
    if (connects.test(name)) found.sends = true
    if (prints.test(name)) found.printed = `${found.printed ?? ''}${text}\n`
  }
  if (
    tokens.length > 0 &&
    tokens.every(({ kind, text }) => kind === 'text' || (kind === 'mark' && '+()'.includes(text)))
  )
    found.value = textIn(tokens)
  if (language === 'applescript')
    for (const one of code.slice(0, maxCode).matchAll(/do shell script "((?:[^"\\]|\\.){1,2000})"/g))
      found.lines.push(one[1]!)
  readHidden(found, tokens, code, language)
  // What it calls by a computed name may be anything.
  if (
    [...found.lines, ...found.commands.map(([first = '']) => first)].some((one) => one.startsWith(unknown)) ||
    (found.lines.length + found.commands.length === 0 && callsComputed.test(code) && decodes.test(code))
  )
    found.opaque = true
  if (found.opaque && decodes.test(code)) found.encoded = true
  const isLoop = /\bwhile\b|\bfor\b|\bloop\b/.test(code)
  if (isLoop && /\bfork\b/.test(code)) found.fork_bomb = true
  if (!/https?:\/\/|socket|smtp/i.test(code)) found.sends = false
  if (runsDownload(code, found.opaque)) found.runs_download = true
  return found
}
