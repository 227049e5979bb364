/** Fonts imported `with { type: 'file' }` are paths; pdfmake and fontkit bring no types. */

declare module '*.ttf' {
  const path: string
  export default path
}
declare module 'pdfmake'
declare module 'fontkit'
