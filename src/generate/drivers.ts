/** The reference page of the drivers, made of the first comment of each file that opens one. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { page } from './markdown.ts'

const folder = join(import.meta.dir, '../drivers')
const ports = {
  store: 'The record of decisions, chosen by `CSTP_STORE_URL`.',
  search:
    'The index that finds precedents: in memory up to 20 000 decisions, beyond that in a LanceDB table at `CSTP_SEARCH_URL`. It is derived and can be rebuilt at any time.',
  evidence: 'The log of evidence, chosen by `PROVENANCE_DB`, else where the store is.',
  embedder: 'Converts texts into vectors, chosen by `CSTP_EMBEDDER`. [Embedders](../guide/embedders.md) compares them.',
}

/** The text of a comment, without its delimiters. */
const textOf = (comment: string): string =>
  comment
    .split('\n')
    .map((line) => line.replace(/^\s*\*\s?/, '').trim())
    .filter(Boolean)
    .join(' ')

async function sectionOf(port: string, about: string): Promise<string> {
  // A driver is either a file, or a folder with a `driver.ts`.
  const files = (await readdir(join(folder, port), { recursive: true }))
    .filter((file) => /^[^/]+\.ts$|^[^/]+\/driver\.ts$/.test(file))
    .sort()
  const drivers = await Promise.all(
    files.map(async (file) => ({
      name: file.replace(/\/driver\.ts$|\.ts$/, ''),
      text: await readFile(join(folder, port, file), 'utf8'),
    })),
  )
  const lines = drivers
    .filter(({ text }) => /export (?:async )?function open\w+\(/.test(text))
    .map(({ name, text }) => `### ${name}\n\n${textOf(/\/\*\*([\s\S]*?)\*\//.exec(text)?.[1] ?? '')}`)
  return [`## ${port}`, about, ...lines].join('\n\n')
}

export async function driversPage(): Promise<string> {
  const sections = await Promise.all(Object.entries(ports).map(([port, about]) => sectionOf(port, about)))
  const about =
    'The drivers of each storage port. [A driver of your own](../contributing.md#a-driver) can replace each of them through `CSTP_DRIVERS`.'
  return page('Drivers', about, ...sections)
}
