/** Lines of JSON are imported as text. */
declare module '*.jsonl' {
  const text: string
  export default text
}
