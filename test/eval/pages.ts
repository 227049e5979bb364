/** Figures in pages of the documentation: each is enclosed by two comments that name it, and its measurement writes it. */

const opening = (name: string): string => `<!-- eval:${name} -->\n`
const closing = '<!-- /eval -->'

/** A page with `text` in its part `name`. @throws Error if there is no such part */
export function withPart(page: string, name: string, text: string): string {
  const start = page.indexOf(opening(name)) + opening(name).length
  const end = page.indexOf(closing, start)
  if (start < opening(name).length || end < 0) throw new Error(`the page has no part ${name}`)
  return `${page.slice(0, start)}\n${text.trim()}\n\n${page.slice(end)}`
}

/** The part `name` of a page, as it was written; null if there is none. */
export function partOf(page: string, name: string): string | null {
  const start = page.indexOf(opening(name))
  return start < 0 ? null : page.slice(start + opening(name).length, page.indexOf(closing, start)).trim()
}

export async function writeInto(path: string, name: string, text: string): Promise<void> {
  await Bun.write(path, withPart(await Bun.file(path).text(), name, text))
}
