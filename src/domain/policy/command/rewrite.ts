/** Writes other options into the commands of a line, where the line says them plainly. The result is judged again, so what is hidden stays stopped. */
import { type Command, forEachChild, parse, type SyntaxNode, type Word } from 'unbash'
import type { OptionChange } from '../../../../sdk/schema/guardrail.ts'
import { readLine } from './reader.ts'

const nowhere = { cwd: null, project_dir: null }

/** A word that the line contains as it is run. */
const plainWord = (word: Word, line: string): string | null => {
  const text = line.slice(word.pos, word.end)
  return text === word.value ? text : null
}

/** The word with the option replaced; null if it does not contain it. Short options that are joined, as in `-uf`, are taken apart. */
function replaced(word: string, { from, to }: OptionChange): string | null {
  if (from.includes(word)) return to
  if (!/^-[A-Za-z]{2,6}$/.test(word)) return null
  const short = from.find((one) => /^-[A-Za-z]$/.test(one) && word.includes(one[1]!))
  return short === undefined ? null : `${word.replaceAll(short[1]!, '')} ${to}`.replace(/^- /, '')
}

interface Edit {
  pos: number
  end: number
  text: string
}

function editsOf(node: Command, line: string, change: OptionChange): Edit[] {
  const { invocations } = readLine(line.slice(node.pos, node.end), nowhere)
  const isMeant = invocations.some(
    ({ program, subcommand }) =>
      program === change.program &&
      (change.subcommand === undefined || `${subcommand} `.startsWith(`${change.subcommand} `)),
  )
  if (!isMeant) return []
  return node.args.flatMap((one): Edit[] => {
    const word = one.type === 'Word' ? plainWord(one, line) : null
    const text = word === null ? null : replaced(word, change)
    return text === null ? [] : [{ pos: one.pos, end: one.end, text }]
  })
}

/** The line with the options replaced in every command that is meant; null if it says none of them plainly. */
export function withOptions(line: string, change: OptionChange): string | null {
  const edits: Edit[] = []
  const visit = (node: SyntaxNode, depth: number): void => {
    if (depth > 40) return
    if (node.type === 'Command') edits.push(...editsOf(node, line, change))
    forEachChild(node, (child) => visit(child, depth + 1))
  }
  const script = parse(line)
  if (script.errors !== undefined && script.errors.length > 0) return null
  visit(script, 0)
  if (edits.length === 0) return null
  return edits
    .sort((a, b) => b.pos - a.pos)
    .reduce((text, { pos, end, text: next }) => text.slice(0, pos) + next + text.slice(end), line)
}
