/** Functions of texts and lists in the languages of one-liners, for constant arguments. */
import { fromBase64, fromHex, printf, rot13 } from './texts.ts'

export type Value = string | number | Value[]

export const textOf = (value: Value): string => (Array.isArray(value) ? value.map(textOf).join('') : String(value))

/** Longest text that is computed: code that doubles a value must not fill the memory. */
export const maxText = 20_000
/** Whether a value has at most `maxText` characters and elements. */
export const fits = (value: Value): boolean => roomBeside(value, maxText) >= 0
function roomBeside(value: Value, room: number): number {
  if (!Array.isArray(value)) return room - String(value).length
  let left = room
  for (const one of value) if (left >= 0) left = roomBeside(one, left - 1)
  return left
}
/** As `fits`, for a text that is put in between others. */
const fitsTimes = (count: number, text: Value): boolean => count * textOf(text).length <= maxText
export const listOf = (value: Value): Value[] => (Array.isArray(value) ? value : [...String(value)])
export const isHome = (value: Value | undefined): boolean => /^(?:HOME|USERPROFILE)$/.test(String(value))
export const characters = (value: Value): string =>
  listOf(value)
    .map((one) =>
      Array.isArray(one) ? characters(one) : typeof one === 'number' ? String.fromCodePoint(one % 0x110000) : one,
    )
    .join('')
const reverse = (value: Value): Value => {
  const all = listOf(value).toReversed()
  return Array.isArray(value) ? all : all.join('')
}
const decoded = (value: Value, encoding: Value | undefined): Value | null => {
  const text = textOf(value)
  if (encoding === undefined || /^(?:utf|ascii|latin|binary)/i.test(String(encoding)))
    return Array.isArray(value) ? characters(value) : text
  return /^(?:base64|m0?)$/.test(String(encoding))
    ? fromBase64(text)
    : /^(?:hex|H\*)$/.test(String(encoding))
      ? fromHex(text)
      : /rot_?13/.test(String(encoding))
        ? rot13(text)
        : null
}
export const joinPath = (parts: Value[]): string =>
  parts
    .map(textOf)
    .reduce((all, one) => (/^[~/]/.test(one) || all === '' ? one : `${all.replace(/\/$/, '')}/${one}`), '')

/** `'{}m {}'.format('r', 1)`. */
const filledIn = (shape: string, values: readonly Value[]): string => {
  let at = 0
  return shape.replace(/\{(\d?)\}/g, (_, index: string) => textOf(values[index === '' ? at++ : Number(index)] ?? ''))
}

/** Functions by name; those of a value take it first. */
export const functions: readonly [RegExp, (args: Value[]) => Value | null][] = [
  [/^(?:chr|fromCharCode|fromCodePoint|mb_chr|char)$/, (all) => characters(all)],
  [
    /^(?:bytes|bytearray|pack)$/,
    ([value = '', shape]) =>
      typeof value === 'string' && /[*]/.test(value)
        ? pack(value, shape)
        : shape === undefined
          ? characters(value)
          : pack(textOf(shape), value),
  ],
  [/^(?:from|decode|toString)$/, ([value = '', encoding]) => decoded(value, encoding)],
  [/^(?:encode|str|String|list|tuple|iter|scalar|to_s|valueOf|Array|freeze)$/, ([value = '']) => value],
  [
    /^(?:atob|b(?:ase)?64_?decode|decode_?base64|(?:urlsafe_|strict_)?decode64|standard_b64decode)$/,
    ([value = '']) => fromBase64(textOf(value)),
  ],
  [/^(?:unhexlify|fromhex|hex2bin|a2b_hex)$/, ([value = '']) => fromHex(textOf(value))],
  [/^unpack1?$/, ([value = '', shape]) => decoded(value, shape)],
  [/^str_rot13$/, ([value = '']) => rot13(textOf(value))],
  [/^(?:reversed|strrev|reverse)$/, ([value = '', ...more]) => reverse(more.length > 0 ? [value, ...more] : value)],
  [
    /^(?:implode|join)$/,
    ([a = '', b = '', ...more]) => {
      const [all, by] = Array.isArray(a) ? [a, b] : [listOf(more.length > 0 ? [b, ...more] : b), a]
      return fitsTimes(all.length, by) ? all.map(textOf).join(textOf(by)) : null
    },
  ],
  [/^(?:split|explode)$/, ([value = '', by = ' ']) => textOf(value).split(textOf(by))],
  [
    /^(?:replace|replaceAll|gsub|sub)$/,
    ([value = '', from = '', to = '']) =>
      from === '' || !fitsTimes(textOf(value).length, to)
        ? null
        : textOf(value).replaceAll(textOf(from), () => textOf(to)),
  ],
  [/^(?:lower|toLowerCase|downcase|strtolower|lc)$/, ([value = '']) => textOf(value).toLowerCase()],
  [/^(?:upper|toUpperCase|upcase|strtoupper|uc)$/, ([value = '']) => textOf(value).toUpperCase()],
  [/^(?:strip|trim|chomp)$/, ([value = '']) => textOf(value).trim()],
  [
    /^(?:slice|substr(?:ing)?)$/,
    ([value = '', from = 0, to]) => textOf(value).slice(Number(from), to === undefined ? undefined : Number(to)),
  ],
  [
    /^(?:sprintf|format)$/,
    ([shape = '', ...values]) =>
      /\{\d?\}/.test(textOf(shape))
        ? filledIn(textOf(shape), values)
        : printf([
            textOf(shape),
            ...values.map((one) =>
              typeof one === 'number' && /%c/.test(textOf(shape)) ? String.fromCharCode(one) : textOf(one),
            ),
          ]),
  ],
  [/^concat$/, (all) => textOf(all)],
  [/^(?:expanduser|Path|abspath|realpath|expand_path|Pathname)$/, ([value = '']) => textOf(value)],
  [
    /^(?:unescape|decodeURI(?:Component)?|urldecode|unquote)$/,
    ([value = '']) =>
      textOf(value).replace(/%([\da-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
  ],
]
const pack = (shape: string, value: Value = ''): Value | null =>
  /^[cCUW]\*$/.test(shape) ? characters(value) : decoded(value, shape)
