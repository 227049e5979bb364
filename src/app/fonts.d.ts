/** Fonts imported `with { type: 'file' }` are paths; pdfmake and fontkit have no type declarations. */

declare module '*.ttf' {
  const path: string
  export default path
}
declare module 'pdfmake'
declare module 'fontkit'
