/** The decisions of the demonstration: the large set of real decisions if it is next to the project, otherwise the small one. */
import { join, resolve } from 'node:path'
import { type Line, readLines } from '../../src/cli/import-lines.ts'
import { type Pep, pepLines } from './peps.ts'
import { pepQuestions, shopQuestions } from './questions.ts'

const peps = resolve(import.meta.dir, '../../../shared/data/peps.jsonl')
const shop = join(import.meta.dir, 'decisions.jsonl')

export interface Material {
  about: string
  lines: AsyncIterable<Line>
  questions: string[]
}

async function* pepsAsLines(): AsyncGenerator<Line> {
  const rows: Pep[] = []
  for await (const line of readLines(Bun.file(peps).stream())) if ('value' in line) rows.push(line.value as Pep)
  for (const [index, value] of pepLines(rows).entries()) yield { line: index + 1, value }
}

export const shopMaterial = (): Material => ({
  about: 'decisions of a made-up web shop',
  lines: readLines(Bun.file(shop).stream()),
  questions: shopQuestions,
})

/** Null if the file does not exist. */
export const pepMaterial = async (): Promise<Material | null> =>
  (await Bun.file(peps).exists())
    ? { about: 'decisions about the Python language (PEPs)', lines: pepsAsLines(), questions: pepQuestions }
    : null
