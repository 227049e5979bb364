/** An import `with { type: 'file' }` returns a path. */

declare module '*.onnx' {
  const path: string
  export default path
}

declare module '*.wasm' {
  const path: string
  export default path
}
