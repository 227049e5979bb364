/** Reduces texts to their appearance, so that look-alike spellings compare equal. */

/** Latin letters, each with the Cyrillic and Greek letters that look like it. */
const lookAlikes: ReadonlyMap<string, string> = new Map(
  'aаαᴀ bьвʙ cсϲᴄ dԁᴅ eеεᴇҽ fꜰ gɡɢց hһнʜհ iіιıɪ jјᴊ kкκᴋ lⅼӏʟ mмᴍ nпηɴո oоοᴏօ pрρᴘ qԛ rгʀ sѕꜱ tтτᴛ uυսᴜ vνѵᴠ wԝωᴡա xхχ yуγʏ zᴢ'
    .split(' ')
    .flatMap(([latin, ...others]) => others.map((other): [string, string] => [other, latin!])),
)

/**
 * The appearance of a text: case, compatible forms, marks, white space and invisible characters are folded away.
 * @example
 * ```ts
 * skeleton('Dеployment ') === skeleton('deployment') // with a Cyrillic е
 * ```
 */
export function skeleton(text: string): string {
  // Fast path: most names are plain ASCII already.
  if (/^[!-@[-~]*$/.test(text)) return text
  const folded = text
    .normalize('NFKD')
    .replace(/[\p{M}\p{Cf}\s]/gu, '')
    .toLowerCase()
  if (/^[!-~]*$/.test(folded)) return folded
  return [...folded].map((letter) => lookAlikes.get(letter) ?? letter).join('')
}
